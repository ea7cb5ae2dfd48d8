// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/trace.hpp"

#include <algorithm>
#include <limits>

#include "placement/simulate/rows.hpp"

namespace placement::simulate {

bool trace::scale_gpus(std::uint32_t factor) noexcept {
    if (factor == 0) return false;
    for (const auto& j : jobs)
        if (j.gpus > max_job_gpus / factor || j.nodes > max_job_gpus / factor) return false;
    for (auto& j : jobs) {
        j.gpus *= factor;
        j.nodes *= factor;
    }
    return true;
}

double trace::load(double gpus) const noexcept {
    double work = 0;
    for (const auto& j : jobs) work += j.gpus * j.duration_s;
    const double span = jobs.empty() ? 0 : jobs.back().submit_s;
    if (span <= 0 || gpus <= 0) return std::numeric_limits<double>::infinity();
    return work / (span * gpus);
}

void trace::set_load(double wanted, double gpus) noexcept {
    const double now = load(gpus);
    if (!(now > 0) || now == std::numeric_limits<double>::infinity() || !(wanted > 0)) return;
    const double stretch = now / wanted;
    for (auto& j : jobs) j.submit_s *= stretch;
}

void trace::keep_first(std::size_t most) {
    if (jobs.size() > most) jobs.resize(most);
}

std::optional<trace_form> form_of(std::string_view text) noexcept {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const std::string_view line = text.substr(0, std::min<std::size_t>(text.find('\n'), max_row_bytes));
    const auto has = [&](std::string_view word) {
        const auto at = std::search(line.begin(), line.end(), word.begin(), word.end(),
                                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? a - 'A' + 'a' : a) == b; });
        return at != line.end();
    };
    if (has("|") && has("submit")) return trace_form::sacct;
    if (has("num_gpus")) return trace_form::philly;
    if (has("num_gpu") && has("creation_time")) return trace_form::alibaba;
    return std::nullopt;
}

topo::result<trace> parse_trace(std::string_view text, const std::string& place) {
    const auto form = form_of(text);
    if (!form)
        return topo::error{topo::errc::bad_input, place + ":1",
                           "the first line names the columns of no trace known here",
                           "give a CSV with timestamp, duration and num_gpus, an Alibaba pod list (num_gpu, "
                           "creation_time, deletion_time), or the output of sacct --parsable2 with its header"};
    switch (*form) {
        case trace_form::philly: return parse_philly(text, place);
        case trace_form::alibaba: return parse_alibaba(text, place);
        case trace_form::sacct: break;
    }
    return parse_sacct(text, place);
}

}  // namespace placement::simulate

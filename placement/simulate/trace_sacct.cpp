// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "placement/simulate/rows.hpp"
#include "placement/simulate/trace.hpp"

namespace placement::simulate {
namespace {

// GPUs of "billing=8,cpu=64,gres/gpu=8,mem=1T,node=1"; with types only ("gres/gpu:a100=4"), their sum.
// Empty: it says none, or no number.
struct tres {
    bool readable = true;
    std::optional<std::uint32_t> gpus;
};

tres gpus_of(std::string_view text) {
    tres out;
    std::uint64_t typed = 0;
    bool any_typed = false;
    while (!text.empty()) {
        const std::size_t comma = std::min(text.find(','), text.size());
        const std::string_view part = trimmed(text.substr(0, comma));
        text.remove_prefix(std::min(comma + 1, text.size()));
        const std::size_t equals = part.find('=');
        const std::string_view name = part.substr(0, equals);
        if (name != "gres/gpu" && !name.starts_with("gres/gpu:")) continue;
        const auto n =
            equals == std::string_view::npos ? std::nullopt : count_of(part.substr(equals + 1), max_job_gpus);
        if (!n) {
            out.readable = false;
            return out;
        }
        if (name == "gres/gpu") {
            out.gpus = n;
            return out;
        }
        typed += *n;
        any_typed = true;
    }
    if (any_typed && typed <= max_job_gpus) out.gpus = static_cast<std::uint32_t>(typed);
    out.readable = typed <= max_job_gpus;
    return out;
}

bool unknown(std::string_view time) noexcept { return time.empty() || time == "Unknown" || time == "None"; }

struct columns {
    std::size_t submit = 0;
    std::optional<std::size_t> id, start, end, elapsed, allocated, requested, nodes;
};

// What a row says of its job; empty: it is not one to replay, and was counted.
topo::result<std::optional<job>> read_job(const row_reader& rows, const columns& c, trace& out) {
    const std::string remedy = "put it right, or take the row out";
    const std::optional<job> none;
    if (c.id && rows.field(*c.id).find('.') != std::string_view::npos) {
        ++out.other_rows;
        return none;
    }
    job j;
    std::optional<std::uint32_t> gpus;
    for (const auto& column : {c.allocated, c.requested}) {
        if (!column || gpus) continue;
        const tres said = gpus_of(rows.field(*column));
        if (!said.readable) return rows.field_fault(*column, "a list with a number of GPUs, gres/gpu=N", remedy);
        gpus = said.gpus;
    }
    if (!gpus || *gpus == 0) {
        ++out.without_gpus;
        return none;
    }
    j.gpus = *gpus;
    const auto submitted = date_time(rows.field(c.submit));
    if (!submitted) return rows.field_fault(c.submit, "a time as 2026-01-31T12:00:00", remedy);
    j.submit_s = *submitted;
    if (c.start && unknown(rows.field(*c.start))) {
        ++out.not_ended;
        return none;
    }
    const auto started = c.start ? date_time(rows.field(*c.start)) : std::nullopt;
    if (c.start && !started) return rows.field_fault(*c.start, "a time as 2026-01-31T12:00:00", remedy);
    if (c.end && started) {
        if (unknown(rows.field(*c.end))) {
            ++out.not_ended;
            return none;
        }
        const auto ended = date_time(rows.field(*c.end));
        if (!ended) return rows.field_fault(*c.end, "a time as 2026-01-31T12:00:00", remedy);
        if (*ended < *started) return rows.field_fault(*c.end, "after the start of the job", remedy);
        j.duration_s = *ended - *started;
    } else {
        const auto took = elapsed(rows.field(*c.elapsed));
        if (!took) return rows.field_fault(*c.elapsed, "a time as 1-02:03:04", remedy);
        j.duration_s = *took;
    }
    if (c.nodes && !rows.field(*c.nodes).empty()) {
        const auto n = count_of(rows.field(*c.nodes), max_job_gpus);
        if (!n) return rows.field_fault(*c.nodes, "a number of nodes", remedy);
        j.nodes = *n > j.gpus ? 0 : *n;  // a node without a GPU of its own is not placed here
    }
    return std::optional<job>(j);
}

}  // namespace

topo::result<trace> parse_sacct(std::string_view text, const std::string& place) {
    auto rows = row_reader::open(text, '|', place);
    if (!rows) return rows.failure();
    columns c;
    const auto submit = rows->need("Submit");
    if (!submit) return submit.failure();
    c.submit = *submit;
    c.id = rows->column("JobID");
    c.start = rows->column("Start");
    c.end = rows->column("End");
    c.elapsed = rows->column("Elapsed");
    c.allocated = rows->column("AllocTRES");
    c.requested = rows->column("ReqTRES");
    c.nodes = rows->column("NNodes");
    if (!c.elapsed && !(c.start && c.end))
        return rows->fault("no columns say how long a job ran: neither Elapsed nor Start and End",
                           "add Start,End or Elapsed to sacct --format");
    if (!c.allocated && !c.requested)
        return rows->fault("no column says how many GPUs a job had: neither AllocTRES nor ReqTRES",
                           "add AllocTRES to sacct --format");
    trace out;
    out.form = "sacct";
    for (;;) {
        const auto more = rows->next();
        if (!more) return more.failure();
        if (!*more) break;
        auto read = read_job(*rows, c, out);
        if (!read) return read.failure();
        if (!read->has_value()) continue;
        if (out.jobs.size() == max_jobs)
            return rows->fault("more than " + std::to_string(max_jobs) + " jobs", "cut the trace into parts",
                               topo::errc::limit);
        out.jobs.push_back(**read);
    }
    return finish(std::move(out));
}

}  // namespace placement::simulate

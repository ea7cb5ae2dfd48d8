// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/report.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

namespace placement::simulate {
namespace {

struct weighted {
    double value;
    double weight;
};

// The least value that values of `share` of the weight do not exceed.
double percentile(std::vector<weighted> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end(), [](const weighted& a, const weighted& b) { return a.value < b.value; });
    double all = 0;
    for (const auto& v : values) all += v.weight;
    double below = 0;
    for (const auto& v : values) {
        below += v.weight;
        if (below >= share * all) return v.value;
    }
    return values.back().value;
}

template <class T>
double percentile(std::vector<T> values, double share) {
    if (values.empty()) return 0;
    const auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
    const std::size_t at = std::min(values.size() - 1, rank == 0 ? 0 : rank - 1);
    std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(at), values.end());
    return static_cast<double>(values[at]);
}

step_times steps_of(const std::vector<const started_job*>& jobs, const trace& t) {
    step_times out;
    std::vector<weighted> steps;
    double sum = 0;
    double leaves = 0;
    for (const auto* s : jobs) {
        const double gpus = t.jobs[s->job].gpus;
        ++out.jobs;
        out.gpus += t.jobs[s->job].gpus;
        sum += gpus * s->step_us;
        leaves += gpus * s->leaves;
        steps.push_back({s->step_us, gpus});
    }
    if (out.gpus == 0) return out;
    out.mean_us = sum / static_cast<double>(out.gpus);
    out.leaves_mean = leaves / static_cast<double>(out.gpus);
    out.p99_us = percentile(std::move(steps), 0.99);
    return out;
}

}  // namespace

summary summarise(const replayed& r, const trace& t) {
    summary out;
    out.policy = r.policy;
    out.complete = r.complete;
    out.started = r.started.size();
    out.never_fits = r.never_fits;
    out.not_placed = r.not_placed;
    out.level_bytes = r.level_bytes;
    out.makespan_s = r.end_s;
    out.simulated = r.simulated;
    out.estimated = r.estimated;
    out.utilisation = r.measured.utilisation();
    for (std::size_t i = 0; i < out.fragmentation.size(); ++i) out.fragmentation[i] = r.measured.fragmentation(i);

    std::map<std::uint32_t, std::vector<const started_job*>> by_size;
    std::vector<const started_job*> all;
    std::vector<double> waits;
    double waited = 0;
    for (const auto& s : r.started) {
        by_size[std::bit_ceil(t.jobs[s.job].gpus)].push_back(&s);
        all.push_back(&s);
        waits.push_back(s.start_s - t.jobs[s.job].submit_s);
        waited += waits.back();
    }
    out.all = steps_of(all, t);
    for (const auto& [up_to, jobs] : by_size) out.classes.push_back({up_to, steps_of(jobs, t)});
    if (!waits.empty()) out.wait_mean_s = waited / static_cast<double>(waits.size());
    out.wait_p95_s = percentile(std::move(waits), 0.95);

    out.decisions = r.decision_ns.size();
    double ns = 0;
    for (const auto d : r.decision_ns) {
        ns += static_cast<double>(d);
        out.decision_max_us = std::max(out.decision_max_us, static_cast<double>(d) / 1e3);
    }
    if (ns > 0) out.decisions_per_s = static_cast<double>(out.decisions) / ns * 1e9;
    out.decision_p50_us = percentile(r.decision_ns, 0.5) / 1e3;
    out.decision_p99_us = percentile(r.decision_ns, 0.99) / 1e3;
    return out;
}

}  // namespace placement::simulate

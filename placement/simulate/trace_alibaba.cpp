// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/rows.hpp"
#include "placement/simulate/trace.hpp"

namespace placement::simulate {

topo::result<trace> parse_alibaba(std::string_view text, const std::string& place) {
    auto rows = row_reader::open(text, ',', place);
    if (!rows) return rows.failure();
    const auto gpus = rows->need("num_gpu");
    const auto created = rows->need("creation_time");
    const auto deleted = rows->need("deletion_time");
    for (const auto* column : {&gpus, &created, &deleted})
        if (!*column) return column->failure();
    const auto scheduled = rows->column("scheduled_time");

    trace out;
    out.form = "Alibaba pod list";
    const std::string remedy = "put it right, or take the row out";
    for (;;) {
        const auto more = rows->next();
        if (!more) return more.failure();
        if (!*more) break;
        const auto wanted = count_of(rows->field(*gpus), max_job_gpus);
        if (!wanted)
            return rows->field_fault(*gpus, "a whole number of GPUs from 0 to " + std::to_string(max_job_gpus), remedy);
        const auto from = seconds_of(rows->field(*created));
        if (!from) return rows->field_fault(*created, "a number of seconds", remedy);
        if (*wanted == 0) {
            ++out.without_gpus;
            continue;
        }
        if (rows->field(*deleted).empty() || (scheduled && rows->field(*scheduled).empty())) {
            ++out.not_ended;
            continue;
        }
        const auto to = seconds_of(rows->field(*deleted));
        if (!to) return rows->field_fault(*deleted, "a number of seconds", remedy);
        const auto start = scheduled ? seconds_of(rows->field(*scheduled)) : from;
        if (!start) return rows->field_fault(*scheduled, "a number of seconds", remedy);
        if (*to < *start) return rows->field_fault(*deleted, "after the start of the pod", remedy);
        if (out.jobs.size() == max_jobs)
            return rows->fault("more than " + std::to_string(max_jobs) + " pods", "cut the trace into parts",
                               topo::errc::limit);
        out.jobs.push_back({*from, *to - *start, *wanted, 0});
    }
    return finish(std::move(out));
}

}  // namespace placement::simulate

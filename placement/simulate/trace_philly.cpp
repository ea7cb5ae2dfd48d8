// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/rows.hpp"
#include "placement/simulate/trace.hpp"

namespace placement::simulate {

topo::result<trace> parse_philly(std::string_view text, const std::string& place) {
    auto rows = row_reader::open(text, ',', place);
    if (!rows) return rows.failure();
    const auto when = rows->need("timestamp");
    const auto duration = rows->need("duration");
    const auto gpus = rows->need("num_gpus");
    for (const auto* column : {&when, &duration, &gpus})
        if (!*column) return column->failure();

    trace out;
    out.form = "Philly CSV";
    for (;;) {
        const auto more = rows->next();
        if (!more) return more.failure();
        if (!*more) break;
        job j;
        auto at = date_time(rows->field(*when));
        if (!at) at = seconds_of(rows->field(*when));
        if (!at) return rows->field_fault(*when, "a time", "write seconds, or a time as 2017-10-09 07:01:55");
        const auto length = seconds_of(rows->field(*duration));
        if (!length || *length < 0)
            return rows->field_fault(*duration, "a number of seconds ≥ 0", "put it right, or take the row out");
        const auto wanted = count_of(rows->field(*gpus), max_job_gpus);
        if (!wanted)
            return rows->field_fault(*gpus, "a whole number of GPUs from 0 to " + std::to_string(max_job_gpus),
                                     "put it right, or take the row out");
        if (*wanted == 0) {
            ++out.without_gpus;
            continue;
        }
        if (out.jobs.size() == max_jobs)
            return rows->fault("more than " + std::to_string(max_jobs) + " jobs", "cut the trace into parts",
                               topo::errc::limit);
        j.submit_s = *at;
        j.duration_s = *length;
        j.gpus = *wanted;
        out.jobs.push_back(j);
    }
    return finish(std::move(out));
}

}  // namespace placement::simulate

// SPDX-License-Identifier: Apache-2.0
// Job traces: Philly and Alibaba CSV, sacct output.
#include "placement/simulate/trace.hpp"
#include "tests/fuzz/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace sim = placement::simulate;
    const auto got = sim::parse_trace(fuzz::text_of(data, size), "trace.csv");
    if (!got) {
        fuzz::check(got.failure());
        return 0;
    }
    double before = 0;
    for (const auto& j : got->jobs) {
        fuzz::require(j.submit_s >= before, "jobs stand by submit time");
        fuzz::require(j.duration_s >= 0 && j.gpus >= 1 && j.gpus <= sim::max_job_gpus, "a job is one to replay");
        before = j.submit_s;
    }
    return 0;
}

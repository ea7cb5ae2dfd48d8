// SPDX-License-Identifier: Apache-2.0
// The figures of a replay.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "placement/simulate/replay.hpp"

namespace placement::simulate {

// GPU-weighted: a job of 64 GPUs counts 64 times.
struct step_times {
    std::uint64_t jobs = 0;
    std::uint64_t gpus = 0;
    double mean_us = 0;
    double p99_us = 0;
    double leaves_mean = 0;  // leaf groups a job touches, GPU-weighted
};

struct size_class {
    std::uint32_t up_to = 1;  // GPUs; a power of two: more than half of it
    step_times steps;
};

struct summary {
    std::string policy;
    bool complete = true;
    std::uint64_t started = 0;
    std::uint64_t never_fits = 0;
    std::uint64_t not_placed = 0;
    step_times all;
    std::vector<size_class> classes;  // ascending; only those with jobs
    std::vector<double> level_bytes;
    double utilisation = 0;
    std::array<double, fragment_sizes.size()> fragmentation = {};
    double wait_mean_s = 0;
    double wait_p95_s = 0;
    double makespan_s = 0;
    std::uint64_t decisions = 0;
    double decision_p50_us = 0;
    double decision_p99_us = 0;
    double decision_max_us = 0;
    double decisions_per_s = 0;  // 1 ÷ mean; 0 without a clock
    bool simulated = false;
    bool estimated = false;
};

// Percentiles are nearest-rank. O(jobs log jobs).
[[nodiscard]] summary summarise(const replayed& r, const trace& t);

}  // namespace placement::simulate

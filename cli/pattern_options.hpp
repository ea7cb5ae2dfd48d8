// SPDX-License-Identifier: Apache-2.0
// The options that say how a job's ranks talk, for every verb that predicts.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "cli/verb.hpp"
#include "placement/request.hpp"
#include "placement/traffic_matrix.hpp"

namespace cli {

struct pattern_options {
    std::string pattern;
    std::string message = "64M";
    std::uint32_t tp = 0, pp = 0, dp = 0, ep = 0, layers = 0, microbatches = 0;
    std::string model;
    std::string precision = "bf16";
    std::uint32_t sequence = 4096, micro_batch = 1;
    double compute_ms = 0, overlap = 0;
    std::string halo;
    bool periodic = false;
    std::string traffic;
    std::string ranks = "mapped";
    std::optional<placement::traffic_matrix> matrix;  // filled by apply_pattern
};

void add_pattern_options(verb& to, pattern_options& o);

// Puts them into `to`, which may point into `o` afterwards. An error names the option.
[[nodiscard]] std::optional<topo::error> apply_pattern(pattern_options& o, placement::request& to);

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
// The options that say which job is asked about, and on what: shared by place and explain.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/pattern_options.hpp"
#include "cli/verb.hpp"
#include "placement/placer.hpp"
#include "topo/cluster.hpp"
#include "topo/free_state.hpp"

namespace cli {

struct job_options {
    std::string file;
    std::uint32_t nodes = 0;
    std::uint32_t gpus_per_node = 0;
    std::uint32_t gpus = 0;
    std::uint32_t max_nodes = 0;
    std::uint32_t segment = 0;
    std::optional<std::string> free;
    pattern_options talk;
};

void add_job_options(verb& to, job_options& o);

// What the options ask for. May point into `o` (a traffic matrix). An error names the option.
[[nodiscard]] topo::result<placement::request> request_of(job_options& o);

// What --free says: a list of GPUs for a single node, or a free file; all free without it.
[[nodiscard]] topo::result<topo::free_state> free_of(const topo::cluster& c, const job_options& o);

// A placer for the request on that free state.
[[nodiscard]] topo::result<placement::placer> placer_for(const topo::cluster& c, const placement::request& wanted,
                                                         const topo::free_state& state);

// "64 GPUs", "4 nodes with 8 GPUs each".
[[nodiscard]] std::string asked_text(const placement::request& wanted);

// The outcome as --json has it: "too_few_gpus".
[[nodiscard]] std::string_view word_of(placement::outcome o) noexcept;

}  // namespace cli

// SPDX-License-Identifier: GPL-2.0-or-later
// From what a job asks to "so many nodes with so many GPUs each": the few shapes that are worth trying.
#pragma once

#include <array>
#include <cstdint>

#include "plugin/slurm/glue.h"

namespace slurm_plugin {

struct shape {
    std::uint32_t nodes = 0;  // 0: gpus_total GPUs on min_nodes … max_nodes nodes, shared out by the placer
    std::uint32_t gpus_per_node = 0;
    std::uint32_t gpus_total = 0;
    std::uint32_t min_nodes = 0, max_nodes = 0;
    friend bool operator==(const shape&, const shape&) = default;
};

inline constexpr std::size_t max_shapes = 8;

struct shape_list {
    std::array<shape, max_shapes> items{};
    std::size_t count = 0;
};

// The largest node of the cluster, by GPUs of the cluster file and CPUs of Slurm (0: unknown).
struct node_limits {
    std::uint32_t gpus = 0;
    std::uint32_t cpus = 0;
};

// In the order in which to try them:
//  - GPUs per node: the node count that was asked for, then fewer down to the minimum;
//  - GPUs in total: on the wanted node count, then on as few nodes as hold them;
//  - GPUs per task: the fewest nodes, when the tasks divide evenly over them.
// Empty when there is none, or the wish is not understood (then the job is left to Slurm). O(1).
[[nodiscard]] shape_list shapes_of(const atoll_wish& wish, const node_limits& limits) noexcept;

// CPUs and memory that every node of a shape must have free, at least. A lower bound: Slurm checks again.
[[nodiscard]] std::uint64_t cpus_needed(const atoll_wish& wish, const shape& s) noexcept;
[[nodiscard]] std::uint64_t memory_needed(const atoll_wish& wish, const shape& s) noexcept;

}  // namespace slurm_plugin

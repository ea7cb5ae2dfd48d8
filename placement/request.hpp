// SPDX-License-Identifier: Apache-2.0
// What a job asks for, and what it gets.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "topo/ids.hpp"

namespace placement {

using topo::gpu_mask;
using topo::node_id;

enum class pattern : std::uint8_t { ring_allreduce };  // more come with the pattern library
[[nodiscard]] std::string_view name_of(pattern p) noexcept;

struct request {
    std::uint32_t nodes = 1;          // exactly so many nodes; ≥ 1 (0: see gpus_total)
    std::uint32_t gpus_per_node = 1;  // on each of them; 1 … 64. A whole-node job asks for all of a class
    pattern talks = pattern::ring_allreduce;
    double message_bytes = 64e6;    // bytes all-reduced a step (a gradient bucket)
    std::uint32_t deadline_us = 0;  // 0: none; after it the best candidate so far is taken (placer_options::now_us)

    // A job that names only a total: `nodes` must be 0 and gpus_per_node is ignored. It gets exactly gpus_total GPUs
    // on the fewest nodes that hold them, between min_nodes and max_nodes (0: no limit), at least one on each.
    std::uint32_t gpus_total = 0;
    std::uint32_t min_nodes = 1;
    std::uint32_t max_nodes = 0;

    bool details = true;  // false: nodes, GPUs, predicted and damage only; no ranks, no runner-up
};

// Predicted time of one step, in µs, by term. The terms add up to step_us.
struct prediction {
    double step_us = std::numeric_limits<double>::infinity();
    double latency_us = 0;           // 2(p−1) · slowest α
    double transfer_us = 0;          // 2(p−1)/p · bytes / slowest bandwidth of the ring
    double slowest_gb_per_s = 0;     // of the hop that limits the ring
    std::uint8_t slowest_level = 0;  // 0: inside a node, 1 + fabric level otherwise
    std::uint32_t slowest_from = 0;  // rank whose hop limits it
    std::uint32_t slowest_to = 0;
    bool simulated = false;  // any cost it used was simulated
    bool estimated = false;  // any cost it used was only estimated
};

struct node_share {
    node_id node;
    gpu_mask gpus = 0;
};

struct rank_place {
    node_id node;
    std::uint8_t gpu = 0;    // index in the node's class
    std::int16_t nic = -1;   // index in the node's class; -1: none
    std::int16_t numa = -1;  // CPU-bearing NUMA node of the GPU; -1 unknown
};

// One answer. A caller that asks often keeps one and reuses it: choose() only grows its vectors up
// to what reserve() made room for.
struct answer {
    std::vector<node_share> nodes;  // in rank order
    std::vector<rank_place> ranks;  // [rank]; node by node, ring order inside a node
    prediction predicted;
    // What the cluster's islands and leaves lose, 0 … 1: half of it the mean subset damage of the nodes used (see
    // subset_choice), the other half the share of the leaves used that were untouched before and are not used up.
    double damage = 0;
    bool has_runner_up = false;
    std::vector<node_share> runner_up_nodes;  // the next best set of nodes or GPUs
    prediction runner_up;
    double runner_up_damage = 0;

    void reserve(std::uint32_t nodes_wanted, std::uint32_t gpus_per_node) {
        nodes.reserve(nodes_wanted);
        runner_up_nodes.reserve(nodes_wanted);
        ranks.reserve(std::size_t{nodes_wanted} * gpus_per_node);
    }
};

}  // namespace placement

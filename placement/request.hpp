// SPDX-License-Identifier: Apache-2.0
// What a job asks for, and what it gets.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "placement/pattern.hpp"
#include "topo/ids.hpp"

namespace placement {

using topo::gpu_mask;
using topo::node_id;

class traffic_matrix;

struct request {
    std::uint32_t nodes = 1;          // exactly so many nodes; ≥ 1 (0: see gpus_total). With max_nodes: at least
    std::uint32_t gpus_per_node = 1;  // on each of them; 1 … 64. A whole-node job asks for all of a class
    pattern talks = pattern::ring_allreduce;
    double message_bytes = 64e6;              // what a rank brings to the exchange of a step (a gradient bucket), bytes
    parallel_plan parallel = {};              // for the patterns of training steps
    halo_grid halo = {};                      // for halo_exchange
    const traffic_matrix* traffic = nullptr;  // for traffic_matrix: one row a rank; must outlive the call
    std::uint32_t deadline_us = 0;  // 0: none; after it the best candidate so far is taken (placer_options::now_us)

    // A job that names only a total: `nodes` must be 0 and gpus_per_node is ignored. It gets exactly gpus_total GPUs
    // on the fewest nodes that hold them, between min_nodes and max_nodes (0: no limit), at least one on each.
    std::uint32_t gpus_total = 0;
    std::uint32_t min_nodes = 1;
    // Of a job with `nodes`: it gets as many nodes as fit without spanning fabrics, from `nodes` to this, and to the
    // greatest number that its pattern can use (as Slurm's --nodes=min-max; 0: exactly `nodes`).
    std::uint32_t max_nodes = 0;

    // Hard segments, as Slurm's --segment: the nodes come in segments of exactly so many, each wholly inside one group
    // of level 0 (NVLink domain, block, leaf); several may share a group. Nodes [i · segment_nodes, (i + 1) ·
    // segment_nodes) of the answer are one. Must divide the number of nodes. 0: none.
    std::uint32_t segment_nodes = 0;

    bool details = true;  // false: nodes, GPUs, predicted and damage only; no ranks, no runner-up
    // Ranks of composites, halo exchanges and traffic matrices may be anywhere in the job when that is faster; only
    // with details. false: node by node. Other patterns treat all ranks alike.
    bool map_ranks = true;
};

// Why `wanted` cannot be meant for so many ranks, with a remedy; empty when it can. A range of nodes is not looked at:
// the ranks are those of one number of nodes. O(1).
[[nodiscard]] std::string_view fault_of(const request& wanted, std::uint64_t ranks) noexcept;

// One part of a step's predicted time, µs.
struct term {
    term_kind what = term_kind::exchange;
    pattern how = pattern::ring_allreduce;  // the exchange that was used; for `allreduce` the one that won
    double times = 1;                       // how often a step does it; the figures below are for all of them together
    double latency_us = 0;
    double transfer_us = 0;
    double hidden_us = 0;            // behind computation: not part of the step's time
    double slowest_gb_per_s = 0;     // rate of the hop or link that limits it, for this job; 0: nothing is moved
    std::uint8_t slowest_level = 0;  // 0: inside a node, 1 + separation otherwise
    std::uint32_t slowest_from = 0;  // a rank whose traffic limits it
    std::uint32_t slowest_to = 0;
    [[nodiscard]] double shown_us() const noexcept { return latency_us + transfer_us - hidden_us; }
};

// Predicted time of one step, in µs, by term.
struct prediction {
    static constexpr std::size_t max_terms = 5;

    double step_us = std::numeric_limits<double>::infinity();  // Σ shown_us() of the terms
    double latency_us = 0;           // Σ over the terms, what is hidden taken off in proportion
    double transfer_us = 0;          // the same; computation counts as neither
    double slowest_gb_per_s = 0;     // of the greatest term that moves anything
    std::uint8_t slowest_level = 0;  // 0: inside a node, 1 + separation otherwise
    std::uint32_t slowest_from = 0;  // rank whose hop limits it
    std::uint32_t slowest_to = 0;
    bool simulated = false;  // any cost it used was simulated
    bool estimated = false;  // any cost it used was only estimated
    std::uint8_t term_count = 0;
    std::array<term, max_terms> terms;  // [0, term_count)
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
    std::vector<node_share> nodes;  // in the order of the ring over them
    std::vector<rank_place> ranks;  // [rank]; node by node in ring order inside a node, or as mapped_ranks says
    bool mapped_ranks = false;      // ranks have other places than node by node, because that is faster
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

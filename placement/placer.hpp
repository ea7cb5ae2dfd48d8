// SPDX-License-Identifier: Apache-2.0
// Chooses nodes, GPUs and rank order for a job on a cluster whose free state it keeps.
//
// Example:
//   auto chooser = placement::placer::make(cluster);           // everything free
//   chooser->set_free(node, mask);                             // on every start and end
//   placement::answer a; a.reserve(64, 8);
//   if (chooser->choose({.nodes = 4, .gpus_per_node = 8}, {}, a) == placement::outcome::placed) …
//
// Pure and deterministic: no I/O, no clock but for the caller's deadline function, ties by id. After make() and
// answer::reserve() nothing allocates. One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "placement/request.hpp"
#include "placement/subset_table.hpp"
#include "topo/cluster.hpp"
#include "topo/result.hpp"

namespace placement {

// Which nodes may be used: bit i of word i/64 is node_id i (the layout of a Slurm bitmap's words).
// An empty span allows every node.
using node_filter = std::span<const std::uint64_t>;

enum class outcome : std::uint8_t {
    placed,
    too_few_gpus,  // the free GPUs of the allowed nodes do not suffice
    unreachable,   // they would, but only across fabrics that do not meet
    no_segments,   // they would, but not in segments of request::segment_nodes nodes
    bad_request,   // zero nodes or GPUs, more than 64 GPUs a node, and what fault_of() says
};
[[nodiscard]] std::string_view text_of(outcome o) noexcept;  // a sentence with a remedy

struct placer_options {
    subset_options subsets;
    double damage_weight = 0.02;                   // λ: a placement may cost this share of step time to save an island
    std::uint64_t (*now_us)() noexcept = nullptr;  // the caller's clock, asked only for requests with a deadline
    // Jobs of up to so many ranks get room in advance for mapping their ranks (request::map_ranks); larger ones, and
    // traffic matrices with more than 16 entries a rank, allocate. 0: ranks are never mapped.
    std::uint32_t mapped_ranks = 4096;
};

class placer {
public:
    // Tables for every class, indices for every fabric level; all GPUs free. The cluster must outlive it.
    // Fails as subset_table::build does. O(nodes × levels + classes × 2^gpus).
    [[nodiscard]] static topo::result<placer> make(const topo::cluster& c, const placer_options& options = {});
    ~placer();
    placer(placer&&) noexcept;
    placer& operator=(placer&&) noexcept;

    // Free GPUs of a node from now on (bits beyond its class are ignored); 0 takes it out. O(levels).
    void set_free(node_id node, gpu_mask free) noexcept;
    [[nodiscard]] gpu_mask free(node_id node) const noexcept;

    // Chooses for the request among the allowed nodes, without changing the free state.
    //  - whole-node jobs (gpus_per_node = all of the class): lowest level that fits, smallest sufficient
    //    group, fewest groups when it must span, no untouched leaf broken when a broken one serves;
    //  - sub-node jobs on one node: tightest node with a good enough subset, leaf with fewest whole nodes;
    //  - several nodes with some GPUs each: as whole-node jobs over the nodes that have enough free.
    // Spare nodes of the fabric (topo::fabric::spare_nodes) stay free while the job is no slower than λ without them.
    // On anything but `placed` the answer is cleared. p50 ≤ 20 µs at 10,240 nodes.
    [[nodiscard]] outcome choose(const request& wanted, node_filter allowed, answer& out) const noexcept;

    // Predicts a given choice of nodes and GPUs in that order: fills ranks, predicted and damage of `io`
    // from io.nodes. What choose() states for its own answers is exactly this. O(ranks × levels).
    void predict(const request& wanted, answer& io) const noexcept;

    // Predicts ranks that are given where they are: ranks[r] is the place of rank r, no two in one place, GPUs inside
    // their class. Infinite when the request is not meant for so many (fault_of). O(ranks × levels), see step_model.
    [[nodiscard]] prediction predict_ranks(const request& wanted, std::span<const rank_place> ranks) const noexcept;

    [[nodiscard]] const subset_table& table(topo::class_id c) const noexcept;

private:
    struct state;
    explicit placer(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

}  // namespace placement

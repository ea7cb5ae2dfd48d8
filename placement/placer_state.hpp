// SPDX-License-Identifier: Apache-2.0
// What a placer holds, and the parts of choose(). Internal to placement/.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/grid_choice.hpp"
#include "placement/node_choice.hpp"
#include "placement/node_index.hpp"
#include "placement/patterns/step_model.hpp"
#include "placement/placer.hpp"
#include "placement/predictor.hpp"
#include "placement/rank_map/rank_mapper.hpp"

namespace placement {

struct placer::state {
    // Which of the eligible nodes a set is made from.
    struct recipe {
        unsigned tier = tier_count - 1;  // the worst quality
        topo::class_id only;             // invalid: all classes
        bool spares = false;             // also nodes that should be kept back
        gpu_mask all_use = 0;            // the same GPUs on every node; 0: each its best
    };
    // One scored way to place the job. Lower step wins unless within λ; then the lower rank by structure.
    struct scored {
        node_plan plan;
        grid_plan grid;  // found: instead of the plan, whose key only says in which order equal ones go
        recipe from;
        bool spares = false;   // takes nodes that should be kept back
        bool mixed = false;    // nodes of several classes
        bool crosses = false;  // rails, in a rail-optimised fabric: other GPUs here than there
        prediction time;
    };
    // One node of a one-node job.
    struct lone {
        std::uint32_t node = no_group;
        subset_choice choice;
        bool breaks_node = false;
        bool breaks_leaf = false;
        unsigned free_gpus = 0;
        std::uint32_t whole_in_leaf = 0;
        double step_us = 0;
    };
    static constexpr std::size_t max_lone = 8;     // K of the node choice
    static constexpr std::size_t max_scored = 12;  // eight by quality and class, four by the form of the fabric
    static constexpr std::size_t max_by_quality = 8;
    // A set that spans a higher level than the lowest possible one must be predicted so much faster.
    static constexpr double level_gain = 0.1;

    state(const topo::cluster& c, const placer_options& chosen, std::vector<subset_table> built);

    [[nodiscard]] outcome choose(const request& wanted, node_filter allowed, answer& out) noexcept;
    // Predicted time, damage and ranks of out.nodes.
    void complete(const request& wanted, answer& out) noexcept;

private:
    // choose_one.cpp
    outcome choose_one(const request& wanted, unsigned gpus, answer& out) noexcept;
    [[nodiscard]] std::size_t gather(node_index::words bits, unsigned gpus, std::array<lone, max_lone>& out) noexcept;
    void judge(lone& l, unsigned gpus, const request& wanted) noexcept;
    [[nodiscard]] double time_of_one(const lone& l, unsigned gpus, const request& wanted) noexcept;
    [[nodiscard]] bool before(const lone& a, const lone& b) const noexcept;
    // choose_several.cpp
    outcome choose_exactly(const request& wanted, std::uint32_t nodes, unsigned gpus, answer& out) noexcept;
    outcome choose_range(const request& wanted, answer& out) noexcept;
    outcome choose_several(const request& wanted, std::uint32_t nodes, unsigned gpus, answer& out) noexcept;
    bool narrow(const recipe& from, unsigned gpus, std::uint32_t nodes) noexcept;
    void keep_spares() noexcept;
    bool consider(const recipe& from, const request& wanted, std::uint32_t nodes, unsigned gpus) noexcept;
    void consider_better(const recipe& base, const request& wanted, std::uint32_t nodes, unsigned gpus) noexcept;
    [[nodiscard]] std::size_t best_scored() const noexcept;
    // choose_shapes.cpp
    void consider_shapes(const request& wanted, std::uint32_t nodes, unsigned gpus) noexcept;
    void consider_grid(const recipe& from, const request& wanted, std::uint32_t nodes, unsigned gpus) noexcept;
    void consider_rails(const recipe& from, const request& wanted, std::uint32_t nodes, unsigned gpus) noexcept;
    void consider_shares(const recipe& from, const node_plan& packed, const request& wanted, std::uint32_t nodes,
                         unsigned gpus) noexcept;
    void score(scored& s, const request& wanted, std::uint32_t nodes, unsigned gpus) noexcept;
    void find_second(const request& wanted, std::uint32_t nodes, unsigned gpus, std::size_t won, answer& out) noexcept;
    void recount(const scored& s, unsigned gpus, std::uint32_t nodes) noexcept;
    void keep_second(const scored& s, answer& out) noexcept;
    // choose_total.cpp
    outcome choose_total(const request& wanted, answer& out) noexcept;
    [[nodiscard]] std::uint32_t fewest_nodes(int level, std::uint32_t group, std::uint32_t gpus) const noexcept;
    void fill_histogram() noexcept;
    [[nodiscard]] outcome find_group(std::uint32_t gpus, std::uint32_t min, std::uint32_t max,
                                     std::uint32_t& count) noexcept;
    bool place_in_segments(const request& wanted, answer& out, outcome& how) noexcept;
    bool place_evenly(const request& wanted, std::uint32_t count, answer& out) noexcept;
    bool place_fully(const request& wanted, std::uint32_t count, answer& out) noexcept;
    void place_anyhow(std::uint32_t gpus, std::uint32_t count, answer& out) noexcept;
    void sort_by_fabric(std::vector<node_share>& shares) noexcept;
    outcome place_total(const request& wanted, answer& out) noexcept;
    void other_nodes(const request& wanted, answer& out) noexcept;
    void other_gpus(const request& wanted, answer& out) noexcept;
    // placer.cpp
    void allow(node_filter allowed) noexcept;
    [[nodiscard]] prediction time_of(const request& wanted, std::span<const node_share> shares) noexcept;
    void place_ranks(std::span<const node_share> shares, std::vector<rank_place>& ranks) const noexcept;
    bool arrange(const request& wanted, std::vector<rank_place>& ranks, prediction& time) noexcept;
    void arrange_both(const request& wanted, answer& out) noexcept;
    [[nodiscard]] double damage_of(std::span<const node_share> nodes) noexcept;
    void pick_gpus(std::vector<node_share>& nodes, unsigned gpus) const noexcept;
    [[nodiscard]] bool late(const request& wanted) const noexcept;
    [[nodiscard]] double slowness(topo::class_id c, gpu_mask free, unsigned k, job_kind kind) noexcept;

public:
    const topo::cluster* cluster;
    placer_options options;
    std::vector<subset_table> tables;
    fabric_index net;
    node_sides sides;
    predictor predictions;  // of the ring, which most jobs are
    step_model steps;       // of every pattern
    node_index nodes;
    node_choice choice;
    grid_choice grid;

private:
    std::uint64_t started_us_ = 0;
    node_filter filter_;  // the caller's, during one choose()
    answer spare_;
    std::vector<std::uint64_t> allowed_;   // the caller's filter, one word for each of ours
    std::vector<std::uint64_t> eligible_;  // of those, the ones with enough free GPUs
    std::vector<std::uint64_t> narrowed_;  // of those, the ones of a recipe
    std::vector<std::uint64_t> kept_;      // allowed nodes that are kept back while others serve
    std::vector<node_share> trial_;
    std::vector<rank_place> ranks_;  // of a trial
    std::vector<rank_place> mapped_;
    std::unique_ptr<rank_mapper> mapper_;  // none: ranks are not mapped
    std::array<scored, max_scored> scored_;
    std::size_t scored_count_ = 0;
    std::vector<std::vector<std::uint32_t>> leaf_take_;  // [0][leaf] nodes of a job under a leaf; zeros between calls
    std::vector<std::vector<std::uint32_t>> histogram_;  // [level][group × (max + 2) + k] allowed nodes with ≥ k free
};

}  // namespace placement

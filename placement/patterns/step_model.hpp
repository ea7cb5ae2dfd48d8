// SPDX-License-Identifier: Apache-2.0
// Predicted time of a step of any pattern for ranks that have their places. Internal to placement/; docs/patterns.md
// has every formula and its source.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/patterns/link_loads.hpp"
#include "placement/request.hpp"

namespace placement {

class step_model {
public:
    // All three must outlive it. Allocates what any job of the cluster can need; predict() allocates nothing.
    step_model(const topo::cluster& c, const fabric_index& net, const node_sides& sides);

    // ranks[r] is where rank r runs; no two in one place. The request must have passed fault_of() for so many ranks.
    // One rank: 0. Ranks that cannot reach one another: infinite. O(ranks × levels) for all but these: all-to-all
    // O(ranks × GPUs of a node), traffic matrix O(entries × levels).
    [[nodiscard]] prediction predict(const request& wanted, std::span<const rank_place> ranks) noexcept;

private:
    struct exchange {  // one collective of all groups of an axis at once
        pattern how = pattern::ring_allreduce;
        double latency_us = 0, transfer_us = 0;
        link_loads::phase slowest;
        cost_quality used;
        bool possible = true;
        [[nodiscard]] double us() const noexcept { return latency_us + transfer_us; }
    };
    // Disjoint groups of equal size that do the same at the same time: group g is members_[g · size … (g + 1) · size).
    struct grouping {
        std::uint32_t groups = 1;
        std::uint32_t size = 1;
    };

    void group_along(std::uint32_t size, std::uint32_t stride) noexcept;
    void shares_of(std::uint32_t group) noexcept;
    void add(exchange& e, const link_loads::phase& p, double alphas) const noexcept;
    [[nodiscard]] exchange ring(double bytes) noexcept;
    [[nodiscard]] exchange half_ring(double bytes) noexcept;
    [[nodiscard]] exchange tree(double bytes) noexcept;
    void tree_over_nodes(double bytes) noexcept;
    void tree_over_gpus(double bytes) noexcept;
    [[nodiscard]] exchange hierarchical(double bytes) noexcept;
    [[nodiscard]] exchange in_network(double bytes) noexcept;
    [[nodiscard]] exchange allreduce(pattern how, double bytes) noexcept;
    [[nodiscard]] exchange all_to_all(double bytes) noexcept;
    [[nodiscard]] exchange neighbours(double bytes) noexcept;
    [[nodiscard]] exchange stage_edges(double bytes) noexcept;
    [[nodiscard]] exchange halo(const halo_grid& grid, double bytes) noexcept;
    [[nodiscard]] exchange matrix(const traffic_matrix& traffic) noexcept;
    void put(prediction& out, term_kind what, const exchange& e, double times, double hidden_us) const noexcept;
    void composite(prediction& out, const request& wanted) noexcept;
    static void sum_up(prediction& out) noexcept;

    link_loads loads_;
    std::span<const rank_place> ranks_;
    grouping now_;
    std::vector<std::uint32_t> members_;
    std::vector<node_share> shares_;      // of one group, in order of first appearance
    std::vector<std::uint32_t> slot_of_;  // [node] index into shares_, if stamped
    std::vector<std::uint32_t> stamp_;    // [node]
    std::uint32_t round_ = 0;
};

}  // namespace placement

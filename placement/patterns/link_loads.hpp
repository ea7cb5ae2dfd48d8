// SPDX-License-Identifier: Apache-2.0
// Traffic that runs at the same time, and how long the slowest link needs for it. Internal to placement/.
//
// One phase: start(), then what moves, then finish(). Every hop counts alone at its own bandwidth, and together with
// all others on what they share: the NICs of the nodes, the ports of the GPUs, the links of a switch upwards.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/node_side.hpp"
#include "placement/request.hpp"
#include "topo/cluster.hpp"

namespace placement {

class link_loads {
public:
    struct phase {
        double alpha_us = 0;                                        // of the hop with the greatest latency
        double inside_alpha_us = 0;                                 // the same inside the nodes, and
        double across_alpha_us = 0;                                 // between nodes
        double transfer_us = 0;                                     // of the slowest link
        double gb_per_s = std::numeric_limits<double>::infinity();  // its rate for the traffic of one rank pair
        std::uint8_t level = 0;                                     // where: 0 inside a node, 1 + separation otherwise
        std::uint32_t from = 0, to = 0;
        cost_quality used;
        bool broken = false;  // two nodes that cannot reach one another
    };

    // All three must outlive it. Allocates what any job of the cluster can need.
    link_loads(const topo::cluster& c, const fabric_index& net, const node_sides& sides);

    // The ranks that phases talk about until the next call. O(ranks).
    void number(std::span<const rank_place> ranks) noexcept;

    void start() noexcept;
    // From one GPU to another, of the same node or by the NICs of both. Returns the time it takes alone, µs.
    double pair(const rank_place& from, const rank_place& to, double bytes) noexcept;
    // Every hop of the ring over the GPUs of these nodes carries `bytes`; one ring a NIC with an equal share.
    void ring(std::span<const node_share> nodes, double bytes) noexcept;
    // A ring inside each of the nodes, none between them.
    void rings_inside(std::span<const node_share> nodes, double bytes) noexcept;
    // One node's GPUs to another's in one stream over all NICs, and
    double stream(const node_share& from, const node_share& to, double bytes) noexcept;
    // along the nodes' rings from their first GPU to their last.
    void chain_inside(const node_share& node, double bytes) noexcept;
    // `bytes` from each GPU to each other one. O(nodes × (levels + GPUs of a node²)).
    void all_pairs(std::span<const node_share> nodes, double bytes) noexcept;
    // Each node sends and receives `bytes` over its NICs, and each group below the lowest common level the same once,
    // as switches that add up do. False, and nothing counted, where they cannot.
    bool reduce_in_network(std::span<const node_share> nodes, double bytes) noexcept;
    [[nodiscard]] phase finish() noexcept;

    // The GPUs of a share in the order of their ring; returns how many.
    std::size_t order_of(const node_share& share, std::span<std::uint8_t> out) const noexcept {
        return sides_->table(hardware(share.node.value)).ring_order(share.gpus, out);
    }

private:
    struct load {
        double bytes = 0;
        std::uint32_t from = 0, to = 0;
        std::uint8_t level = 0;
    };
    struct touched_load {
        load* what;
        double gb_per_s;
    };
    [[nodiscard]] const node_side& side_of(const node_share& share) noexcept;
    [[nodiscard]] topo::class_id hardware(std::uint32_t node) const noexcept {
        return cluster_->nodes()[node].hardware;
    }
    [[nodiscard]] std::uint32_t rank_of(std::uint32_t node, std::size_t gpu) const noexcept {
        return rank_of_[gpu_begin_[node] + gpu];
    }
    [[nodiscard]] std::uint32_t rank_at(const node_share& share, std::size_t position) const noexcept;
    void hop(double alpha, double bytes, double gb_per_s, int level, std::uint32_t from, std::uint32_t to) noexcept;
    void share_link(load& l, double gb_per_s, double bytes, int level, std::uint32_t from, std::uint32_t to) noexcept;
    void share_nics(std::uint32_t node, const node_side& side, bool out, double bytes, int level, std::uint32_t from,
                    std::uint32_t to) noexcept;
    void share_uplinks(std::uint32_t a, std::uint32_t b, double bytes, int level, std::uint32_t from,
                       std::uint32_t to) noexcept;
    void pairs_inside(const node_share& share, double bytes) noexcept;
    void pairs_across(const node_share& share, std::uint32_t ranks, double bytes) noexcept;
    void count_groups(std::span<const node_share> nodes) noexcept;
    void forget_groups(std::span<const node_share> nodes) noexcept;
    void find_farthest();

    static constexpr std::uint32_t counted_mark = 1u << 31;  // added to inside_ of groups that are done

    const topo::cluster* cluster_;
    const fabric_index* net_;
    const node_sides* sides_;
    std::vector<std::uint32_t> gpu_begin_, nic_begin_;  // [node]
    std::vector<std::uint32_t> rank_of_;                // [GPU of the cluster]
    std::vector<load> gpu_out_, gpu_in_, nic_out_, nic_in_;
    std::vector<std::vector<load>> up_, down_;        // [level][group]
    std::vector<std::vector<std::uint32_t>> inside_;  // [level][group] ranks; zeros between calls
    std::vector<int> farthest_;                       // [level] greatest separation inside a group of it
    std::vector<touched_load> touched_;
    std::array<node_side, 4> recent_;
    unsigned next_recent_ = 0;
    phase now_;
};

}  // namespace placement

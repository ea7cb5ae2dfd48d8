// SPDX-License-Identifier: Apache-2.0
// Time of a ring all-reduce over chosen GPUs of chosen nodes. Internal to placement/; docs/placement.md has the
// formula.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/node_side.hpp"
#include "placement/request.hpp"
#include "topo/cluster.hpp"

namespace placement {

class predictor {
public:
    // All three must outlive it.
    predictor(const topo::cluster& c, const fabric_index& net, const node_sides& sides);

    // Nodes in rank order. O(nodes × (GPUs of a node + levels)); consecutive equal nodes cost O(levels) each.
    [[nodiscard]] prediction predict(std::span<const node_share> nodes, double bytes) noexcept;

    // GB/s that these GPUs of one node can send to a node of the same leaf: rails × the slowest NIC.
    [[nodiscard]] double node_to_node_gb_per_s(topo::class_id hardware, gpu_mask gpus) const noexcept;

private:
    struct ring_state;

    const node_side& side_of(const node_share& share) noexcept;
    void count_flows(std::span<const node_share> nodes, int add) noexcept;
    void cross(ring_state& ring, const node_share& a, const node_side& from, const node_share& b, const node_side& to,
               std::uint32_t from_rank, std::uint32_t to_rank) const noexcept;

    const topo::cluster* cluster_;
    const fabric_index* net_;
    const node_sides* sides_;
    std::array<node_side, 2> recent_;  // the last two differing sides: a homogeneous job needs one
    unsigned next_recent_ = 0;
    std::vector<std::vector<std::uint32_t>> out_flows_;  // [level][group] hops of this ring that leave the group
    std::vector<std::vector<std::uint32_t>> in_flows_;
};

}  // namespace placement

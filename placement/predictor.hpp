// SPDX-License-Identifier: Apache-2.0
// Time of a ring all-reduce over chosen GPUs of chosen nodes. Internal to placement/; docs/placement.md has the
// formula.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/locality.hpp"
#include "placement/request.hpp"
#include "placement/subset_table.hpp"
#include "topo/cluster.hpp"

namespace placement {

class predictor {
public:
    // Cluster, fabric and tables ([class_id]) must outlive it.
    predictor(const topo::cluster& c, const fabric_index& net, std::span<const subset_table> tables);

    // Nodes in rank order. O(nodes × (GPUs of a node + levels)); consecutive equal nodes cost O(levels) each.
    [[nodiscard]] prediction predict(std::span<const node_share> nodes, double bytes) noexcept;

    // GB/s that these GPUs of one node can send to a node of the same leaf: rails × the slowest NIC.
    [[nodiscard]] double node_to_node_gb_per_s(topo::class_id hardware, gpu_mask gpus) noexcept;

    [[nodiscard]] const locality& where(topo::class_id hardware) const noexcept {
        return classes_[hardware.value].where;
    }

private:
    struct class_costs {
        locality where;
        const topo::cost_layer* gpu = nullptr;
        const topo::cost_layer* to_nic = nullptr;
        const topo::cost_layer* from_nic = nullptr;
        std::array<double, topo::max_nics_per_node> port;  // GB/s; infinite when unknown
    };
    struct quality {
        bool simulated = false;
        bool estimated = false;
        void add(const topo::cost& used) noexcept;
    };
    struct hop {
        double alpha_us = 0;
        double gb_per_s = std::numeric_limits<double>::infinity();
        std::uint8_t from = 0;  // position in the node's ring order
        std::uint8_t to = 0;
    };
    // What one (class, GPUs) gives to a job: worst latency and slowest hop inside, and its way out and in.
    struct node_side {
        topo::class_id hardware;
        gpu_mask gpus = 0;
        unsigned ranks = 0;
        hop path;   // worst of the hops from one GPU of the order to the next
        hop close;  // from the last back to the first
        std::uint32_t rails = 1;
        double out_alpha_us = 0, in_alpha_us = 0;
        double out_gb_per_s = std::numeric_limits<double>::infinity();  // of the slowest NIC
        double in_gb_per_s = std::numeric_limits<double>::infinity();
        quality inside, closing, outside;
    };
    struct ring_state;

    void measure_inside(node_side& side) const noexcept;
    void measure_outside(node_side& side) const noexcept;
    const node_side& side_of(const node_share& share) noexcept;
    void count_flows(std::span<const node_share> nodes, int add) noexcept;
    void cross(ring_state& ring, const node_share& a, const node_side& from, const node_share& b, const node_side& to,
               std::uint32_t from_rank, std::uint32_t to_rank) const noexcept;

    const topo::cluster* cluster_;
    const fabric_index* net_;
    std::span<const subset_table> tables_;
    std::vector<class_costs> classes_;
    std::array<node_side, 2> recent_;  // the last two differing sides: a homogeneous job needs one
    unsigned next_recent_ = 0;
    std::vector<std::vector<std::uint32_t>> out_flows_;  // [level][group] hops of this ring that leave the group
    std::vector<std::vector<std::uint32_t>> in_flows_;
};

}  // namespace placement

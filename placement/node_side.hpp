// SPDX-License-Identifier: Apache-2.0
// What some GPUs of one node give to a job: the hops of their ring, and the way out to other nodes and in. Internal to
// placement/; docs/placement.md has the formulas.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "placement/locality.hpp"
#include "placement/subset_table.hpp"
#include "topo/cluster.hpp"

namespace placement {

// Which kinds of cost a number was made from, where that must be said.
struct cost_quality {
    bool simulated = false;
    bool estimated = false;
    void add(const topo::cost& used) noexcept {
        simulated |= used.from == topo::source::simulated || used.alpha_from == topo::source::simulated;
        estimated |= used.from == topo::source::estimated || used.alpha_from == topo::source::estimated;
    }
    void add(const cost_quality& more) noexcept {
        simulated |= more.simulated;
        estimated |= more.estimated;
    }
};

struct node_side {
    struct hop {
        double alpha_us = 0;
        double gb_per_s = std::numeric_limits<double>::infinity();
        std::uint8_t from = 0;  // position in the ring order
        std::uint8_t to = 0;
    };
    topo::class_id hardware;
    gpu_mask gpus = 0;
    unsigned ranks = 0;
    hop path;                // worst of the hops from one GPU of the order to the next
    hop close;               // from the last back to the first
    std::uint64_t nics = 0;  // those of the GPUs, bit i: NIC i of the class
    std::uint32_t rails = 1;
    std::uint64_t rail_set = 0;  // which: bit i is position i among the NICs that compute
    double out_alpha_us = 0, in_alpha_us = 0;
    double out_gb_per_s = std::numeric_limits<double>::infinity();  // of the slowest NIC
    double in_gb_per_s = std::numeric_limits<double>::infinity();
    cost_quality inside, closing, outside;
};

// Measures sides from the tables of the classes. Immutable.
class node_sides {
public:
    struct class_costs {
        locality where;
        const topo::cost_layer* gpu = nullptr;
        const topo::cost_layer* to_nic = nullptr;
        const topo::cost_layer* from_nic = nullptr;
        std::array<double, topo::max_nics_per_node> port{};     // GB/s; infinite when unknown
        std::array<double, topo::max_nics_per_node> nic_out{};  // GB/s of a NIC with the best of its GPUs
        std::array<double, topo::max_nics_per_node> nic_in{};
        port_rates ports;
        std::array<std::int16_t, topo::max_nics_per_node> rail{};  // position among the NICs that compute
    };

    // Cluster and tables ([class_id]) must outlive it.
    node_sides(const topo::cluster& c, std::span<const subset_table> tables);

    // O(GPUs of the side × NICs).
    [[nodiscard]] node_side measure(topo::class_id hardware, gpu_mask gpus) const noexcept;
    // Only the way out and in, rails, NICs.
    void measure_outside(node_side& side) const noexcept;
    [[nodiscard]] const class_costs& costs(topo::class_id hardware) const noexcept { return classes_[hardware.value]; }
    [[nodiscard]] const subset_table& table(topo::class_id hardware) const noexcept { return tables_[hardware.value]; }

private:
    void measure_inside(node_side& side) const noexcept;

    std::span<const subset_table> tables_;
    std::vector<class_costs> classes_;
};

}  // namespace placement

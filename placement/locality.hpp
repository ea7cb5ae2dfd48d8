// SPDX-License-Identifier: Apache-2.0
// Where the GPUs of a class sit: NUMA nodes, NICs, islands, as small arrays. Internal to placement/.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "topo/node_class.hpp"

namespace placement {

struct locality {
    std::array<std::int16_t, topo::max_gpus_per_node> numa{};  // dense number of the CPU-bearing NUMA node; -1 unknown
    std::array<std::int16_t, topo::max_gpus_per_node> nic{};   // index in the class; -1 none
    std::array<double, topo::max_gpus_per_node> nic_gb_per_s{};  // GPU → its NIC; 0 none or unknown
    std::vector<topo::gpu_mask> islands;

    // All NUMA numbers are unknown when the class says that its locality is not to be trusted.
    [[nodiscard]] static locality of(const topo::node_class& hardware);

    [[nodiscard]] std::uint8_t numa_nodes(topo::gpu_mask gpus) const noexcept;   // touched; unknown ones not counted
    [[nodiscard]] std::uint8_t shared_nics(topo::gpu_mask gpus) const noexcept;  // GPUs beyond one a NIC
    // Σ over the GPUs of best NIC bandwidth of the class / own, in quarters so that noise does not count: 1 each where
    // every NIC is as near as can be.
    [[nodiscard]] double nic_distance(topo::gpu_mask gpus) const noexcept;
    double best_nic_gb_per_s = 0;
};

// GB/s that each GPU moves to (from) all peers of its node at once; infinite where no cost is known. Behind a switch,
// or over PCIe, its own port is the limit: the best of its pairs. Where links run straight from GPU to GPU in unequal
// numbers, each carries its own traffic. O(GPUs²).
struct port_rates {
    std::array<double, topo::max_gpus_per_node> out{};
    std::array<double, topo::max_gpus_per_node> in{};
};
[[nodiscard]] port_rates ports_of(const topo::node_class& hardware);

}  // namespace placement

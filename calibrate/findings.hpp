// SPDX-License-Identifier: Apache-2.0
// What is wrong with a node, from its own measurements and counters. No baseline is needed: a cell is
// compared with the others of its kind in the same node.
//
// Each finding starts with its name: degraded_nvlink, pcie_width, pcie_gen, slow_nic, slow_gpu,
// slow_pair, gdr_lost, noisy, disturbed, repeated, virtual, numa_unknown. Its place is the device, or the
// pair as "GPU2-GPU5" ("GPU2 → GPU5" where one direction alone is meant).
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "calibrate/machine.hpp"
#include "calibrate/run.hpp"
#include "topo/finding.hpp"

namespace calibrate {

// A cell counts as off its class below this share of the reference.
inline constexpr double off_class_share = 0.9;

struct off_cell {
    std::size_t index = 0;  // in the reports
    double share = 1;       // of the reference
    double reference_gb_per_s = 0;
};

// The cells that are off: same endpoints' kinds, engine, link class and count, port speed, same or other
// NUMA node, at least three of them. The reference is the upper quartile, so that a slow NIC out of two
// still shows. Cells whose locality is unknown, and host memory of another NUMA node, are not judged.
// O(cells log cells).
[[nodiscard]] std::vector<off_cell> off_class(const inventory& what, std::span<const cell_report> cells);

// Everything worth telling; none for a healthy node. Slow cells are put down to as few devices as explain
// them, before they are called slow pairs. O(cells log cells + gpus²).
[[nodiscard]] topo::findings judge(const inventory& what, std::span<const cell_report> cells, const counters& now);

// True when the guest shows one flat level, so that link classes and NUMA nodes say nothing.
[[nodiscard]] bool flat_guest(const topo::node_class& hardware);

}  // namespace calibrate

// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: whether two nodes are of one class, and the words for what sets them apart.
#pragma once

#include <string>
#include <vector>

#include "topo/node_class.hpp"

namespace topo {

// Bandwidths within 5 % of each other are equal; latencies too, or when they differ by no more than 0.2 µs
// (what a repeated run differs by on a latency of few µs).
[[nodiscard]] bool same_bandwidth(double a, double b) noexcept;
[[nodiscard]] bool same_latency(double a, double b) noexcept;

// Everything but costs, names and identities that nodes of one class share, as text to compare: devices,
// models, NUMA, links, nearest NIC of each GPU, which layers there are, whether they are simulated.
[[nodiscard]] std::string shape_of(const node_class& hardware);

// Sentences that name each difference of `node` from `reference`, gravest first: lost NVLinks ("degraded"),
// other links, other nearest NIC, then costs with both figures. Empty when there is none to name. At most
// `most` sentences a kind; the last says how many more there are.
[[nodiscard]] std::vector<std::string> differences(const node_class& node, const node_class& reference,
                                                   std::size_t most = 4);

}  // namespace topo

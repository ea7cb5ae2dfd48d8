// SPDX-License-Identifier: Apache-2.0
// The rank order of a job whose nodes and GPUs are given, from the cluster file alone: nothing is chosen, nothing is
// remembered, and every node of the job finds the same order.
//
// Example:
//   std::vector<placement::node_share> shares = …;   // what the job got, in any order
//   placement::sort_by_fabric(cluster.network(), shares);
#pragma once

#include <span>

#include "placement/request.hpp"
#include "topo/fabric.hpp"

namespace placement {

// Nodes of one group stand together, at every level from the top down; then by node id. A ring over them leaves each
// group once. This is the order of a placer's answers for a total of GPUs. O(n log n × levels).
void sort_by_fabric(const topo::fabric& network, std::span<node_share> shares) noexcept;

}  // namespace placement

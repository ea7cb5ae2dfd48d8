// SPDX-License-Identifier: Apache-2.0
// From node files and a fabric to one cluster description.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "topo/cluster.hpp"
#include "topo/node_class.hpp"

namespace topo {

struct merge_input {
    node_description node;
    std::vector<std::string> hosts;  // nodes that have this hardware; empty: node.host alone
    std::string where;               // file it came from, for messages
};

struct merge_output {
    cluster_description cluster;
    findings notes;  // classes made, nodes that differ and by what, nodes of the fabric without a class
};

// Nodes fall into one class when they have the same devices (count, model, NUMA, links, nearest NIC of
// each GPU) and every cost within 5 % of the class median; the class then carries the median of each cell, one time a
// layer (the latest), no uuid and no guid. A node that differs becomes a class of its own, with a finding that names
// the device pair and both figures. Class names: the hardware's own name, with "-2", "-3" … when taken. Fails with
// bad_input when there is no input, a host appears twice, or a hardware fails check(). O(nodes × cells).
[[nodiscard]] result<merge_output> merge(std::span<const merge_input> inputs, fabric_description fabric,
                                         std::string cluster_name);

}  // namespace topo

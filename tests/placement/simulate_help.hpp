// SPDX-License-Identifier: Apache-2.0
// Clusters for the tests of placement/simulate/.
#pragma once

#include <vector>

#include "boards.hpp"

namespace simulate_help {

inline boards::tree tree_of(std::vector<std::size_t> leaves, std::vector<std::size_t> leaves_of_spine = {},
                            double uplink_gb_per_s = 0) {
    boards::tree t;
    t.leaves = std::move(leaves);
    t.leaves_of_spine = std::move(leaves_of_spine);
    t.spine_uplink = uplink_gb_per_s;
    return t;
}

// Every node 8 GPUs behind switches and a NIC for each.
inline topo::cluster nodes_of(const boards::tree& t) {
    return boards::cluster({boards::with_nics(boards::switched("h", 8))}, t);
}

}  // namespace simulate_help

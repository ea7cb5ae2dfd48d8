// SPDX-License-Identifier: Apache-2.0
// The jobs and allocations whose rank maps are compared: distances 1 in a node, 10 in a leaf, 16 across; 8 GPUs a node.
// A stencil gives 10 bytes to each neighbour and is not periodic; a training job has rings of 1000 bytes (TP) and 36
// bytes (DP) and chains of 24 bytes (PP).
#pragma once

#include <string>
#include <vector>

#include "placement/rank_map/rank_grid.hpp"
#include "placement/rank_map/slot_tree.hpp"

namespace bench {

struct map_instance {
    std::string name;  // "512/stencil"
    placement::rank_grid grid;
    placement::slot_tree tree;
};

// Leaves of 8 nodes: 512 and 4,096 ranks three times each, and 32,768 once.
[[nodiscard]] std::vector<map_instance> regular_instances();
// 64 nodes over 13 leaves (1 to 8 nodes each) and 512 nodes over 110, as a busy cluster leaves them free.
[[nodiscard]] std::vector<map_instance> irregular_instances();

}  // namespace bench

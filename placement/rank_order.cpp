// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_order.hpp"

#include <algorithm>

namespace placement {

void sort_by_fabric(const topo::fabric& network, std::span<node_share> shares) noexcept {
    std::sort(shares.begin(), shares.end(), [&network](const node_share& a, const node_share& b) {
        for (int level = network.levels(); level-- > 0;) {
            const topo::group_id left = network.group_of(a.node, level);
            const topo::group_id right = network.group_of(b.node, level);
            if (left.value != right.value) return left.value < right.value;
        }
        return a.node < b.node;
    });
}

}  // namespace placement

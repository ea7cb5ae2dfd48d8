// SPDX-License-Identifier: Apache-2.0
// The cost of a given map, worked out pair by pair: what every stated cost must equal.
//
// J = Σ bytes × distance over all pairs of ranks that talk, each pair once. Bytes × the unit of the tree's distances.
#pragma once

#include <cstdint>
#include <span>

#include "placement/rank_map/rank_grid.hpp"
#include "placement/rank_map/slot_tree.hpp"
#include "placement/traffic_matrix.hpp"

namespace placement {

// slot_of_rank holds a different slot of the tree for every rank. O(ranks × axes × levels).
[[nodiscard]] double cost_of(const rank_grid& grid, const slot_tree& tree, std::span<const std::uint32_t> slot_of_rank);

// Both directions of a pair count. O(entries × levels).
[[nodiscard]] double cost_of(const traffic_matrix& traffic, const slot_tree& tree,
                             std::span<const std::uint32_t> slot_of_rank) noexcept;

}  // namespace placement

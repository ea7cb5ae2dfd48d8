// SPDX-License-Identifier: Apache-2.0
// The best way to cut a grid of ranks into nested blocks, one block a group of a regular tree.
//
// The cost of a map is J = Σ bytes × distance over all pairs that talk, each pair once. For nested blocks J has a
// closed form. With c_k the extents of a block of level k, In_k the bytes between pairs inside blocks of level k and
// d_k the distance of the level, every pair outside blocks of level k − 1 and inside one of level k is d_k apart, so
//
//   J = d_top · In_top − Σ_{k < top} (d_{k+1} − d_k) · In_k
//   In_k = Σ_axes bytes · (ranks / extent) · pairs_inside(kind, extent, c_k)
//
// All nested factorisations are looked at (some 45 to 110 for 512 to 4,096 ranks under three levels), level by level.
// Inside a group the order of blocks does not matter, as all members are equally far apart. The best tiling is the
// optimum among tilings; maps that are no tilings may be better in rare cases, and swap search finds those.
//
// Example:
//   if (const auto tiling = placement::choose_tiling(grid, tree)) placement::write_map(*tiling, grid, slot_of_rank);
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

#include "placement/rank_map/rank_grid.hpp"
#include "placement/rank_map/slot_tree.hpp"

namespace placement {

struct grid_tiling {
    using extents = std::array<std::uint32_t, rank_grid::max_axes>;

    std::size_t levels = 0;
    std::array<extents, slot_tree::max_levels> block{};  // [level][axis] ranks of a block along the axis
    double cost = 0;                                     // J, bytes × distance
    std::uint32_t candidates = 0;                        // complete tilings that were scored
    bool all_seen = true;                                // false: cut off at max_candidates
};

// Beyond so many scored tilings the best so far is taken: only grids of four or five axes with thousands of divisors in
// deep trees get there.
inline constexpr std::uint32_t max_tiling_candidates = 20000;

// Nothing when the tree is irregular, too small, or its sizes can't be made of divisors of the extents. Ranks fill the
// slots from 0; a tree may have more groups at the level where the ranks end. Ties go to blocks that are longest along
// the first axes, so a block order that is as good as any stays. O(candidates × axes); allocates nothing.
[[nodiscard]] std::optional<grid_tiling> choose_tiling(const rank_grid& grid, const tree_shape& shape) noexcept;
[[nodiscard]] inline std::optional<grid_tiling> choose_tiling(const rank_grid& grid, const slot_tree& tree) noexcept {
    return choose_tiling(grid, tree.shape());
}

// Writes slot_of_rank[rank] for every rank of the grid; it holds at least grid.ranks(). O(ranks); allocates nothing.
void write_map(const grid_tiling& tiling, const rank_grid& grid, std::span<std::uint32_t> slot_of_rank) noexcept;

}  // namespace placement

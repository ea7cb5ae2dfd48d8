// SPDX-License-Identifier: Apache-2.0
// The same maps by Scotch, which the benchmarks are compared with. Never part of the product.
#pragma once

#include <cstdint>
#include <vector>

#include "placement/rank_map/rank_grid.hpp"
#include "placement/rank_map/slot_tree.hpp"

namespace bench {

#ifdef ATOLL_SCOTCH
inline constexpr bool has_scotch = true;
#else
inline constexpr bool has_scotch = false;
#endif

struct scotch_result {
    std::vector<std::uint32_t> slot_of_rank;  // of the strategy with the least bytes × distance; empty: none was valid
    double milliseconds = 0;                  // that this strategy took
};

// The best of Scotch's strategies default, quality, speed, balance and safety, without imbalance. Ranks are shuffled
// before, so that the order of the grid helps nobody. Trees of three levels; unequal leaves as a sub-architecture.
[[nodiscard]] scotch_result scotch_map(const placement::rank_grid& grid, const placement::slot_tree& tree);

}  // namespace bench

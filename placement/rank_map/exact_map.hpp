// SPDX-License-Identifier: Apache-2.0
// The cheapest map of a small job, by branch and bound.
//
// Vertices get slots one by one, the one that talks most with those that have one first. Of groups that are empty and
// built alike only the first is tried, which leaves few maps: 12 ranks on nodes of 4 have 5,775. A branch ends when its
// cost, and the least that the rest can add, is no less than the best map's.
#pragma once

#include <cstdint>
#include <span>

#include "placement/rank_map/slot_tree.hpp"
#include "placement/rank_map/talk_graph.hpp"

namespace placement {

inline constexpr std::uint32_t max_exact_ranks = 16;

// slot_of_rank holds a map to begin with (what it costs bounds the search) and then the cheapest. As many vertices as
// slots, at most max_exact_ranks (more: nothing is done and false returned). False also when `visits` placements of a
// single vertex did not suffice: slot_of_rank is then the best so far. Allocates nothing.
bool improve_exactly(const talk_graph& graph, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank,
                     std::uint64_t visits = 400'000) noexcept;

}  // namespace placement

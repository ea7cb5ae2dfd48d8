// SPDX-License-Identifier: Apache-2.0
// The cheapest map of ranks to slots that can be found in a given effort, for grids and for free traffic.
//
//   grids:    nested tilings; on irregular trees a tiling of a like regular tree as the start
//   matrices: grouping from below as the start
//   then:     swaps of whole groups from the highest level down, then of ranks; up to 16 ranks branch and bound
//
// The map is never dearer than ranks in order. The measure is bytes × distance (map_cost.hpp); whether a step gets
// faster is for step_model to say.
//
// Example:
//   placement::map_search search;
//   auto found = search.run(grid, tree, slot_of_rank);      // what it costs: found.cost
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/rank_map/grid_tiling.hpp"
#include "placement/rank_map/grouping.hpp"
#include "placement/rank_map/swap_search.hpp"

namespace placement {

struct map_effort {
    // Links that swap searches may visit; about 5 ns each. The default is a few milliseconds.
    std::uint64_t visits = 1'000'000;
};

struct found_map {
    double cost = 0;       // bytes × distance
    bool tiled = false;    // it is a nested tiling of the tree, as it came
    bool optimal = false;  // proven: no map is cheaper
};

class map_search {
public:
    // Makes room; run() allocates only beyond it.
    void reserve(std::uint32_t ranks, std::size_t links);

    // As many slots as ranks. A regular tree whose levels a tiling fits costs only the tiling, O(candidates × axes +
    // ranks × levels). slot_of_rank holds at least grid.ranks(). Deterministic.
    found_map run(const rank_grid& grid, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank,
                  const map_effort& effort = {});
    found_map run(const traffic_matrix& traffic, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank,
                  const map_effort& effort = {});

private:
    struct start {
        std::vector<std::uint32_t> slot_of_rank;
        double cost = 0;
    };
    void sort_slots(const slot_tree& tree);
    void try_shape(const rank_grid& grid, const slot_tree& tree, const tree_shape& like);
    void offer(const slot_tree& tree, std::span<const std::uint32_t> slot_of_rank);
    void offer_in_order(const slot_tree& tree);
    void try_like_trees(const rank_grid& grid, const slot_tree& tree);
    void improve(const slot_tree& tree, start& s, std::uint64_t& visits);
    double swap_groups(const slot_tree& tree, std::size_t level, std::span<std::uint32_t> slots, std::uint64_t& visits);
    found_map finish(const slot_tree& tree, std::span<std::uint32_t> slot_of_rank, std::uint64_t visits);

    talk_graph graph_, coarse_;
    grouping groups_;
    swap_search swaps_;
    std::array<start, 2> best_;  // the cheapest starts, the cheapest first
    std::size_t starts_ = 0;
    std::vector<std::uint32_t> sorted_slots_;  // largest groups first
    std::vector<std::uint32_t> node_of_, position_of_, trial_, moved_;
};

}  // namespace placement

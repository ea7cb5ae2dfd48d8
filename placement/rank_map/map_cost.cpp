// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/map_cost.hpp"

#include <vector>

namespace placement {
namespace {

// Σ distance over the pairs of one line of neighbours; its ranks are `first`, first + stride, …
double along_line(const grid_axis& axis, const slot_tree& tree, const std::uint32_t* first, std::size_t stride) {
    double sum = 0;
    for (std::uint32_t x = 0; x + 1 < axis.extent; ++x)
        sum += tree.distance(first[x * stride], first[(x + 1) * stride]);
    if (axis.kind == axis_kind::ring && axis.extent > 2)
        sum += tree.distance(first[0], first[(axis.extent - 1) * stride]);
    return sum;
}

// The same where all talk with all: pairs in common groups, counted level by level. `held` is zero, before and after.
double among_all(const grid_axis& axis, const slot_tree& tree, const std::uint32_t* first, std::size_t stride,
                 std::vector<std::uint32_t>& held) {
    double sum = 0, below = 0;
    for (std::size_t k = 0; k < tree.levels(); ++k) {
        double inside = 0;
        for (std::uint32_t x = 0; x < axis.extent; ++x) inside += held[tree.group_of(k, first[x * stride])]++;
        for (std::uint32_t x = 0; x < axis.extent; ++x) held[tree.group_of(k, first[x * stride])] = 0;
        sum += (inside - below) * tree.distance_at(k);
        below = inside;
    }
    return sum;
}

}  // namespace

double cost_of(const rank_grid& grid, const slot_tree& tree, std::span<const std::uint32_t> slot_of_rank) {
    std::vector<std::uint32_t> held;
    double total = 0;
    std::size_t stride = 1;
    for (const auto& axis : grid.axes()) {
        double sum = 0;
        const bool all = axis.kind == axis_kind::all_to_all;
        if (all) held.resize(tree.nodes());
        const std::size_t whole = stride * axis.extent;
        for (std::size_t block = 0; block < grid.ranks(); block += whole)
            for (std::size_t i = 0; i < stride; ++i) {
                const std::uint32_t* first = slot_of_rank.data() + block + i;
                sum += all ? among_all(axis, tree, first, stride, held) : along_line(axis, tree, first, stride);
            }
        total += axis.bytes * sum;
        stride = whole;
    }
    return total;
}

double cost_of(const traffic_matrix& traffic, const slot_tree& tree,
               std::span<const std::uint32_t> slot_of_rank) noexcept {
    double total = 0;
    for (std::uint32_t r = 0; r < traffic.ranks(); ++r)
        for (std::size_t i = traffic.row_begin()[r]; i < traffic.row_begin()[r + 1]; ++i)
            total += traffic.bytes()[i] * tree.distance(slot_of_rank[r], slot_of_rank[traffic.column()[i]]);
    return total;
}

}  // namespace placement

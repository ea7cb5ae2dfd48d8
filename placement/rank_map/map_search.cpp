// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/map_search.hpp"

#include <algorithm>
#include <numeric>

#include "placement/rank_map/exact_map.hpp"

namespace placement {
namespace {

constexpr int most_rounds = 4;  // of swaps over all levels; the third rarely finds anything

// Ranks in order fill the blocks of every level as a tiling would.
bool in_order_is_tiling(const rank_grid& grid, const tree_shape& shape) noexcept {
    for (std::size_t k = 0; k < shape.levels; ++k) {
        std::uint32_t volume = std::min(shape.size[k], grid.ranks());
        for (const auto& axis : grid.axes()) {
            if (volume % axis.extent == 0) {
                volume /= axis.extent;
                continue;
            }
            if (axis.extent % volume != 0) return false;
            volume = 1;
        }
    }
    return true;
}

// Mean distance of slots that are `apart` from one another in slot order.
double mean_distance(const slot_tree& tree, std::uint32_t apart) noexcept {
    const std::uint32_t n = tree.slots(), step = std::max(1u, n / 256);
    double sum = 0;
    std::uint32_t count = 0;
    for (std::uint32_t s = 0; s + apart < n; s += step, ++count) sum += tree.distance(s, s + apart);
    return count > 0 ? sum / count : tree.distance_at(tree.levels() - 1);
}

std::uint32_t gcd_of_nodes(const slot_tree& tree) noexcept {
    std::uint32_t g = 0;
    for (std::uint32_t n = 0; n < tree.nodes(); ++n) g = std::gcd(g, tree.size_of(0, n));
    return g;
}

// Blocks of `base`, then of one prime factor more at each level: what is near in slot order is near in the grid at
// every scale, whatever sizes the real groups have.
tree_shape factor_shape(const slot_tree& tree, std::uint32_t base) noexcept {
    tree_shape like;
    const std::uint32_t n = tree.slots();
    std::uint32_t volume = base, left = n / base;
    like.size[like.levels++] = volume;
    for (std::uint32_t f = 2; left > 1;) {
        if (left % f != 0) {
            f = f * f > left ? left : f + 1;
            continue;
        }
        volume *= f;
        left /= f;
        if (like.levels + 1 < tree_shape::max_levels)
            like.size[like.levels++] = volume;
        else
            like.size[like.levels - 1] = volume;
    }
    if (like.size[like.levels - 1] != n) like.size[like.levels - 1] = n;
    double before = 0;
    for (std::size_t k = 0; k < like.levels; ++k) {
        before = std::max(before, mean_distance(tree, std::max(1u, like.size[k] - 1)));
        like.distance[k] = before;
    }
    return like;
}

}  // namespace

void map_search::reserve(std::uint32_t ranks, std::size_t links) {
    graph_.reserve(ranks, links);
    coarse_.reserve(ranks, links);
    groups_.reserve(ranks, links);
    swaps_.reserve(ranks);
    for (auto& s : best_) s.slot_of_rank.reserve(ranks);
    for (auto* each : {&sorted_slots_, &node_of_, &position_of_, &trial_, &moved_}) each->reserve(ranks);
}

void map_search::sort_slots(const slot_tree& tree) {
    sorted_slots_.resize(tree.slots());
    std::iota(sorted_slots_.begin(), sorted_slots_.end(), 0u);
    std::sort(sorted_slots_.begin(), sorted_slots_.end(), [&](std::uint32_t a, std::uint32_t b) {
        for (std::size_t k = tree.levels() - 1; k-- > 0;) {
            const std::uint32_t left = tree.group_of(k, a), right = tree.group_of(k, b);
            if (left == right) continue;
            if (tree.size_of(k, left) != tree.size_of(k, right)) return tree.size_of(k, left) > tree.size_of(k, right);
            return left < right;
        }
        return a < b;
    });
}

void map_search::offer(const slot_tree& tree, std::span<const std::uint32_t> slot_of_rank) {
    const double cost = swap_search::cost_of(graph_, {&tree}, slot_of_rank);
    if (starts_ == best_.size() && cost >= best_.back().cost) return;
    for (std::size_t i = 0; i < starts_; ++i)
        if (best_[i].cost == cost) return;  // most likely the same
    start& s = starts_ < best_.size() ? best_[starts_++] : best_.back();
    s.slot_of_rank.assign(slot_of_rank.begin(), slot_of_rank.end());
    s.cost = cost;
    if (starts_ == 2 && best_[1].cost < best_[0].cost) std::swap(best_[0], best_[1]);
}

void map_search::offer_in_order(const slot_tree& tree) {
    trial_.resize(tree.slots());
    std::iota(trial_.begin(), trial_.end(), 0u);
    offer(tree, trial_);
}

void map_search::try_shape(const rank_grid& grid, const slot_tree& tree, const tree_shape& like) {
    const auto tiling = choose_tiling(grid, like);
    if (!tiling) return;
    trial_.resize(grid.ranks());
    write_map(*tiling, grid, trial_);
    offer(tree, trial_);
    moved_.resize(grid.ranks());
    for (std::uint32_t r = 0; r < grid.ranks(); ++r) moved_[r] = sorted_slots_[trial_[r]];
    offer(tree, moved_);
}

void map_search::try_like_trees(const rank_grid& grid, const slot_tree& tree) {
    const std::uint32_t base = gcd_of_nodes(tree), n = grid.ranks(), groups = n / base;
    const double top = tree.distance_at(tree.levels() - 1);
    try_shape(grid, tree, factor_shape(tree, base));
    for (std::uint32_t d = 1; d * d <= groups; ++d) {
        if (groups % d != 0) continue;
        for (const std::uint32_t leaf : {d, groups / d}) {
            tree_shape like;
            like.levels = 3;
            like.size = {base, base * leaf, n};
            like.distance = {tree.distance_at(0), tree.levels() > 2 ? tree.distance_at(1) : top, top};
            try_shape(grid, tree, like);
        }
    }
}

double map_search::swap_groups(const slot_tree& tree, std::size_t level, std::span<std::uint32_t> slots,
                               std::uint64_t& visits) {
    for (std::size_t k = 0; k < level; ++k)
        if (tree.equal_size(k) == 0) return 0;
    const std::uint32_t n = graph_.vertices();
    node_of_.resize(n);
    for (std::uint32_t r = 0; r < n; ++r) node_of_[r] = tree.group_of(level, slots[r]);
    coarse_.assign_quotient(graph_, node_of_, tree.groups(level));
    position_of_.resize(tree.groups(level));
    std::iota(position_of_.begin(), position_of_.end(), 0u);
    const double gain = swaps_.run(coarse_, {&tree, static_cast<int>(level)}, position_of_, visits);
    if (gain <= 0) return 0;
    for (std::uint32_t r = 0; r < n; ++r) {
        const std::uint32_t offset = slots[r] - tree.first_slot(level, node_of_[r]);
        slots[r] = tree.first_slot(level, position_of_[node_of_[r]]) + offset;
    }
    return gain;
}

void map_search::improve(const slot_tree& tree, start& s, std::uint64_t& visits) {
    for (int round = 0; round < most_rounds && visits > 0; ++round) {
        double gain = 0;
        for (std::size_t level = tree.levels() - 1; level-- > 0;)
            gain += swap_groups(tree, level, s.slot_of_rank, visits);
        gain += swaps_.run(graph_, {&tree}, s.slot_of_rank, visits);
        if (gain <= 0) break;
    }
    s.cost = swap_search::cost_of(graph_, {&tree}, s.slot_of_rank);
}

found_map map_search::finish(const slot_tree& tree, std::span<std::uint32_t> slot_of_rank, std::uint64_t visits) {
    found_map out;
    for (std::size_t i = 0; i < starts_; ++i) {
        std::uint64_t its = visits / (starts_ - i);
        visits -= its;
        improve(tree, best_[i], its);
        visits += its;
    }
    start& won = starts_ == 2 && best_[1].cost < best_[0].cost ? best_[1] : best_[0];
    if (graph_.vertices() <= max_exact_ranks) {
        out.optimal = improve_exactly(graph_, tree, won.slot_of_rank);
        won.cost = swap_search::cost_of(graph_, {&tree}, won.slot_of_rank);
    }
    std::copy(won.slot_of_rank.begin(), won.slot_of_rank.end(), slot_of_rank.begin());
    out.cost = won.cost;
    return out;
}

found_map map_search::run(const rank_grid& grid, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank,
                          const map_effort& effort) {
    starts_ = 0;
    const bool small = grid.ranks() <= max_exact_ranks;
    const auto tiling = choose_tiling(grid, tree);
    if (tiling && !small && in_order_is_tiling(grid, tree.shape())) {
        write_map(*tiling, grid, slot_of_rank);
        return {tiling->cost, true, false};
    }
    graph_.assign(grid);
    sort_slots(tree);
    if (tiling) {
        trial_.resize(grid.ranks());
        write_map(*tiling, grid, trial_);
        offer(tree, trial_);
    } else {
        try_like_trees(grid, tree);
    }
    offer_in_order(tree);
    return finish(tree, slot_of_rank, effort.visits);
}

found_map map_search::run(const traffic_matrix& traffic, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank,
                          const map_effort& effort) {
    starts_ = 0;
    graph_.assign(traffic);
    trial_.resize(traffic.ranks());
    groups_.run(graph_, tree, trial_);
    offer(tree, trial_);
    offer_in_order(tree);
    return finish(tree, slot_of_rank, effort.visits);
}

}  // namespace placement

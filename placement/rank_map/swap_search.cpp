// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/swap_search.hpp"

#include <algorithm>

namespace placement {
namespace {

constexpr double least_gain = 1e-9;  // share of the links' cost: rounding must not swap for ever

std::uint32_t count_of(swap_search::positions where) noexcept {
    return where.level < 0 ? where.tree->slots() : where.tree->groups(static_cast<std::size_t>(where.level));
}

std::uint32_t slot_of(swap_search::positions where, std::uint32_t position) noexcept {
    return where.level < 0 ? position : where.tree->first_slot(static_cast<std::size_t>(where.level), position);
}

std::uint32_t size_of(swap_search::positions where, std::uint32_t position) noexcept {
    return where.level < 0 ? 1 : where.tree->size_of(static_cast<std::size_t>(where.level), position);
}

std::size_t level_above(swap_search::positions where) noexcept { return static_cast<std::size_t>(where.level + 1); }

}  // namespace

void swap_search::reserve(std::uint32_t vertices) {
    vertex_at_.reserve(vertices);
    tried_.reserve(vertices);
    slack_.reserve(vertices);
    link_to_.reserve(vertices);
}

double swap_search::distance(std::uint32_t p, std::uint32_t q) const noexcept {
    if (p == q) return 0;
    std::size_t level = level_above(where_);
    const std::uint32_t a = slot_of(where_, p), b = slot_of(where_, q);
    while (where_.tree->group_of(level, a) != where_.tree->group_of(level, b)) ++level;
    return where_.tree->distance_at(level);
}

double swap_search::gain_of_move(std::uint32_t v, std::uint32_t to, std::uint32_t not_counted) const noexcept {
    const std::uint32_t from = position_of_[v];
    double gain = 0;
    for (const auto& l : graph_->row(v)) {
        if (l.to == not_counted) continue;
        const std::uint32_t at = position_of_[l.to];
        gain += l.bytes * (distance(from, at) - distance(to, at));
    }
    return gain;
}

// By moving to any position of the group that none of its neighbours has.
double swap_search::gain_of_joining(std::uint32_t v, std::uint32_t group) noexcept {
    const std::size_t above = level_above(where_);
    const std::uint32_t from = position_of_[v], inside = where_.tree->first_slot(above, group);
    double gain = 0;
    for (const auto& l : graph_->row(v)) {
        const std::uint32_t at = position_of_[l.to], slot = slot_of(where_, at);
        std::size_t level = above;
        while (where_.tree->group_of(level, slot) != where_.tree->group_of(level, inside)) ++level;
        gain += l.bytes * (distance(from, at) - where_.tree->distance_at(level));
    }
    return gain;
}

double swap_search::slack_of(std::uint32_t v) const noexcept {
    const double nearest = where_.tree->distance_at(level_above(where_));
    double slack = 0;
    for (const auto& l : graph_->row(v)) slack += l.bytes * (distance(position_of_[v], position_of_[l.to]) - nearest);
    return slack;
}

void swap_search::try_group(std::uint32_t v, std::uint32_t neighbour_position, best_swap& best, std::uint64_t& budget) {
    const std::size_t above = level_above(where_);
    const std::uint32_t from = position_of_[v];
    const std::uint32_t group = where_.tree->group_of(above, slot_of(where_, neighbour_position));
    if (tried_[group] == stamp_) return;
    tried_[group] = stamp_;
    // Inside its own group a vertex gains nothing: all members are equally far from everywhere.
    if (group == where_.tree->group_of(above, slot_of(where_, from))) return;
    const double joining = gain_of_joining(v, group);
    const double nearest = where_.tree->distance_at(above);
    std::uint64_t visits = graph_->row(v).size();
    for (std::uint32_t slot = where_.tree->first_slot(above, group), end = where_.tree->first_slot(above, group + 1);
         slot < end;) {
        const std::uint32_t p =
            where_.level < 0 ? slot : where_.tree->group_of(static_cast<std::size_t>(where_.level), slot);
        const std::uint32_t size = size_of(where_, p);
        slot += size;
        if (size != size_of(where_, from)) continue;
        const std::uint32_t other = vertex_at_[p];
        // A link between the two stays as long as it was.
        const double between = link_to_[other];
        const double own = between > 0 ? joining - between * (distance(from, p) - nearest) : joining;
        if (own + slack_[other] <= best.gain) continue;
        visits += graph_->row(other).size();
        const double gain = own + gain_of_move(other, from, v);
        if (gain > best.gain) best = {gain, other};
    }
    budget -= std::min(visits, budget);
}

void swap_search::exchange(std::uint32_t v, std::uint32_t with) noexcept {
    const std::uint32_t a = position_of_[v], b = position_of_[with];
    position_of_[v] = b;
    position_of_[with] = a;
    vertex_at_[b] = v;
    vertex_at_[a] = with;
    for (const std::uint32_t moved : {v, with}) {
        slack_[moved] = slack_of(moved);
        for (const auto& l : graph_->row(moved)) slack_[l.to] = slack_of(l.to);
    }
}

double swap_search::run(const talk_graph& graph, positions where, std::span<std::uint32_t> position_of,
                        std::uint64_t& budget) {
    graph_ = &graph;
    where_ = where;
    position_of_ = position_of;
    const std::uint32_t n = graph.vertices();
    if (level_above(where) + 1 >= where.tree->levels()) return 0;  // all are equally far apart
    vertex_at_.assign(count_of(where), 0);
    for (std::uint32_t v = 0; v < n; ++v) vertex_at_[position_of[v]] = v;
    tried_.assign(where.tree->groups(level_above(where)), 0);
    stamp_ = 0;
    link_to_.assign(n, 0);
    slack_.resize(n);
    for (std::uint32_t v = 0; v < n; ++v) slack_[v] = slack_of(v);
    const double threshold = least_gain * cost_of(graph, where, position_of) / (n > 0 ? n : 1);
    double total = 0;
    for (bool again = true; again && budget > 0;) {
        again = false;
        for (std::uint32_t v = 0; v < n && budget > 0; ++v) {
            ++stamp_;
            best_swap best;
            best.gain = threshold;
            for (const auto& l : graph.row(v)) link_to_[l.to] = l.bytes;
            for (const auto& l : graph.row(v)) try_group(v, position_of[l.to], best, budget);
            for (const auto& l : graph.row(v)) link_to_[l.to] = 0;
            if (best.gain <= threshold) continue;
            exchange(v, best.with);
            total += best.gain;
            again = true;
        }
    }
    return total;
}

double swap_search::cost_of(const talk_graph& graph, positions where,
                            std::span<const std::uint32_t> position_of) noexcept {
    double sum = 0;
    for (std::uint32_t v = 0; v < graph.vertices(); ++v)
        for (const auto& l : graph.row(v)) {
            if (l.to <= v) continue;
            const std::uint32_t p = position_of[v], q = position_of[l.to];
            if (p == q) continue;
            const std::uint32_t a = slot_of(where, p), b = slot_of(where, q);
            sum += l.bytes * where.tree->distance(a, b);
        }
    return sum;
}

}  // namespace placement

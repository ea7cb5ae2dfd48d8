// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/grouping.hpp"

#include <algorithm>
#include <limits>
#include <numeric>

namespace placement {
namespace {

constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();

}  // namespace

void grouping::reserve(std::uint32_t vertices, std::size_t links) {
    coarse_.reserve(vertices, links);
    for (auto* each : {&node_of_, &position_, &size_, &near_, &by_bytes_, &groups_}) each->reserve(vertices);
    with_group_.reserve(vertices);
    all_.reserve(vertices);
    children_.reserve(vertices);
    taken_.reserve(vertices);
}

std::uint32_t grouping::room_for(std::uint32_t size) const noexcept {
    for (std::uint32_t i = 0; i < children_.size(); ++i)
        if (!children_[i].filled && children_[i].size == size) return i;
    return none;
}

void grouping::take(const talk_graph& graph, std::uint32_t vertex, std::uint32_t into) noexcept {
    taken_[vertex] = true;
    children_[into].filled = true;
    position_[vertex] = children_[into].position;
    for (const auto& l : graph.row(vertex)) {
        if (taken_[l.to]) continue;
        if (with_group_[l.to] == 0) near_.push_back(l.to);
        with_group_[l.to] += l.bytes;
    }
}

void grouping::fill_group(const talk_graph& graph, const slot_tree& tree, int level, std::uint32_t group) {
    const auto above = static_cast<std::size_t>(level + 1);
    children_.clear();
    for (std::uint32_t slot = tree.first_slot(above, group); slot < tree.first_slot(above, group + 1);) {
        const std::uint32_t p = level < 0 ? slot : tree.group_of(static_cast<std::size_t>(level), slot);
        const std::uint32_t size = level < 0 ? 1 : tree.size_of(static_cast<std::size_t>(level), p);
        children_.push_back({p, size, false});
        slot += size;
    }
    near_.clear();
    for (std::size_t i = 0; i < children_.size(); ++i) {
        std::uint32_t best = none;
        std::size_t kept = 0;
        for (const std::uint32_t v : near_) {
            if (taken_[v]) continue;
            near_[kept++] = v;
            if (room_for(size_[v]) == none) continue;
            if (best == none || with_group_[v] > with_group_[best] || (with_group_[v] == with_group_[best] && v < best))
                best = v;
        }
        near_.resize(kept);
        while (first_left_ < by_bytes_.size() && taken_[by_bytes_[first_left_]]) ++first_left_;
        for (std::size_t k = first_left_; best == none && k < by_bytes_.size(); ++k)
            if (!taken_[by_bytes_[k]] && room_for(size_[by_bytes_[k]]) != none) best = by_bytes_[k];
        if (best == none) return;
        take(graph, best, room_for(size_[best]));
    }
    for (const std::uint32_t v : near_) with_group_[v] = 0;
}

// Vertices are slots (level −1) or groups of `level`; they are shared out among the groups of the level above.
void grouping::fill_level(const talk_graph& graph, const slot_tree& tree, int level) {
    const std::uint32_t n = graph.vertices();
    taken_.assign(n, false);
    with_group_.assign(n, 0);
    position_.assign(n, none);
    all_.assign(n, 0);
    for (std::uint32_t v = 0; v < n; ++v)
        for (const auto& l : graph.row(v)) all_[v] += l.bytes;
    by_bytes_.resize(n);
    std::iota(by_bytes_.begin(), by_bytes_.end(), 0u);
    std::sort(by_bytes_.begin(), by_bytes_.end(),
              [&](std::uint32_t a, std::uint32_t b) { return all_[a] > all_[b] || (all_[a] == all_[b] && a < b); });
    first_left_ = 0;
    const auto above = static_cast<std::size_t>(level + 1);
    groups_.resize(tree.groups(above));
    std::iota(groups_.begin(), groups_.end(), 0u);
    std::sort(groups_.begin(), groups_.end(), [&](std::uint32_t a, std::uint32_t b) {
        const std::uint32_t left = tree.size_of(above, a), right = tree.size_of(above, b);
        return left > right || (left == right && a < b);
    });
    for (const std::uint32_t g : groups_) fill_group(graph, tree, level, g);
}

void grouping::run(const talk_graph& graph, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank) {
    const std::uint32_t n = graph.vertices();
    size_.assign(n, 1);
    fill_level(graph, tree, -1);
    std::copy_n(position_.begin(), n, slot_of_rank.begin());
    node_of_.resize(n);
    for (std::size_t k = 0; k + 1 < tree.levels(); ++k) {
        if (k + 2 == tree.levels() && tree.equal_size(k) > 0) break;  // under the root the order of equals is free
        for (std::uint32_t r = 0; r < n; ++r) node_of_[r] = tree.group_of(k, slot_of_rank[r]);
        coarse_.assign_quotient(graph, node_of_, tree.groups(k));
        size_.resize(tree.groups(k));
        for (std::uint32_t g = 0; g < tree.groups(k); ++g) size_[g] = tree.size_of(k, g);
        fill_level(coarse_, tree, static_cast<int>(k));
        for (std::uint32_t r = 0; r < n; ++r) {
            const std::uint32_t offset = slot_of_rank[r] - tree.first_slot(k, node_of_[r]);
            slot_of_rank[r] = tree.first_slot(k, position_[node_of_[r]]) + offset;
        }
    }
}

}  // namespace placement

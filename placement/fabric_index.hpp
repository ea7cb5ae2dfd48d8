// SPDX-License-Identifier: Apache-2.0
// The fabric as flat arrays for the choose path: no virtual call, no allocation. Internal to placement/.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "topo/cluster.hpp"

namespace placement {

inline constexpr std::uint32_t no_group = std::numeric_limits<std::uint32_t>::max();

class fabric_index {
public:
    // The nodes of one leaf inside one word of a node bitmap.
    struct run {
        std::uint32_t word;
        std::uint64_t mask;
    };

    explicit fabric_index(const topo::cluster& c);

    [[nodiscard]] int levels() const noexcept { return static_cast<int>(tiers_.size()); }  // ≥ 1
    [[nodiscard]] std::uint32_t groups(int level) const noexcept { return at(level).groups; }
    [[nodiscard]] std::uint32_t nodes_in(int level, std::uint32_t group) const noexcept {
        return at(level).nodes[group];
    }
    [[nodiscard]] std::uint32_t parent(int level, std::uint32_t group) const noexcept {
        return at(level).parent[group];
    }
    [[nodiscard]] std::span<const std::uint32_t> children(int level, std::uint32_t group) const noexcept {
        const tier& t = at(level);
        return {t.children.data() + t.child_begin[group], t.child_begin[group + 1] - t.child_begin[group]};
    }
    [[nodiscard]] double capacity(int level, std::uint32_t group) const noexcept { return at(level).capacity[group]; }
    [[nodiscard]] const topo::cost& level_cost(int level) const noexcept { return at(level).cost; }

    // A node that hangs nowhere is a leaf of its own, without parent.
    [[nodiscard]] std::uint32_t group_of(std::uint32_t node, int level) const noexcept {
        return above_[node * tiers_.size() + static_cast<std::size_t>(level)];
    }
    [[nodiscard]] std::span<const run> runs(std::uint32_t leaf) const noexcept {
        return {runs_.data() + run_begin_[leaf], run_begin_[leaf + 1] - run_begin_[leaf]};
    }
    // Lowest common level; topo::unreachable_level if none. O(levels).
    [[nodiscard]] int level_of(std::uint32_t a, std::uint32_t b) const noexcept {
        for (int level = 0; level < levels(); ++level) {
            const std::uint32_t group = group_of(a, level);
            if (group != no_group && group == group_of(b, level)) return level;
        }
        return topo::unreachable_level;
    }

private:
    struct tier {
        std::uint32_t groups = 0;
        std::vector<std::uint32_t> nodes;
        std::vector<std::uint32_t> parent;
        std::vector<std::uint32_t> child_begin;
        std::vector<std::uint32_t> children;
        std::vector<double> capacity;
        topo::cost cost;
    };
    [[nodiscard]] const tier& at(int level) const noexcept { return tiers_[static_cast<std::size_t>(level)]; }
    void add_lone_leaves(std::size_t node_count);
    void link_children();
    void cut_runs(std::size_t node_count);

    std::vector<tier> tiers_;
    std::vector<std::uint32_t> above_;  // [node × levels + level]
    std::vector<run> runs_;
    std::vector<std::uint32_t> run_begin_;
};

}  // namespace placement

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
    // One NIC to one NIC of another node at this separation, in [0, separations()).
    [[nodiscard]] const topo::cost& level_cost(int separation) const noexcept {
        return costs_[static_cast<std::size_t>(separation)];
    }
    // Where a hop between nodes of this separation runs: in a rail-optimised fabric one that changes rails goes one
    // level higher.
    [[nodiscard]] int hop_level(int separation, bool same_rails) const noexcept {
        const bool higher = form_ == topo::fabric_form::rail_optimised && !same_rails && separation + 1 < separations();
        return separation + (higher ? 1 : 0);
    }
    [[nodiscard]] int separations() const noexcept { return static_cast<int>(costs_.size()); }
    [[nodiscard]] topo::fabric_form form() const noexcept { return form_; }
    [[nodiscard]] std::uint32_t spare_nodes() const noexcept { return spare_nodes_; }

    // The group's switch and every switch below it aggregate: any nodes of the group may reduce in the network.
    [[nodiscard]] bool reduces_in_network(int level, std::uint32_t group) const noexcept {
        return at(level).all_reduce[group];
    }
    // The group's own switch aggregates. A job may reduce in the network when the groups of all its nodes aggregate at
    // every level up to the one they have in common, even where other parts of that group do not.
    [[nodiscard]] bool aggregates(int level, std::uint32_t group) const noexcept { return at(level).aggregates[group]; }

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

    // Index into level_cost() of two nodes: the common level in trees, hops less one in a torus or hypercube, so that
    // nodes of one leaf may differ in it; 0 for a == b. topo::unreachable_level if they do not meet. O(levels).
    [[nodiscard]] int separation(std::uint32_t a, std::uint32_t b) const noexcept {
        if (dims_.empty()) return level_of(a, b);
        const std::uint16_t* left = coordinates(a);
        const std::uint16_t* right = coordinates(b);
        if (left[0] == nowhere || right[0] == nowhere) return a == b ? 0 : topo::unreachable_level;
        std::uint32_t hops = 0;
        for (std::size_t d = 0; d < dims_.size(); ++d) {
            const std::uint32_t apart = left[d] > right[d] ? left[d] - right[d] : right[d] - left[d];
            hops += apart < dims_[d] - apart ? apart : dims_[d] - apart;
        }
        return hops > 0 ? static_cast<int>(hops) - 1 : 0;
    }
    // Torus and hypercube: sizes of the dimensions (empty otherwise) and where a node stands (row-major position, the
    // last coordinate runs fastest; no_group: nowhere).
    [[nodiscard]] std::span<const std::uint32_t> dims() const noexcept { return dims_; }
    [[nodiscard]] std::uint32_t position(std::uint32_t node) const noexcept { return position_[node]; }
    static constexpr std::uint16_t nowhere = std::numeric_limits<std::uint16_t>::max();
    // One a dimension; the first is `nowhere` when the node stands nowhere.
    [[nodiscard]] const std::uint16_t* coordinates(std::uint32_t node) const noexcept {
        return coordinates_.data() + node * dims_.size();
    }

private:
    struct tier {
        std::uint32_t groups = 0;
        std::vector<std::uint32_t> nodes;
        std::vector<std::uint32_t> parent;
        std::vector<std::uint32_t> child_begin;
        std::vector<std::uint32_t> children;
        std::vector<double> capacity;
        std::vector<bool> aggregates;
        std::vector<bool> all_reduce;
    };
    [[nodiscard]] const tier& at(int level) const noexcept { return tiers_[static_cast<std::size_t>(level)]; }
    void add_lone_leaves(std::size_t node_count);
    void link_children();
    void cut_runs(std::size_t node_count);
    void find_reducing();
    void place_in_grid(const topo::fabric& net, std::size_t node_count);

    topo::fabric_form form_;
    std::uint32_t spare_nodes_;
    std::vector<tier> tiers_;
    std::vector<topo::cost> costs_;           // [separation]
    std::vector<std::uint32_t> dims_;         // of a grid; empty otherwise
    std::vector<std::uint32_t> position_;     // [node] of a grid
    std::vector<std::uint16_t> coordinates_;  // [node × dims + d]
    std::vector<std::uint32_t> above_;        // [node × levels + level]
    std::vector<run> runs_;
    std::vector<std::uint32_t> run_begin_;
};

}  // namespace placement

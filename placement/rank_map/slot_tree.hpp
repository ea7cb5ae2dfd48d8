// SPDX-License-Identifier: Apache-2.0
// Where ranks can go: slots (GPUs) in nodes, nodes in leaves, leaves in pods and so on, each level with a distance.
//
// Slots are numbered node by node, nodes leaf by leaf. Two slots are as far apart as the lowest group that holds both:
// level 0 is a node, the highest level is the root that holds everything. Distances never fall from level to level,
// so the numbering inside a group decides nothing.
//
// Example: 8 GPUs a node, leaves of 5, 3 and 8 nodes; 1 inside a node, 10 inside a leaf, 16 across
//   auto tree = placement::slot_tree::of_leaves(8, {5, 3, 8}, {1, 10, 16});
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <vector>

#include "topo/result.hpp"

namespace placement {

// The sizes alone: what tilings are chosen by.
struct tree_shape {
    static constexpr std::size_t max_levels = 10;
    std::size_t levels = 0;
    std::array<std::uint32_t, max_levels> size{};  // slots of a group of the level; 0: they differ
    std::array<double, max_levels> distance{};     // never falls from level to level
};

class slot_tree {
public:
    static constexpr std::size_t max_levels = tree_shape::max_levels;
    static constexpr std::uint32_t max_slots = 1u << 20;

    // Equal groups: sizes[0] slots a node, sizes[1] nodes a leaf, … ; the last is the number of groups below the root.
    // distances has one entry for each size.
    [[nodiscard]] static topo::result<slot_tree> regular(std::span<const std::uint32_t> sizes,
                                                         std::span<const double> distances);

    // Unequal groups: sizes[0][i] slots of node i, sizes[1][j] nodes of leaf j, … in order; the root holds what the
    // last level lists. distances has one entry more than sizes.
    [[nodiscard]] static topo::result<slot_tree> nested(std::span<const std::vector<std::uint32_t>> sizes,
                                                        std::span<const double> distances);

    // Nodes of equal size under leaves of the given numbers of nodes; three distances.
    [[nodiscard]] static topo::result<slot_tree> of_leaves(std::uint32_t slots_of_node,
                                                           std::span<const std::uint32_t> nodes_of_leaf,
                                                           std::span<const double> distances);
    [[nodiscard]] static topo::result<slot_tree> of_leaves(std::uint32_t slots_of_node,
                                                           std::initializer_list<std::uint32_t> nodes_of_leaf,
                                                           std::initializer_list<double> distances) {
        return of_leaves(slots_of_node, std::span(nodes_of_leaf.begin(), nodes_of_leaf.size()),
                         std::span(distances.begin(), distances.size()));
    }

    slot_tree() = default;  // nothing; rebuild() makes something of it
    // The same as nested(), in place: allocates only what it holds no room for. After a failure it holds nothing.
    [[nodiscard]] topo::result<topo::done> rebuild(std::span<const std::span<const std::uint32_t>> sizes,
                                                   std::span<const double> distances);
    // Makes room for rebuild() with so many slots.
    void reserve(std::uint32_t slots);

    // All of these fail with bad_input or limit: no level or too many, a size of 0, sizes that do not add up to the
    // level below, more than max_slots slots, a distance that is negative, not finite, above 1e9 or below the one
    // before it. O(slots × levels) in time and memory.

    [[nodiscard]] std::uint32_t slots() const noexcept { return first_slot_[levels() - 1].back(); }
    [[nodiscard]] std::uint32_t nodes() const noexcept { return groups(0); }
    [[nodiscard]] std::size_t levels() const noexcept { return distances_.size(); }
    [[nodiscard]] double distance_at(std::size_t level) const noexcept { return distances_[level]; }

    // Groups of a level, numbered in slot order; the highest level has one.
    [[nodiscard]] std::uint32_t groups(std::size_t level) const noexcept {
        return static_cast<std::uint32_t>(first_slot_[level].size() - 1);
    }
    [[nodiscard]] std::uint32_t group_of(std::size_t level, std::uint32_t slot) const noexcept {
        return group_of_[level][slot];
    }
    [[nodiscard]] std::uint32_t node_of(std::uint32_t slot) const noexcept { return group_of_[0][slot]; }
    // Slots of group g are first_slot(level, g) … first_slot(level, g + 1) − 1.
    [[nodiscard]] std::uint32_t first_slot(std::size_t level, std::uint32_t group) const noexcept {
        return first_slot_[level][group];
    }
    [[nodiscard]] std::uint32_t size_of(std::size_t level, std::uint32_t group) const noexcept {
        return first_slot_[level][group + 1] - first_slot_[level][group];
    }

    // Slots that every group of the level has, 0 when they differ.
    [[nodiscard]] std::uint32_t equal_size(std::size_t level) const noexcept { return equal_size_[level]; }
    [[nodiscard]] bool is_regular() const noexcept;
    [[nodiscard]] tree_shape shape() const noexcept;

    // Lowest level whose group holds both, and its distance; 0 for a slot and itself. O(levels).
    [[nodiscard]] std::size_t level_between(std::uint32_t a, std::uint32_t b) const noexcept {
        std::size_t level = 0;
        while (group_of_[level][a] != group_of_[level][b]) ++level;
        return level;
    }
    [[nodiscard]] double distance(std::uint32_t a, std::uint32_t b) const noexcept {
        return a == b ? 0 : distances_[level_between(a, b)];
    }

private:
    std::vector<double> distances_;
    std::array<std::vector<std::uint32_t>, max_levels> group_of_;    // [level][slot]
    std::array<std::vector<std::uint32_t>, max_levels> first_slot_;  // [level][group], one entry more than groups
    std::array<std::uint32_t, max_levels> equal_size_{};             // [level]
};

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// A first map for traffic without a form: ranks that talk most are gathered into nodes, nodes into leaves, and so on
// upwards.
//
// At each level the groups are filled one after the other, the largest first. A group begins with the vertex that talks
// most with all others, and then always takes the one that talks most with what it holds.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/rank_map/slot_tree.hpp"
#include "placement/rank_map/talk_graph.hpp"

namespace placement {

class grouping {
public:
    void reserve(std::uint32_t vertices, std::size_t links);

    // As many vertices as slots. Fills slot_of_rank. O(levels × vertices × (links of a group + log vertices)).
    void run(const talk_graph& graph, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank);

private:
    void fill_level(const talk_graph& graph, const slot_tree& tree, int level);
    void fill_group(const talk_graph& graph, const slot_tree& tree, int level, std::uint32_t group);
    [[nodiscard]] std::uint32_t room_for(std::uint32_t size) const noexcept;
    void take(const talk_graph& graph, std::uint32_t vertex, std::uint32_t into) noexcept;

    struct child {
        std::uint32_t position, size;
        bool filled;
    };
    talk_graph coarse_;
    std::vector<std::uint32_t> node_of_;   // [rank] vertex of the level
    std::vector<std::uint32_t> position_;  // [vertex] where it goes
    std::vector<std::uint32_t> size_;      // [vertex] slots
    std::vector<double> with_group_;       // [vertex] bytes to the group being filled
    std::vector<double> all_;              // [vertex] bytes to all
    std::vector<std::uint32_t> near_;      // not taken, with_group_ > 0
    std::vector<std::uint32_t> by_bytes_, groups_;
    std::vector<child> children_;  // of the group being filled
    std::vector<bool> taken_;
    std::size_t first_left_ = 0;  // in by_bytes_
};

}  // namespace placement

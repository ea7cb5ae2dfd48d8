// SPDX-License-Identifier: Apache-2.0
// Makes a map cheaper by swapping two vertices at a time: ranks between slots, or whole nodes' ranks between nodes.
//
// A vertex stands on one position of a level of a slot_tree: on a slot, or on a whole group of the level with the
// ranks of all its slots. For a vertex a and each group g at the lowest level above in which a neighbour of it stands,
// moving a there gains G(a, g) bytes × distance, whoever makes room. A vertex b of g is tried only when G(a, g) and
// the most that b can ever gain are more than the best swap so far: in a good map few are. A sweep is at most
// O(vertices × neighbours × group size × neighbours), and nothing dense is ever built. The best swap of a vertex is
// taken at once; sweeps go on until none gains, or the budget is used up.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/rank_map/slot_tree.hpp"
#include "placement/rank_map/talk_graph.hpp"

namespace placement {

class swap_search {
public:
    // The positions of one level of a tree. level −1: slots.
    struct positions {
        const slot_tree* tree;
        int level = -1;
    };

    void reserve(std::uint32_t vertices);

    // position_of[vertex], one-to-one, is changed in place; vertices only change places where their groups have equal
    // sizes. budget: link visits at most, taken off in place. Returns the bytes × distance gained, ≥ 0. Deterministic.
    double run(const talk_graph& graph, positions where, std::span<std::uint32_t> position_of, std::uint64_t& budget);

    // Bytes × distance of all links between different positions. O(links × levels).
    [[nodiscard]] static double cost_of(const talk_graph& graph, positions where,
                                        std::span<const std::uint32_t> position_of) noexcept;

private:
    struct best_swap {
        double gain = 0;
        std::uint32_t with = 0;
    };
    [[nodiscard]] double distance(std::uint32_t p, std::uint32_t q) const noexcept;
    [[nodiscard]] double gain_of_move(std::uint32_t v, std::uint32_t to, std::uint32_t not_counted) const noexcept;
    [[nodiscard]] double gain_of_joining(std::uint32_t v, std::uint32_t group) noexcept;
    [[nodiscard]] double slack_of(std::uint32_t v) const noexcept;
    void try_group(std::uint32_t v, std::uint32_t neighbour_position, best_swap& best, std::uint64_t& budget);
    void exchange(std::uint32_t v, std::uint32_t with) noexcept;

    const talk_graph* graph_ = nullptr;
    positions where_{};
    std::span<std::uint32_t> position_of_;
    std::vector<std::uint32_t> vertex_at_;
    std::vector<double> slack_;         // [vertex] what it would gain with all its neighbours in its own group
    std::vector<double> link_to_;       // [vertex] bytes of the vertex in hand with it; zeros between
    std::vector<std::uint32_t> tried_;  // [group above] stamp
    std::uint32_t stamp_ = 0;
};

}  // namespace placement

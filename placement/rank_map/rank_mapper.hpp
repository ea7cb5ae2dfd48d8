// SPDX-License-Identifier: Apache-2.0
// Gives the ranks of a job their GPUs: which rank runs where on nodes that are chosen already.
//
// The GPUs of the job become a slot_tree: NVLink islands, nodes, and the groups of the fabric that part them. What two
// slots are apart is what a byte costs between them, µs: of an island's or node's slowest GPU pair, of the level's NICs
// or of its uplinks when these are slower under full load; on a torus or hypercube the mean hops between the groups.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/node_side.hpp"
#include "placement/rank_map/map_search.hpp"
#include "placement/request.hpp"

namespace placement {

class rank_mapper {
public:
    // All three must outlive it. Makes room for jobs of up to `ranks` ranks with 16 links each; larger ones allocate.
    rank_mapper(const topo::cluster& c, const fabric_index& net, const node_sides& sides, std::uint32_t ranks);

    // The pattern is one whose ranks are not all alike: a composite, a halo exchange, a traffic matrix.
    [[nodiscard]] static bool helps(const request& wanted) noexcept;

    // in_order: the ranks node by node, in ring order inside a node. Returns how many candidates there are: 0 where
    // there is nothing to map, 1 for a matrix or where the job's nodes do not make equal groups, else one more for each
    // axis that talks. Deterministic, and the same for whatever order the nodes come in but for ties.
    [[nodiscard]] std::size_t prepare(const request& wanted, std::span<const rank_place> in_order);
    // Candidate 0 moves the least bytes × distance; candidate 1 + i does so where axis i weighs a hundred times as
    // much: a step's time is not the sum of all, so which axis is worth the node is for step_model to say. Overwrites
    // mapped. False where none was found. See map_search for the effort.
    [[nodiscard]] bool candidate(std::size_t which, std::vector<rank_place>& mapped);

private:
    void sort_slots(std::span<const rank_place> in_order);
    [[nodiscard]] bool build_tree(const request& wanted);
    void find_islands();
    [[nodiscard]] std::uint32_t key(std::size_t level, const rank_place& at) const noexcept;
    [[nodiscard]] double island_distance() const noexcept;
    [[nodiscard]] double node_distance() const noexcept;
    [[nodiscard]] double fabric_distance(int level) const noexcept;
    [[nodiscard]] double hops_at(int level) const noexcept;

    const topo::cluster* cluster_;
    const fabric_index* net_;
    const node_sides* sides_;
    std::vector<topo::gpu_mask> islands_of_;  // [class × 64 + gpu] the island a GPU is in
    std::vector<rank_place> slots_;
    std::vector<std::uint32_t> order_;
    std::array<std::vector<std::uint32_t>, slot_tree::max_levels> sizes_;
    slot_tree tree_;
    map_search search_;
    std::vector<std::uint32_t> slot_of_rank_;
    std::optional<rank_grid> grid_;
    const traffic_matrix* traffic_ = nullptr;
    double bytes_ = 1;  // of one message, for the weight of latencies
};

}  // namespace placement

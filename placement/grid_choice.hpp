// SPDX-License-Identifier: Apache-2.0
// Sets of nodes of a torus or hypercube that the nested boxes of node_choice do not find, and the order of a set in
// which a ring makes short hops. Internal to placement/; docs/fabrics.md has the rules.
//
//  - box: the smallest box of positions anywhere, also across the wrap-around, with enough eligible nodes. Boxes of the
//    least volume are tried first, of equal volume the ones with the least diameter; a hypercube's boxes are its
//    sub-cubes. Exact among the shapes that are tried, whose number is bounded by the size of the grid.
//  - arc: the shortest stretch of a curve through the grid with enough eligible nodes: once a snake, on which
//    neighbours are neighbours in the grid, once the nested boxes one after another.
//  - grown: small jobs only. From every eligible node on the nearest others one by one; the set whose ring has the
//    shortest longest hop. Bounded work.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/node_index.hpp"
#include "placement/request.hpp"

namespace placement {

inline constexpr std::size_t max_grid_dims = topo::max_hypercube_dims;

struct grid_plan {
    enum class kind : std::uint8_t { none, box, snake, boxes, grown };
    kind how = kind::none;
    std::uint32_t start = 0;  // box: position of its low corner; else: which of the eligible nodes
    std::array<std::uint16_t, max_grid_dims> side = {};  // of a box; grown: [0] says how
    [[nodiscard]] bool found() const noexcept { return how != kind::none; }
};

class grid_choice {
public:
    // Allocates nothing where the fabric is no grid.
    grid_choice(const fabric_index& net, std::size_t node_count);

    [[nodiscard]] bool on_grid() const noexcept { return !net_->dims().empty(); }

    // Finds a plan of that kind for `wanted` of the eligible nodes. O(shapes × positions × dimensions), or O(nodes).
    [[nodiscard]] grid_plan find(grid_plan::kind how, node_index::words eligible, std::uint32_t wanted) noexcept;

    // Appends the nodes of a plan for the same eligible nodes, without GPUs.
    void collect(const grid_plan& plan, node_index::words eligible, std::uint32_t wanted,
                 std::vector<node_share>& out) noexcept;

    // Puts nodes into an order in which each is close to the next and the last to the first: round the smallest box
    // that holds them, so that a full box with an even side has hops of one only; up to 64 nodes improved by exchanges.
    // O(n log n).
    void arrange(std::span<node_share> nodes) noexcept;

private:
    struct shape {
        std::array<std::uint16_t, max_grid_dims> side = {};
        std::uint32_t diameter = 0;
        std::uint64_t volume = 0;
    };
    static constexpr std::size_t tiers = 8;        // of volume
    static constexpr std::size_t tier_shapes = 4;  // tried of each

    void make_curves(std::size_t node_count);
    void list_shapes(std::uint32_t wanted) noexcept;
    void offer(std::size_t tier, const shape& s) noexcept;
    [[nodiscard]] grid_plan find_box(node_index::words eligible, std::uint32_t wanted) noexcept;
    [[nodiscard]] grid_plan find_subcube(node_index::words eligible, std::uint32_t wanted) noexcept;
    [[nodiscard]] grid_plan find_arc(grid_plan::kind how, node_index::words eligible, std::uint32_t wanted) noexcept;
    [[nodiscard]] grid_plan find_grown(node_index::words eligible, std::uint32_t wanted) noexcept;
    void list_hits(std::size_t curve, node_index::words eligible) noexcept;
    void grow(std::uint32_t seed, bool compact, std::uint32_t wanted, std::vector<node_share>& out) noexcept;
    void mark(node_index::words eligible) noexcept;
    void add_up(std::size_t dim, std::uint32_t side) noexcept;
    void tightest(const shape& s, std::uint32_t wanted, std::uint32_t& least, grid_plan& best) const noexcept;
    void bound(std::span<const node_share> nodes) noexcept;
    [[nodiscard]] std::uint64_t weight(std::span<const node_share> ring) const noexcept;
    void shorten(std::span<node_share> ring) noexcept;
    [[nodiscard]] std::uint32_t turn(const std::uint16_t* at) const noexcept;

    const fabric_index* net_;
    std::size_t positions_ = 0;
    std::vector<std::size_t> stride_;         // of each dimension
    std::vector<std::uint32_t> node_at_;      // [position]; no_group: none
    std::vector<std::uint32_t> curve_[2];     // nodes in the order of the snake, and of the nested boxes
    std::vector<std::uint32_t> place_on_[2];  // [node] how far along the curve
    std::uint32_t length_[2] = {};            // of a curve, places without a node included
    std::vector<std::uint32_t> hits_;         // eligible nodes in the order of a curve
    std::vector<std::uint32_t> sum_, next_;   // [position] eligible nodes of the box from there on
    std::vector<std::uint32_t> acc_;          // one row of a dimension
    std::array<std::array<shape, tier_shapes>, tiers> shapes_;
    std::array<std::size_t, tiers> shape_count_ = {};
    std::vector<std::pair<std::uint32_t, node_share>> keyed_;
    std::vector<std::uint32_t> near_, total_;  // [hit] distance to the set that grows, and to all of it
    std::vector<node_share> grown_;
    // The box that holds the nodes being arranged, and the dimension round which the ring goes.
    std::array<std::uint16_t, max_grid_dims> low_ = {}, extent_ = {};
    std::size_t outer_ = 0;
    bool comb_ = false;  // the first line of the box is kept for the way back
};

}  // namespace placement

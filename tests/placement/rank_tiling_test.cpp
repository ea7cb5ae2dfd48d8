// SPDX-License-Identifier: Apache-2.0
// Grids, trees, and nested tilings of the one by the other.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <vector>

#include "placement/rank_map/grid_tiling.hpp"
#include "placement/rank_map/map_cost.hpp"

using namespace placement;

namespace {

rank_grid grid_of(std::vector<grid_axis> axes) {
    auto made = rank_grid::make(axes);
    REQUIRE(made);
    return *made;
}

slot_tree regular(std::vector<std::uint32_t> sizes, std::vector<double> distances) {
    auto made = slot_tree::regular(sizes, distances);
    REQUIRE(made);
    return *made;
}

std::vector<std::uint32_t> block_order(const rank_grid& g) {
    std::vector<std::uint32_t> map(g.ranks());
    std::iota(map.begin(), map.end(), 0u);
    return map;
}

// The tiling's map, checked to be one-to-one and to cost what the tiling states.
double check_tiling(const rank_grid& g, const slot_tree& t) {
    const auto tiling = choose_tiling(g, t);
    REQUIRE(tiling);
    std::vector<std::uint32_t> map(g.ranks());
    write_map(*tiling, g, map);
    CHECK(cost_of(g, t, map) == doctest::Approx(tiling->cost).epsilon(1e-12));
    auto sorted = map;
    std::sort(sorted.begin(), sorted.end());
    CHECK(sorted == block_order(g));
    CHECK(tiling->cost <= cost_of(g, t, block_order(g)) * (1 + 1e-12));
    return tiling->cost;
}

constexpr auto ring = axis_kind::ring;
constexpr auto chain = axis_kind::chain;
constexpr auto all = axis_kind::all_to_all;

}  // namespace

TEST_CASE("pairs inside blocks of a line") {
    CHECK(pairs_inside(chain, 8, 8) == 7);
    CHECK(pairs_inside(chain, 8, 2) == 4);
    CHECK(pairs_inside(ring, 8, 8) == 8);
    CHECK(pairs_inside(ring, 8, 4) == 6);
    CHECK(pairs_inside(ring, 2, 2) == 1);
    CHECK(pairs_inside(ring, 1, 1) == 0);
    CHECK(pairs_inside(all, 8, 8) == 28);
    CHECK(pairs_inside(all, 8, 2) == 4);
    CHECK(pairs_inside(all, 8, 1) == 0);
}

TEST_CASE("what is no grid is refused with what and why") {
    const auto fails = [](std::vector<grid_axis> axes) {
        const auto made = rank_grid::make(axes);
        REQUIRE_FALSE(made);
        CHECK(made.failure().message().size() > 20);
    };
    fails({});
    fails({{2, 1, ring}, {2, 1, ring}, {2, 1, ring}, {2, 1, ring}, {2, 1, ring}, {2, 1, ring}});
    fails({{0, 1, ring}});
    fails({{8, -1, ring}});
    fails({{8, std::numeric_limits<double>::quiet_NaN(), ring}});
    fails({{8, std::numeric_limits<double>::infinity(), ring}});
    fails({{8, 2e18, ring}});
    fails({{8, 1, static_cast<axis_kind>(9)}});
    fails({{1u << 20, 1, ring}, {2, 1, ring}});
    fails({{4294967295u, 1, ring}, {4294967295u, 1, ring}});
    CHECK(grid_of({{1u << 20, 1, ring}}).ranks() == 1u << 20);
}

TEST_CASE("what is no tree is refused with what and why") {
    const auto refused = [](const topo::result<slot_tree>& made) {
        REQUIRE_FALSE(made);
        CHECK(made.failure().message().size() > 20);
    };
    using sizes = std::vector<std::uint32_t>;
    using numbers = std::vector<double>;
    refused(slot_tree::regular(sizes{}, numbers{}));
    refused(slot_tree::regular(sizes{8, 0}, numbers{1, 2}));
    refused(slot_tree::regular(sizes{8, 8}, numbers{1}));
    refused(slot_tree::regular(sizes{8, 8}, numbers{2, 1}));
    refused(slot_tree::regular(sizes{8, 8}, numbers{-1, 1}));
    refused(slot_tree::regular(sizes{8, 8}, numbers{1, std::numeric_limits<double>::quiet_NaN()}));
    refused(slot_tree::regular(sizes{4294967295u, 4294967295u, 4294967295u}, numbers{1, 2, 3}));
    refused(slot_tree::of_leaves(8, {}, {1, 2, 3}));
    refused(slot_tree::of_leaves(0, {3}, {1, 2, 3}));
    refused(slot_tree::of_leaves(8, {3, 0}, {1, 2, 3}));
    refused(slot_tree::of_leaves(8, {3, 4}, {1, 2}));
    refused(slot_tree::of_leaves(4294967295u, {4294967295u, 4294967295u}, {1, 2, 3}));
    refused(slot_tree::nested(std::vector<sizes>{{8, 8, 8}, {2}}, numbers{1, 2, 3}));
    refused(slot_tree::nested(std::vector<sizes>{{8, 8, 8}, {2, 2}}, numbers{1, 2, 3}));
    refused(slot_tree::nested(std::vector<sizes>(10, sizes{1}), numbers(11, 1)));
}

TEST_CASE("distances and groups of an irregular tree") {
    const auto made = slot_tree::of_leaves(2, {2, 1}, {1, 10, 16});
    REQUIRE(made);
    const auto& t = *made;
    CHECK(t.slots() == 6);
    CHECK(t.nodes() == 3);
    CHECK(t.levels() == 3);
    CHECK_FALSE(t.is_regular());
    CHECK(t.equal_size(0) == 2);
    CHECK(t.equal_size(1) == 0);
    CHECK(t.distance(3, 3) == 0);
    CHECK(t.distance(0, 1) == 1);
    CHECK(t.distance(1, 2) == 10);
    CHECK(t.distance(3, 4) == 16);
    CHECK(t.node_of(5) == 2);
    CHECK(t.size_of(1, 0) == 4);
    CHECK(regular({4}, {3}).distance(0, 3) == 3);
}

// Distances 1, 10, 16; 8 GPUs a node, 8 nodes a leaf. Block-order figures from the project's own earlier measurements.
TEST_CASE("the six regular instances") {
    const auto tree512 = regular({8, 8, 8}, {1, 10, 16});
    const auto tree4096 = regular({8, 8, 64}, {1, 10, 16});
    const auto stencil = [](std::uint32_t n) { return grid_of({{n, 10, chain}, {n, 10, chain}, {n, 10, chain}}); };
    const auto llm = [](std::uint32_t tp, std::uint32_t dp, std::uint32_t pp) {
        return grid_of({{tp, 1000, ring}, {dp, 36, ring}, {pp, 24, chain}});
    };
    CHECK(cost_of(stencil(8), tree512, block_order(stencil(8))) == 120960);
    CHECK(cost_of(llm(8, 8, 8), tree512, block_order(llm(8, 8, 8))) == 868352);
    CHECK(cost_of(llm(4, 16, 8), tree512, block_order(llm(4, 16, 8))) == 785408);
    CHECK(cost_of(stencil(16), tree4096, block_order(stencil(16))) == 1105920);
    CHECK(cost_of(llm(8, 32, 16), tree4096, block_order(llm(8, 32, 16))) == 7155712);
    CHECK(cost_of(llm(4, 64, 16), tree4096, block_order(llm(4, 64, 16))) == 6436864);
    CHECK(check_tiling(stencil(8), tree512) == 76800);
    CHECK(check_tiling(llm(8, 8, 8), tree512) == 859136);
    CHECK(check_tiling(llm(4, 16, 8), tree512) == 757760);
    CHECK(check_tiling(stencil(16), tree4096) == 737280);
    CHECK(check_tiling(llm(8, 32, 16), tree4096) == 6971392);
    CHECK(check_tiling(llm(4, 64, 16), tree4096) == 6160384);
}

TEST_CASE("all-to-all groups, five axes, four levels, odd sizes") {
    check_tiling(grid_of({{8, 100, ring}, {8, 7, all}, {4, 24, chain}, {16, 36, ring}}),
                 regular({8, 8, 16, 4}, {1, 4, 10, 16}));
    check_tiling(grid_of({{4, 5, all}, {4, 7, ring}, {4, 3, chain}, {4, 2, ring}, {2, 1, chain}}),
                 regular({8, 4, 4, 4}, {1, 4, 10, 16}));
    check_tiling(grid_of({{9, 5, ring}, {10, 7, chain}, {6, 1, all}}), regular({6, 3, 30}, {1, 2, 3}));
    check_tiling(grid_of({{2, 5, ring}, {2, 7, ring}}), regular({2, 2}, {0, 3}));
    check_tiling(grid_of({{1, 5, ring}}), regular({1}, {1}));
}

TEST_CASE("ranks that leave slots free fill whole groups from the first") {
    const auto g = grid_of({{4, 1, chain}, {4, 10, chain}, {8, 10, chain}});
    const auto tiling = choose_tiling(g, regular({8, 8, 8}, {1, 10, 16}));
    REQUIRE(tiling);
    std::vector<std::uint32_t> map(g.ranks());
    write_map(*tiling, g, map);
    CHECK(*std::max_element(map.begin(), map.end()) == 127);
    CHECK(cost_of(g, regular({8, 8, 8}, {1, 10, 16}), map) == doctest::Approx(tiling->cost));
}

TEST_CASE("no tiling where sizes and extents do not meet") {
    CHECK_FALSE(choose_tiling(grid_of({{5, 1, ring}, {8, 1, ring}}), regular({4, 4}, {1, 2})));  // 40 ranks, 16 slots
    CHECK_FALSE(choose_tiling(grid_of({{5, 1, ring}, {3, 1, ring}}), regular({4, 4}, {1, 2})));  // 4 does not divide 15
    CHECK_FALSE(choose_tiling(grid_of({{6, 1, ring}, {6, 1, ring}}), regular({8, 9}, {1, 2})));  // 8 does not divide 36
    const auto odd = slot_tree::of_leaves(4, {3, 1}, {1, 2, 3});
    REQUIRE(odd);
    CHECK_FALSE(choose_tiling(grid_of({{4, 1, ring}, {4, 1, ring}}), *odd));
}

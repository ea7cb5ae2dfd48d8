// SPDX-License-Identifier: Apache-2.0
// Torus, hypercube, dragonfly, spare nodes and in-network reduction: built, read, written and refused.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>
#include <string>
#include <vector>

#include "tests/topo/sample_cluster.hpp"
#include "topo/fabric.hpp"
#include "topo/file.hpp"

namespace {

using namespace topo;

fabric_description grid(fabric_form form, std::vector<std::uint32_t> dims) {
    fabric_description d;
    d.form = form;
    std::size_t positions = 1;
    for (const auto n : dims) positions *= n;
    d.dims = std::move(dims);
    d.grid = {{{}, sample::names("n", positions), ""}};
    return d;
}

fabric_build made(const fabric_description& d, const std::vector<std::string>& names) {
    auto got = build_fabric(d, names, false);
    REQUIRE_MESSAGE(got, got.failure().message());
    return *std::move(got);
}

// Hops from position `from` to all others, by breadth-first search over the links.
std::vector<int> walked(const std::vector<std::uint32_t>& dims, std::size_t from) {
    std::size_t positions = 1;
    for (const auto d : dims) positions *= d;
    std::vector<int> hops(positions, -1);
    std::queue<std::size_t> next;
    next.push(from);
    hops[from] = 0;
    while (!next.empty()) {
        const std::size_t at = next.front();
        next.pop();
        std::size_t stride = 1;
        for (std::size_t d = dims.size(); d-- > 0; stride *= dims[d]) {
            const std::size_t x = at / stride % dims[d];
            for (const std::size_t to : {(x + 1) % dims[d], (x + dims[d] - 1) % dims[d]}) {
                const std::size_t there = at - x * stride + to * stride;
                if (hops[there] >= 0) continue;
                hops[there] = hops[at] + 1;
                next.push(there);
            }
        }
    }
    return hops;
}

void check_nesting(const fabric& f, std::size_t nodes) {
    for (int l = 0; l < f.levels(); ++l) {
        std::size_t held = 0;
        for (std::uint32_t i = 0; i < f.groups(l); ++i) {
            const group_id g(i);
            const auto members = f.nodes(l, g);
            CHECK_FALSE(members.empty());
            held += members.size();
            for (const node_id n : members) CHECK(f.group_of(n, l) == g);
            CHECK(f.parent(l, g).valid() == (l + 1 < f.levels()));
            for (const group_id c : f.children(l, g)) CHECK(f.parent(l - 1, c) == g);
            if (l > 0) CHECK_FALSE(f.children(l, g).empty());
            if (l == 0) CHECK(members.size() <= 8);
        }
        CHECK(held == nodes);
    }
    CHECK(f.groups(f.levels() - 1) == 1);
}

}  // namespace

TEST_CASE("separation in a torus and a hypercube is the number of hops less one") {
    const std::vector<fabric_description> all = {
        grid(fabric_form::torus, {5}),           grid(fabric_form::torus, {4, 6}),
        grid(fabric_form::torus, {3, 4, 5}),     grid(fabric_form::torus, {2, 1, 7}),
        grid(fabric_form::hypercube, {2, 2, 2}), grid(fabric_form::hypercube, {2, 2, 2, 2, 2, 2})};
    for (const auto& d : all) {
        CAPTURE(d.dims.size());
        const auto& names = d.grid.front().nodes;
        const auto out = made(d, names);
        const fabric& f = *out.built;
        check_nesting(f, names.size());
        CHECK(f.form() == d.form);
        CHECK(std::equal(f.dims().begin(), f.dims().end(), d.dims.begin(), d.dims.end()));
        int longest = 0;
        for (std::size_t a = 0; a < names.size(); ++a) {
            CHECK(f.position(node_id(a)).value == a);
            const auto hops = walked(d.dims, a);
            for (std::size_t b = 0; b < names.size(); ++b) {
                CHECK(f.separation(node_id(a), node_id(b)) == std::max(1, hops[b]) - 1);
                CHECK(f.level_of(node_id(a), node_id(b)) < f.levels());
                longest = std::max(longest, hops[b]);
            }
        }
        CHECK(f.separations() >= longest);
        CHECK(f.separations() >= f.levels());
        for (int s = 0; s < f.separations(); ++s) {
            CHECK(f.level_cost(s).valid());
            CHECK(f.level_cost(s).from == source::estimated);
            if (s > 0) CHECK(f.level_cost(s).alpha_us > f.level_cost(s - 1).alpha_us);
        }
    }
}

TEST_CASE("what lies beyond the given hop costs goes on from the last one and is estimated") {
    fabric_description d = grid(fabric_form::torus, {8, 8});
    cost one;
    one.alpha_us = 1.5;
    one.gb_per_s = 11;
    one.from = one.alpha_from = source::measured;
    d.level_costs = {one, one};
    d.level_costs[1].alpha_us = 2;
    d.level_costs[1].gb_per_s = 10;
    const auto out = made(d, d.grid.front().nodes);
    CHECK(out.built->separations() == 8);
    CHECK(out.built->level_cost(1) == d.level_costs[1]);
    CHECK(out.built->level_cost(2).gb_per_s == 10);
    CHECK(out.built->level_cost(2).alpha_us == doctest::Approx(2.33));
    CHECK(out.built->level_cost(2).from == source::estimated);
    CHECK(out.built->level_cost(7).alpha_us == doctest::Approx(2 + 6 * 0.33));
}

TEST_CASE("a box carries what the links through its surface carry") {
    fabric_description d = grid(fabric_form::torus, {4, 4, 4});
    const auto unlimited = made(d, d.grid.front().nodes);
    for (int l = 0; l < unlimited.built->levels(); ++l) CHECK(std::isinf(unlimited.built->capacity(l, group_id(0))));
    d.link_gb_per_s = 10;
    const auto out = made(d, d.grid.front().nodes);
    const fabric& f = *out.built;
    REQUIRE(f.levels() == 4);  // 8, 16, 32 and 64 positions
    CHECK(f.nodes(0, group_id(0)).size() == 8);
    CHECK(f.capacity(0, group_id(0)) == doctest::Approx(6 * 4 * 10));   // 2×2×2: six faces of four links
    CHECK(f.capacity(1, group_id(0)) == doctest::Approx(2 * 16 * 10));  // 2×2×4, closed along the last: four of 8
    CHECK(f.capacity(2, group_id(0)) == doctest::Approx(2 * 16 * 10));  // 2×4×4: two of 16
    CHECK(std::isinf(f.capacity(3, group_id(0))));
    CHECK(f.name(0, group_id(0)) == "[0-1,0-1,0-1]");

    fabric_description cube = grid(fabric_form::hypercube, {2, 2, 2, 2, 2});
    cube.link_gb_per_s = 3;
    const auto of_cube = made(cube, cube.grid.front().nodes);
    CHECK(of_cube.built->capacity(0, group_id(0)) == doctest::Approx(8 * 2 * 3));  // 8 nodes, 2 dimensions lead out
}

TEST_CASE("runs place nodes, holes stay holes and strangers keep their positions") {
    fabric_description d;
    d.form = fabric_form::torus;
    d.dims = {3, 4};
    d.grid = {{{0, 0}, {"a", "ghost", "b"}, "f.yaml:7"}, {{2, 3}, {"c"}, ""}};
    const auto out = made(d, {"c", "a", "b", "loose"});
    const fabric& f = *out.built;
    CHECK(f.position(node_id(0)).value == 11);
    CHECK(f.position(node_id(1)).value == 0);
    CHECK(f.position(node_id(2)).value == 2);
    CHECK_FALSE(f.position(node_id(3)).valid());
    CHECK(f.separation(node_id(0), node_id(1)) == 1);  // both wrap: one hop up, one hop left
    CHECK(f.separation(node_id(1), node_id(2)) == 1);
    CHECK(f.separation(node_id(1), node_id(3)) == unreachable_level);
    CHECK(f.level_of(node_id(1), node_id(3)) == unreachable_level);
    REQUIRE(out.notes.size() >= 2);
    CHECK(out.notes[0].message().find("f.yaml:7: the grid names nodes that the cluster does not have: 1 (ghost)") == 0);
    CHECK(out.notes[1].what.find("loose") != std::string::npos);
    CHECK(made(d, {"elsewhere"}).built->levels() == 0);
    // Ten thousand nodes; every third position has none.
    fabric_description big;
    big.form = fabric_form::torus;
    big.dims = {32, 32, 10};
    std::vector<std::string> names;
    for (std::uint32_t x = 0; x < 32; ++x)
        for (std::uint32_t y = 0; y < 32; ++y) {
            if ((x + y) % 3 == 0) continue;
            big.grid.push_back({{x, y, 0}, sample::names(fmt::format("r{}-{}-", x, y), 10), ""});
            names.insert(names.end(), big.grid.back().nodes.begin(), big.grid.back().nodes.end());
        }
    check_nesting(*made(big, names).built, names.size());
}

TEST_CASE("a dragonfly's groups get the root that joins them") {
    fabric_description d;
    d.form = fabric_form::dragonfly;
    for (int g = 0; g < 3; ++g) {
        switch_description group;
        group.name = fmt::format("global{}", g);  // a prefix of ours is made longer
        group.uplink_gb_per_s = 100 * (g + 1);
        group.switches = {fmt::format("r{}", 2 * g), fmt::format("r{}", 2 * g + 1)};
        d.switches.push_back(group);
    }
    const auto names = sample::names("n", 24);
    for (std::size_t r = 0; r < 6; ++r)
        d.switches.push_back({fmt::format("r{}", r), {}, sample::names("n", 4, 4 * r + 1), {}, "", ""});
    const auto out = made(d, names);
    const fabric& f = *out.built;
    CHECK(f.form() == fabric_form::dragonfly);
    CHECK(f.levels() == 3);
    CHECK(f.groups(2) == 1);
    CHECK(f.name(2, group_id(0)) == "global_");
    CHECK(f.separation(node_id(0), node_id(5)) == 1);
    CHECK(f.separation(node_id(0), node_id(9)) == 2);
    CHECK(f.capacity(1, f.group_of(node_id(9), 1)) == 200);
    CHECK(std::none_of(out.notes.begin(), out.notes.end(),
                       [](const finding& n) { return n.level == severity::warning; }));
    switch_description root;
    root.name = "all";
    root.switches = {"global0", "global1", "global2"};
    d.switches.push_back(root);
    CHECK(made(d, names).built->name(2, group_id(0)) == "all");
}

TEST_CASE("switches that reduce: the description's word, each switch's own, and padded levels") {
    fabric_description d = sample::two_levels(3, 4);
    const auto names = sample::names("n", 12);
    const auto reduces = [&](const fabric& f, int level, std::uint32_t g) {
        return f.in_network_reduction(level, group_id(g));
    };
    CHECK_FALSE(reduces(*made(d, names).built, 0, 0));
    d.in_network_reduction = true;
    d.switches[1].in_network_reduction = false;
    const auto out = made(d, names);
    CHECK(reduces(*out.built, 0, 0));
    CHECK_FALSE(reduces(*out.built, 0, 1));
    CHECK(reduces(*out.built, 1, 0));
    d.in_network_reduction = false;
    d.switches[2].in_network_reduction = true;
    const auto only = made(d, names);
    CHECK_FALSE(reduces(*only.built, 0, 0));
    CHECK(reduces(*only.built, 0, 2));
    CHECK_FALSE(reduces(*only.built, 1, 0));
    CHECK(only.built->spare_nodes() == 0);
    d.spare_nodes = 2;
    CHECK(made(d, names).built->spare_nodes() == 2);
}

TEST_CASE("new keys survive a round trip") {
    fabric_description t = grid(fabric_form::torus, {4, 3});
    t.grid = {{{0, 1}, {"a", "b", "x01"}, ""}, {{3, 0}, sample::names("n", 3), ""}};
    t.link_gb_per_s = 12.5;
    fabric_description tree = sample::two_levels(3, 4);
    tree.in_network_reduction = true;
    tree.switches[0].in_network_reduction = false;
    tree.switches[1].in_network_reduction = true;
    tree.spare_nodes = 2;
    for (const auto& d : {t, tree, grid(fabric_form::hypercube, {2, 2, 2, 2})}) {
        const std::string text = write_fabric(d);
        CAPTURE(text);
        const auto got = parse_fabric(text, "f.yaml");
        REQUIRE_MESSAGE(got, got.failure().message());
        CHECK(*got == d);
    }
}

TEST_CASE("wrong grids are refused with line and remedy") {
    const std::string head = "apiVersion: atoll/v1\nkind: Fabric\nfabric:\n";
    const auto refused = [&](const std::string& body, const char* place, const char* part) {
        const auto got = parse_fabric(head + body, "f.yaml");
        CAPTURE(body);
        REQUIRE_FALSE(got);
        CHECK_MESSAGE(got.failure().where == place, got.failure().message());
        CHECK_MESSAGE(got.failure().what.find(part) != std::string::npos, got.failure().message());
        CHECK_FALSE(got.failure().remedy.empty());
    };
    const std::string g = "  grid:\n    - {nodes: \"n[1-4]\"}\n";
    CHECK(parse_fabric(head + "  form: torus\n  dims: [2, 2]\n" + g, "f.yaml"));
    refused("  form: torus\n" + g, "f.yaml:4", "1 to 6 dimensions, not 0");
    refused("  form: torus\n  dims: [2, 2]\n", "f.yaml:4", "no node stands");
    refused("  form: torus\n  dims: []\n" + g, "f.yaml:4", "dimensions, not 0");
    refused("  form: torus\n  dims: 4\n" + g, "f.yaml:5", "dims");
    refused("  form: torus\n  dims: [2, two]\n" + g, "f.yaml:5", "dims");
    refused("  form: torus\n  dims: [2, -2]\n" + g, "f.yaml:5", "dims");
    refused("  form: torus\n  dims: [0, 2]\n" + g, "f.yaml:4", "0 positions");
    refused("  form: torus\n  dims: [2, 2.5]\n" + g, "f.yaml:5", "dims");
    refused("  form: torus\n  dims: [1, 1, 1, 1, 1, 1, 9]\n" + g, "f.yaml:4", "not 7");
    refused("  form: torus\n  dims: [1048576, 1048576, 1048576]\n" + g, "f.yaml:4", "positions");
    refused("  form: torus\n  dims: [1000, 1000]\n" + g, "f.yaml:4", "1000 hops");
    refused("  form: torus\n  dims: [99999999999999999999]\n" + g, "f.yaml:5", "dims");
    refused("  form: hypercube\n  dims: [2, 3]\n" + g, "f.yaml:4", "3 positions");
    refused("  form: hypercube\n  dims: [4]\n" + g, "f.yaml:4", "4 positions");
    refused("  form: tree\n  dims: [4]\n", "f.yaml:4", "say nothing of a tree");
    refused("  form: tree\n" + g, "f.yaml:4", "say nothing of a tree");
    refused("  form: dragonfly\n  link_gb_per_s: 4\n", "f.yaml:4", "say nothing of a dragonfly");
    refused("  form: torus\n  dims: [2, 1]\n" + g, "f.yaml:7", "leave dims [2, 1]");
    refused("  form: torus\n  dims: [2, 2]\n  grid:\n    - {at: [2, 0], nodes: a}\n", "f.yaml:7", "outside");
    refused("  form: torus\n  dims: [2, 2]\n  grid:\n    - {at: [1], nodes: a}\n", "f.yaml:7", "1 coordinates");
    refused("  form: torus\n  dims: [2, 2]\n  grid:\n    - {at: [1, 1], nodes: \"a[1-2]\"}\n", "f.yaml:7", "leave");
    refused("  form: torus\n  dims: [2, 2]\n  grid:\n    - {at: [0, 0]}\n", "f.yaml:7", "nodes");
    refused("  form: torus\n  dims: [2, 2]\n  grid:\n    - {nodes: a, ring: 1}\n", "f.yaml:7", "ring");
    refused("  form: torus\n  dims: [2, 2]\n  grid: {nodes: a}\n", "f.yaml:6", "grid");
    refused("  form: torus\n  dims: [2, 2]\n  grid:\n    - {nodes: a}\n    - {at: [0, 0], nodes: b}\n", "f.yaml:8",
            "one position");
    refused("  form: torus\n  dims: [2, 2]\n  grid:\n    - {nodes: a}\n    - {at: [0, 1], nodes: a}\n", "f.yaml:8",
            "twice");
    refused("  form: torus\n  dims: [2, 2]\n  link_gb_per_s: 0\n" + g, "f.yaml:4", "link_gb_per_s");
    refused("  form: torus\n  dims: [2, 2]\n  link_gb_per_s: .nan\n" + g, "f.yaml:6", "link_gb_per_s");
    refused("  form: torus\n  dims: [2, 2]\n  link_gb_per_s: 5 GB/s\n" + g, "f.yaml:6", "link_gb_per_s");
    refused("  form: torus\n  dims: [2, 2]\n  in_network_reduction: true\n" + g, "f.yaml:4", "no switch that reduces");
    refused("  form: torus\n  dims: [2, 2]\n  switches:\n    - {name: s, nodes: a}\n" + g, "f.yaml:4", "no switches");
    refused("  form: tree\n  in_network_reduction: often\n", "f.yaml:5", "in_network_reduction");
    refused("  form: tree\n  spare_nodes: -1\n", "f.yaml:5", "spare_nodes");
    refused("  form: tree\n  switches:\n    - {name: s, nodes: a, in_network_reduction: 2}\n", "f.yaml:6",
            "in_network_reduction");
}

// SPDX-License-Identifier: Apache-2.0
#include "topo/fabric.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "tests/topo/sample_cluster.hpp"

namespace {

using namespace topo;

switch_description leaf(std::string name, std::vector<std::string> nodes) {
    return {std::move(name), {}, std::move(nodes), {}, "", ""};
}
switch_description spine(std::string name, std::vector<std::string> children) {
    return {std::move(name), std::move(children), {}, {}, "", ""};
}

fabric_build made(const fabric_description& d, const std::vector<std::string>& names, bool lenient = false) {
    auto got = build_fabric(d, names, lenient);
    REQUIRE_MESSAGE(got, got.failure().message());
    return *std::move(got);
}

// What the interface promises, whatever the form.
void check_promises(const fabric& f, std::size_t nodes) {
    for (int l = 0; l < f.levels(); ++l) {
        CHECK(f.level_cost(l).valid());
        std::size_t held = 0;
        for (std::uint32_t i = 0; i < f.groups(l); ++i) {
            const group_id g(i);
            const auto members = f.nodes(l, g);
            CHECK_FALSE(members.empty());
            CHECK(std::is_sorted(members.begin(), members.end()));
            for (const node_id n : members) CHECK(f.group_of(n, l) == g);
            held += members.size();
            CHECK(f.capacity(l, g) > 0);
            const group_id up = f.parent(l, g);
            CHECK(up.valid() == (l + 1 < f.levels()));
            if (up.valid()) {
                const auto siblings = f.children(l + 1, up);
                CHECK(std::count(siblings.begin(), siblings.end(), g) == 1);
                for (const node_id n : members) CHECK(f.group_of(n, l + 1) == up);
            }
            const auto children = f.children(l, g);
            CHECK(children.empty() == (l == 0));
            CHECK(std::is_sorted(children.begin(), children.end()));
            for (const group_id c : children) CHECK(f.parent(l - 1, c) == g);
        }
        CHECK(held <= nodes);
    }
}

}  // namespace

TEST_CASE("a two-level tree") {
    const auto names = sample::names("n", 12);
    const auto out = made(sample::two_levels(3, 4), names);
    const fabric& f = *out.built;
    check_promises(f, 12);
    CHECK(f.form() == fabric_form::tree);
    CHECK(f.levels() == 2);
    CHECK(f.groups(0) == 3);
    CHECK(f.groups(1) == 1);
    CHECK(f.name(0, f.group_of(node_id(5), 0)) == "leaf002");
    CHECK(f.name(1, group_id(0)) == "root");
    CHECK(f.capacity(0, group_id(0)) == 800);
    CHECK(std::isinf(f.capacity(1, group_id(0))));
    CHECK(f.level_of(node_id(0), node_id(3)) == 0);
    CHECK(f.level_of(node_id(0), node_id(4)) == 1);
    CHECK(f.level_of(node_id(7), node_id(7)) == 0);
}

TEST_CASE("leaves of different height are padded, roots stand at one level") {
    // deep: d1,d2 under m under top; short: s1 right under top; and two nodes on top itself.
    fabric_description d;
    d.form = fabric_form::tree;
    d.switches = {spine("top", {"m", "s1"}), spine("m", {"d1", "d2"}), leaf("d1", {"a", "b"}),
                  leaf("d2", {"c"}),         leaf("s1", {"d", "e"}),   leaf("lone", {"x", "y"})};
    d.switches[0].nodes = {"t", "u"};
    d.switches[4].uplink_gb_per_s = 100;
    const std::vector<std::string> names = {"a", "b", "c", "d", "e", "t", "u", "x", "y"};
    const auto out = made(d, names);
    const fabric& f = *out.built;
    check_promises(f, names.size());
    CHECK(f.levels() == 3);
    CHECK(f.groups(2) == 2);
    const auto level = [&](std::size_t a, std::size_t b) { return f.level_of(node_id(a), node_id(b)); };
    CHECK(level(0, 1) == 0);
    CHECK(level(0, 2) == 1);
    CHECK(level(0, 3) == 2);
    CHECK(level(3, 4) == 0);
    CHECK(level(5, 6) == 0);
    CHECK(level(5, 0) == 2);
    CHECK(level(3, 5) == 2);
    CHECK(level(7, 8) == 0);
    CHECK(level(7, 0) == unreachable_level);
    CHECK(f.capacity(1, f.group_of(node_id(3), 1)) == 100);
    CHECK(f.name(2, f.group_of(node_id(7), 2)) == "lone");
}

TEST_CASE("unconnected trees stay unconnected") {
    fabric_description d;
    d.form = fabric_form::tree;
    d.switches = {spine("fabA", {"a1", "a2"}), leaf("a1", sample::names("n", 4)), leaf("a2", sample::names("n", 4, 5)),
                  spine("fabB", {"b1"}), leaf("b1", sample::names("m", 4))};
    auto names = sample::names("n", 8);
    for (const auto& m : sample::names("m", 4)) names.push_back(m);
    const auto out = made(d, names);
    check_promises(*out.built, names.size());
    CHECK(out.built->groups(1) == 2);
    CHECK(out.built->level_of(node_id(0), node_id(7)) == 1);
    CHECK(out.built->level_of(node_id(0), node_id(8)) == unreachable_level);
    CHECK(out.built->level_of(node_id(8), node_id(11)) == 0);
}

TEST_CASE("blocks join by Slurm's block sizes, short blocks are legal") {
    fabric_description d;
    d.form = fabric_form::block;
    d.block_sizes = {4, 8};
    std::vector<std::string> names;
    for (int b = 0; b < 5; ++b) {
        const auto nodes = sample::names(fmt::format("b{}n", b), b == 4 ? 2 : 4);
        d.switches.push_back(leaf(fmt::format("b{}", b), nodes));
        names.insert(names.end(), nodes.begin(), nodes.end());
    }
    const auto out = made(d, names);
    const fabric& f = *out.built;
    check_promises(f, names.size());
    CHECK(f.form() == fabric_form::block);
    CHECK(f.levels() == 3);
    CHECK(f.groups(0) == 5);
    CHECK(f.groups(1) == 3);
    CHECK(f.groups(2) == 1);
    CHECK(f.level_of(node_id(0), node_id(4)) == 1);
    CHECK(f.level_of(node_id(4), node_id(8)) == 2);
    CHECK(f.nodes(0, group_id(4)).size() == 2);
    // Without a domain id nothing says that a block is an NVLink domain.
    CHECK(f.level_cost(0).gb_per_s < 60);
}

TEST_CASE("only real NVLink domain ids make level 0 an NVLink domain") {
    fabric_description d;
    d.form = fabric_form::block;
    d.switches = {leaf("b1", {"a", "b"}), leaf("b2", {"c", "d"})};
    const std::vector<std::string> names = {"a", "b", "c", "d"};
    d.switches[0].domain = d.switches[1].domain = "00000000-0000-0000-0000-000000000000";
    CHECK(made(d, names).built->level_cost(0).gb_per_s < 60);
    d.switches[0].domain = "7b1e.1";
    CHECK(made(d, names).built->level_cost(0).gb_per_s < 60);
    d.switches[1].domain = "7b1f.1";
    const auto out = made(d, names);
    CHECK(out.built->level_cost(0).gb_per_s == doctest::Approx(397.5));
    CHECK(out.built->level_cost(0).from == source::estimated);
    CHECK(out.built->level_cost(1).gb_per_s < 60);
    CHECK(out.built->level_cost(1).alpha_us > out.built->level_cost(0).alpha_us);
}

TEST_CASE("given level costs are kept, missing ones are estimated and said to be") {
    fabric_description d = sample::cluster().fabric;
    const auto out = made(d, sample::names("n", 12));
    CHECK(out.built->level_cost(0).gb_per_s == 48.6);
    CHECK(out.built->level_cost(1).from == source::estimated);
    CHECK(std::any_of(out.notes.begin(), out.notes.end(),
                      [](const finding& n) { return n.what.find("1 of 2") != std::string::npos; }));
    d.level_costs.front().gb_per_s = -1;
    CHECK_FALSE(build_fabric(d, sample::names("n", 12), true));
}

TEST_CASE("an unknown fabric is one group") {
    const auto names = sample::names("n", 3);
    const auto out = made({}, names);
    check_promises(*out.built, 3);
    CHECK(out.built->form() == fabric_form::unknown);
    CHECK(out.built->levels() == 1);
    CHECK(out.built->level_of(node_id(0), node_id(2)) == 0);
    CHECK(made({}, {}).built->levels() == 1);
}

TEST_CASE("names that the cluster lacks and nodes without a switch are told") {
    const auto names = sample::names("n", 13);  // n0013 hangs nowhere
    fabric_description d = sample::two_levels(3, 4);
    d.switches[1].nodes.push_back("ghost");
    d.switches[1].where = "t.conf:2";
    const auto out = made(d, names);
    check_promises(*out.built, 13);
    CHECK(out.built->level_of(node_id(12), node_id(0)) == unreachable_level);
    CHECK(out.built->level_of(node_id(12), node_id(12)) == unreachable_level);
    CHECK_FALSE(out.built->group_of(node_id(12), 0).valid());
    REQUIRE(out.notes.size() >= 2);
    CHECK(out.notes[0].message().find("t.conf:2: leaf002 names nodes that the cluster does not have: 1 (ghost)") == 0);
    CHECK(out.notes[1].what.find("n0013") != std::string::npos);
    CHECK(made(d, {"other"}).built->levels() == 0);
}

TEST_CASE("a child switch without a line") {
    fabric_description d = sample::two_levels(2, 2);
    d.switches.back().switches.push_back("leaf003");
    d.switches.back().where = "topology.conf:1";
    const auto strict = build_fabric(d, sample::names("n", 4), false);
    REQUIRE_FALSE(strict);
    CHECK(strict.failure().message().find("topology.conf:1: switch root names child switch leaf003") == 0);
    const auto out = made(d, sample::names("n", 4), true);
    check_promises(*out.built, 4);
    CHECK(out.notes.front().level == severity::warning);
    CHECK(check(d).size() == 1);
}

TEST_CASE("what makes no tree is refused, also by a lenient reader") {
    const auto refused = [](const fabric_description& d, const char* part) {
        const auto got = build_fabric(d, sample::names("n", 4), true);
        REQUIRE_FALSE(got);
        CHECK_MESSAGE(got.failure().what.find(part) != std::string::npos, got.failure().message());
        CHECK_FALSE(got.failure().remedy.empty());
    };
    const fabric_description good = sample::two_levels(2, 2);
    auto d = good;
    d.switches[1].name = "leaf001";
    refused(d, "two lines");
    d = good;
    d.switches[1].name = "";
    refused(d, "no name");
    d = good;
    d.switches.push_back(spine("root2", {"leaf001"}));
    refused(d, "hangs under root and under root2");
    d = good;
    d.switches.back().switches.push_back("leaf001");
    refused(d, "twice");
    d = good;
    d.switches[0].switches = {"root"};
    refused(d, "own ancestor");
    d = good;
    d.switches[0].switches = {"leaf001"};
    refused(d, "leaf001");
    d = good;
    d.switches[1].nodes.push_back("n0001");
    refused(d, "node n0001 hangs under leaf001 and under leaf002");
    d = good;
    d.switches[0].nodes.push_back("n0001");
    refused(d, "twice");
    d = good;
    d.switches[0].uplink_gb_per_s = std::nan("");
    refused(d, "uplink");
    d = good;
    d.form = fabric_form::block;
    refused(d, "child switches");
    d = good;
    d.block_sizes = {4, 6};
    refused(d, "block size 6");
}

TEST_CASE("very deep and very wide descriptions neither crash nor hang") {
    fabric_description chain;
    chain.form = fabric_form::tree;
    for (int i = 0; i < 100000; ++i)
        chain.switches.push_back(spine(fmt::format("s{}", i), {fmt::format("s{}", i + 1)}));
    chain.switches.push_back(leaf("s100000", {"n0001"}));
    const auto got = build_fabric(chain, sample::names("n", 1), true);
    REQUIRE_FALSE(got);
    CHECK(got.failure().code == errc::limit);
    chain.switches.back().switches = {"s0"};
    CHECK_FALSE(build_fabric(chain, sample::names("n", 1), true));
    check_promises(*made(sample::two_levels(320, 32), sample::names("n", 10240)).built, 10240);
}

TEST_CASE("forms have names") {
    for (int i = 0; i < 8; ++i) {
        const auto f = static_cast<fabric_form>(i);
        CHECK(fabric_form_named(name_of(f)) == f);
    }
    CHECK_FALSE(fabric_form_named("Tree"));
}

// SPDX-License-Identifier: Apache-2.0
// What each form of fabric does with a job: boxes and arcs, sub-cubes, even shares, and nodes with slow links.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "grids.hpp"
#include "placement/placer.hpp"

using placement::answer;
using placement::outcome;
using placement::pattern;
using placement::placer;
using placement::request;
using topo::fabric_form;
using topo::node_id;

namespace {

placer chooser_for(const topo::cluster& c) {
    auto made = placer::make(c);
    REQUIRE(made);
    return std::move(*made);
}

request job(std::uint32_t nodes, std::uint32_t gpus, pattern talks = pattern::ring_allreduce) {
    request r;
    r.nodes = nodes;
    r.gpus_per_node = gpus;
    r.talks = talks;
    return r;
}

std::vector<topo::cost> hops(bool bandwidth = false) {
    std::vector<topo::cost> out;
    for (int h = 1; h <= 16; ++h) out.push_back(boards::cost(1.7 + 0.33 * h, bandwidth ? 48.0 / h : 48));
    return out;
}

topo::node_class four() { return boards::with_nics(boards::switched("four", 4)); }

topo::node_class slow_nics() {
    auto c = boards::with_nics(boards::switched("slow", 4), 12);
    return c;
}

// The longest hop of the ring over the answer's nodes.
int longest_hop(const topo::cluster& c, const answer& a) {
    int most = 0;
    for (std::size_t i = 0; i < a.nodes.size(); ++i)
        most = std::max(most, 1 + c.network().separation(a.nodes[i].node, a.nodes[(i + 1) % a.nodes.size()].node));
    return most;
}

bool all_distinct(const answer& a) {
    std::set<std::uint32_t> seen;
    for (const auto& n : a.nodes) seen.insert(n.node.value);
    return seen.size() == a.nodes.size();
}

std::map<std::uint32_t, std::uint32_t> by_group(const topo::cluster& c, const answer& a, int level) {
    std::map<std::uint32_t, std::uint32_t> out;
    for (const auto& n : a.nodes) ++out[c.network().group_of(n.node, level).value];
    return out;
}

}  // namespace

TEST_CASE("an empty torus gives boxes whose ring makes single hops") {
    const auto c = boards::grid_cluster(fabric_form::torus, {4, 4, 4}, hops(), {four()}, 12.5);
    auto p = chooser_for(c);
    for (const std::uint32_t n : {2u, 4u, 6u, 8u, 12u, 16u, 24u, 32u, 48u, 64u}) {
        answer a;
        REQUIRE(p.choose(job(n, 4), {}, a) == outcome::placed);
        REQUIRE(a.nodes.size() == n);
        CHECK(all_distinct(a));
        INFO(n << " nodes");
        CHECK(longest_hop(c, a) == 1);
    }
}

TEST_CASE("a box across the wrap-around is found") {
    const auto c = boards::grid_cluster(fabric_form::torus, {6, 6}, hops(true), {four()});
    auto p = chooser_for(c);
    // Only the four corners, which are neighbours round the ends, and four nodes apart from one another.
    for (std::uint32_t n = 0; n < 36; ++n) p.set_free(node_id(n), 0);
    for (const auto n : {0u, 5u, 30u, 35u, 8u, 16u, 19u, 27u}) p.set_free(node_id(n), 15);
    answer a;
    REQUIRE(p.choose(job(4, 4), {}, a) == outcome::placed);
    std::set<std::uint32_t> got;
    for (const auto& n : a.nodes) got.insert(n.node.value);
    CHECK(got == std::set<std::uint32_t>{0, 5, 30, 35});
    CHECK(longest_hop(c, a) == 1);
}

TEST_CASE("a torus with holes: nodes are distinct and free, and no job is refused that fits") {
    std::mt19937_64 random(4);
    const auto c = boards::grid_cluster(fabric_form::torus, {5, 4, 6}, hops(true), {four()}, 12.5);
    auto p = chooser_for(c);
    for (int round = 0; round < 300; ++round) {
        std::uint32_t free = 0;
        for (std::uint32_t n = 0; n < 120; ++n) {
            const bool on = random() % 10 < 5;
            p.set_free(node_id(n), on ? 15 : 0);
            free += on ? 1 : 0;
        }
        request r = job(2 + static_cast<std::uint32_t>(random() % 60), 4,
                        random() % 2 == 0 ? pattern::ring_allreduce : pattern::all_to_all);
        answer a;
        const outcome how = p.choose(r, {}, a);
        REQUIRE((how == outcome::placed) == (r.nodes <= free));
        if (how != outcome::placed) continue;
        REQUIRE(a.nodes.size() == r.nodes);
        CHECK(all_distinct(a));
        for (const auto& n : a.nodes) CHECK(p.free(n.node) == 15);
        answer again;
        again.nodes = a.nodes;
        p.predict(r, again);
        CHECK(again.predicted.step_us == a.predicted.step_us);
    }
}

TEST_CASE("a hypercube gives sub-cubes in any of its directions") {
    const auto c = boards::grid_cluster(fabric_form::hypercube, {2, 2, 2, 2, 2}, hops(true), {four()});
    auto p = chooser_for(c);
    // Free: the sub-cube of the first, third and fifth direction, and seven nodes elsewhere.
    for (std::uint32_t n = 0; n < 32; ++n) p.set_free(node_id(n), (n & 0b01010) == 0b01000 ? 15 : 0);
    for (const auto n : {0u, 3u, 5u, 6u, 18u, 23u, 30u}) p.set_free(node_id(n), 15);
    answer a;
    REQUIRE(p.choose(job(8, 4), {}, a) == outcome::placed);
    for (const auto& n : a.nodes) CHECK((n.node.value & 0b01010) == 0b01000);
    CHECK(longest_hop(c, a) == 1);
    const auto large =
        boards::grid_cluster(fabric_form::hypercube, std::vector<std::uint32_t>(10, 2), hops(true), {four()});
    auto q = chooser_for(large);
    for (const std::uint32_t n : {16u, 64u, 128u, 512u, 1024u}) {
        REQUIRE(q.choose(job(n, 4), {}, a) == outcome::placed);
        CHECK(longest_hop(large, a) == 1);
        CHECK(all_distinct(a));
    }
}

TEST_CASE("dragonfly: one group while it holds the job, even shares over groups where that is faster") {
    const auto c = boards::dragonfly(6, 4, 4, 40, four());
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(16, 4, pattern::all_to_all), {}, a) == outcome::placed);
    CHECK(by_group(c, a, 1).size() == 1);
    // 24 nodes: 16 + 8 share two groups' global links unequally and badly; all six share them best.
    REQUIRE(p.choose(job(24, 4, pattern::all_to_all), {}, a) == outcome::placed);
    const auto spread = by_group(c, a, 1);
    CHECK(spread.size() == 6);
    for (const auto& [group, count] : spread) CHECK(count == 4);
    CHECK(all_distinct(a));
    // A ring leaves every group once: the fewest groups, and the other ones stay whole.
    REQUIRE(p.choose(job(24, 4), {}, a) == outcome::placed);
    CHECK(by_group(c, a, 1).size() == 2);
    // Unequal free nodes: shares as even as they can be.
    for (std::uint32_t n = 2; n < 16; ++n) p.set_free(node_id(n), 0);
    REQUIRE(p.choose(job(32, 4, pattern::all_to_all), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 32);
    CHECK(all_distinct(a));
    // In segments, too.
    request r = job(24, 4, pattern::all_to_all);
    r.segment_nodes = 4;
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    for (const auto& [leaf, count] : by_group(c, a, 0)) CHECK(count % 4 == 0);
}

TEST_CASE("grids of ranks get equal shares of the leaves where the unequal ones are slower") {
    // Leaves of 6 with little bandwidth upwards; eight nodes are 6 + 2 or 4 + 4.
    const auto c = boards::cluster({four()}, {{6, 6, 6}, {}, 60, true});
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(8, 4, pattern::all_to_all), {}, a) == outcome::placed);
    std::multiset<std::uint32_t> shares;
    for (const auto& [leaf, count] : by_group(c, a, 0)) shares.insert(count);
    CHECK((shares == std::multiset<std::uint32_t>{2, 6} || shares == std::multiset<std::uint32_t>{4, 4}));
    answer packed;
    packed.nodes.clear();
    for (const auto n : {0u, 1u, 2u, 3u, 4u, 5u, 6u, 7u}) packed.nodes.push_back({node_id(n), 15});
    p.predict(job(8, 4, pattern::all_to_all), packed);
    CHECK(a.predicted.step_us <= packed.predicted.step_us * 1.02);
}

TEST_CASE("tree: a degraded node is avoided when that pays and used when it must be") {
    // Two leaves of four; the first has a node with slow NICs.
    const auto c =
        boards::cluster({four(), slow_nics()}, {{4, 4, 4}, {}, 0, true}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    auto p = chooser_for(c);
    answer a;
    const auto uses_slow = [&] {
        return std::any_of(a.nodes.begin(), a.nodes.end(), [](const auto& n) { return n.node.value == 0; });
    };
    REQUIRE(p.choose(job(3, 4), {}, a) == outcome::placed);
    CHECK(!uses_slow());
    // Four nodes of one leaf: another leaf has them without it.
    REQUIRE(p.choose(job(4, 4), {}, a) == outcome::placed);
    CHECK(!uses_slow());
    CHECK(by_group(c, a, 0).size() == 1);
    // No other leaf has four: two leaves are much faster than one with a quarter of the bandwidth.
    p.set_free(node_id(4), 0);
    p.set_free(node_id(8), 0);
    REQUIRE(p.choose(job(4, 4), {}, a) == outcome::placed);
    CHECK(!uses_slow());
    CHECK(by_group(c, a, 0).size() == 2);
    // It does not pay where the ways up are narrower than its NICs.
    const auto narrow =
        boards::cluster({four(), slow_nics()}, {{4, 4, 4}, {}, 10, true}, {1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0});
    auto q = chooser_for(narrow);
    q.set_free(node_id(4), 0);
    q.set_free(node_id(8), 0);
    REQUIRE(q.choose(job(4, 4), {}, a) == outcome::placed);
    CHECK(uses_slow());
    CHECK(by_group(narrow, a, 0).size() == 1);
    // And it is used when it must be.
    REQUIRE(p.choose(job(10, 4), {}, a) == outcome::placed);
    CHECK(uses_slow());
    CHECK(a.nodes.size() == 10);
}

TEST_CASE("torus: a degraded node is avoided when that pays and used when it must be") {
    std::vector<std::size_t> classes(36, 0);
    classes[0] = classes[7] = 1;
    const auto c = boards::grid_cluster(fabric_form::torus, {6, 6}, hops(), {four(), slow_nics()}, 0, classes);
    auto p = chooser_for(c);
    answer a;
    const auto slow_used = [&] {
        return std::count_if(a.nodes.begin(), a.nodes.end(),
                             [](const auto& n) { return n.node.value == 0 || n.node.value == 7; });
    };
    for (const std::uint32_t n : {2u, 4u, 9u, 16u, 24u, 34u}) {
        REQUIRE(p.choose(job(n, 4), {}, a) == outcome::placed);
        INFO(n << " nodes");
        CHECK(slow_used() == 0);
        CHECK(a.nodes.size() == n);
    }
    REQUIRE(p.choose(job(35, 4), {}, a) == outcome::placed);
    CHECK(slow_used() >= 1);
    REQUIRE(p.choose(job(36, 4), {}, a) == outcome::placed);
    CHECK(slow_used() == 2);
    // Where the way round it costs more than its NICs do, it is used: four nodes in a row, one of them slow, the next
    // free ones far away on links that lose bandwidth with every hop.
    const auto far = boards::grid_cluster(fabric_form::torus, {24}, hops(true), {four(), slow_nics()}, 0, classes);
    auto q = chooser_for(far);
    for (std::uint32_t n = 0; n < 24; ++n) q.set_free(node_id(n), n < 4 || n == 10 || n == 14 ? 15 : 0);
    REQUIRE(q.choose(job(4, 4), {}, a) == outcome::placed);
    CHECK(slow_used() == 1);
}

TEST_CASE("a deadline that has passed leaves the nested boxes of a torus") {
    const auto c = boards::grid_cluster(fabric_form::torus, {8, 8}, hops(), {four()});
    placement::placer_options options;
    options.now_us = []() noexcept -> std::uint64_t {
        static thread_local std::uint64_t ticks = 0;
        return ticks += 1000;
    };
    auto made = placer::make(c, options);
    REQUIRE(made);
    request r = job(10, 4);
    r.deadline_us = 1;
    answer a;
    REQUIRE(made->choose(r, {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 10);
    CHECK(all_distinct(a));
}

TEST_CASE("rail-optimised: parts of nodes take the same GPUs everywhere, so that every ring keeps to its rail") {
    const auto made = [](topo::fabric_form form) {
        topo::cluster_description d;
        d.name = "rails";
        d.fabric = boards::fabric_of({{4, 4}, {}, 0, true});
        d.fabric.form = form;
        d.classes = {four()};
        d.nodes = {{"four", {}}};
        for (std::size_t i = 0; i < 8; ++i) d.nodes[0].nodes.push_back(boards::node_name(i));
        auto built = topo::cluster::build(std::move(d));
        REQUIRE(built);
        return std::move(*built);
    };
    const auto c = made(fabric_form::rail_optimised);
    auto p = chooser_for(c);
    // Node by node the best two of three are others: 0,1 or 2,3; 1 and 2 are free on all of the first unit.
    for (const std::uint32_t n : {0u, 1u, 2u, 3u}) p.set_free(node_id(n), n % 2 == 0 ? 0b0111 : 0b1110);
    for (const std::uint32_t n : {4u, 5u, 6u, 7u}) p.set_free(node_id(n), 0);
    answer a;
    const auto alike = [&] {
        return std::all_of(a.nodes.begin(), a.nodes.end(), [&](const auto& n) { return n.gpus == a.nodes[0].gpus; });
    };
    REQUIRE(p.choose(job(4, 2), {}, a) == outcome::placed);
    CHECK(alike());
    CHECK(a.nodes[0].gpus == 0b0110);
    // Two that have the same pair are taken rather than the first two.
    for (const std::uint32_t n : {0u, 1u, 2u, 3u}) p.set_free(node_id(n), n == 0 || n == 3 ? 0b0011 : 0b1100);
    REQUIRE(p.choose(job(2, 2), {}, a) == outcome::placed);
    CHECK(alike());
    // Where no two have the same they are taken as they are: the job is not refused, and its time has the longer way.
    for (const std::uint32_t n : {1u, 2u}) p.set_free(node_id(n), 0);
    p.set_free(node_id(3), 0b1100);
    REQUIRE(p.choose(job(2, 2), {}, a) == outcome::placed);
    CHECK(!alike());
    const auto tree = made(fabric_form::tree);
    answer plain;
    plain.nodes = a.nodes;
    chooser_for(tree).predict(job(2, 2), plain);
    CHECK(a.predicted.latency_us > plain.predicted.latency_us);
    CHECK(a.predicted.slowest_level == 2);
}

// SPDX-License-Identifier: Apache-2.0
// Ranks of whole jobs on clusters: mapped only when the step gets faster, and stable when a node is replaced.
#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "boards.hpp"
#include "placement/placer.hpp"
#include "placement/rank_map/keep_ranks.hpp"
#include "placement/traffic_matrix.hpp"

using placement::outcome;
using placement::pattern;
using placement::placer;

namespace {

topo::cluster leaves(std::vector<std::size_t> sizes, double uplink = 0) {
    boards::tree t;
    t.leaves = std::move(sizes);
    t.spine_uplink = uplink;
    return boards::cluster({boards::with_nics(boards::switched("board", 8))}, t);
}

placement::answer placed(const topo::cluster& c, const placement::request& r) {
    const auto p = placer::make(c);
    REQUIRE(p);
    placement::answer a;
    REQUIRE(p->choose(r, {}, a) == outcome::placed);
    REQUIRE(p->predict_ranks(r, a.ranks).step_us == doctest::Approx(a.predicted.step_us).epsilon(1e-12));
    std::set<std::pair<std::uint32_t, int>> gpus;
    for (const auto& at : a.ranks) REQUIRE(gpus.insert({at.node.value, at.gpu}).second);
    for (const auto& share : a.nodes)
        for (int g = 0; g < 64; ++g) REQUIRE(gpus.count({share.node.value, g}) == (share.gpus >> g & 1));
    return a;
}

placement::request job(std::uint32_t nodes, pattern talks) {
    placement::request r;
    r.nodes = nodes;
    r.gpus_per_node = 8;
    r.talks = talks;
    return r;
}

}  // namespace

TEST_CASE("a halo exchange runs in cubes, and faster than rank after rank") {
    const auto c = leaves({8, 8, 8, 8}, 200);
    placement::request r = job(32, pattern::halo_exchange);
    r.halo.extent = {8, 8, 4};
    const auto mapped = placed(c, r);
    r.map_ranks = false;
    const auto in_order = placed(c, r);
    CHECK(mapped.mapped_ranks);
    CHECK_FALSE(in_order.mapped_ranks);
    CHECK(mapped.predicted.step_us < 0.95 * in_order.predicted.step_us);
    // A node holds a 2 × 2 × 2 block.
    std::array<std::uint32_t, 3> low{9, 9, 9}, high{0, 0, 0};
    for (std::uint32_t rank = 0; rank < mapped.ranks.size(); ++rank) {
        if (mapped.ranks[rank].node != mapped.ranks[0].node) continue;
        const std::array at{rank % 8, rank / 8 % 8, rank / 64};
        for (std::size_t d = 0; d < 3; ++d) {
            low[d] = std::min(low[d], at[d]);
            high[d] = std::max(high[d], at[d]);
        }
    }
    for (std::size_t d = 0; d < 3; ++d) CHECK(high[d] - low[d] == 1);
}

TEST_CASE("patterns that treat all ranks alike keep them node by node") {
    const auto c = leaves({4, 4});
    for (const auto p : {pattern::ring_allreduce, pattern::allreduce, pattern::all_to_all, pattern::expert_parallel}) {
        const auto a = placed(c, job(8, p));
        CHECK_FALSE(a.mapped_ranks);
        for (std::size_t r = 0; r < a.ranks.size(); ++r) CHECK(a.ranks[r].node == a.nodes[r / 8].node);
    }
}

TEST_CASE("mapped ranks are never slower, on any free state, and predict() gives the same again") {
    std::mt19937 random(4);
    boards::tree t;
    t.leaves = {5, 3, 8, 1, 6, 4};
    t.leaves_of_spine = {3, 3};
    t.spine_uplink = 150;
    const auto c = boards::cluster({boards::with_nics(boards::paired(8, {{0, 2}, {1, 3}, {4, 6}, {5, 7}})),
                                    boards::with_nics(boards::switched("flat", 8))},
                                   t, [] {
                                       std::vector<std::size_t> kinds(27, 0);
                                       for (std::size_t i = 9; i < 20; ++i) kinds[i] = 1;
                                       return kinds;
                                   }());
    auto p = placer::make(c);
    REQUIRE(p);
    int mapped = 0, seen = 0;
    for (int i = 0; i < 300; ++i) {
        CAPTURE(i);
        for (std::uint32_t n = 0; n < 27; ++n)
            p->set_free(topo::node_id(n), random() % 4 == 0 ? 0 : random() % 3 == 0 ? random() % 256 : 255);
        placement::request r = job(0, pattern::composite);
        r.gpus_total = 8u << (random() % 4);
        if (random() % 3 == 0) r.gpus_total = 12 + random() % 60;
        r.message_bytes = 1e6;
        r.parallel.tp = 1u << (random() % 4);
        r.parallel.pp = 1u << (random() % 3);
        r.parallel.layers = 8;
        r.parallel.dp_bytes = random() % 2 == 0 ? 1e9 : 1e6;
        if (random() % 3 == 0) r.talks = pattern::halo_exchange;
        placement::answer with, without;
        const auto how = p->choose(r, {}, with);
        r.map_ranks = false;
        REQUIRE(p->choose(r, {}, without) == how);
        if (how != outcome::placed) continue;
        ++seen;
        mapped += with.mapped_ranks ? 1 : 0;
        // Another set of nodes is taken instead only within λ.
        const bool same = std::equal(with.nodes.begin(), with.nodes.end(), without.nodes.begin(), without.nodes.end(),
                                     [](const auto& a, const auto& b) { return a.node == b.node && a.gpus == b.gpus; });
        CHECK(with.predicted.step_us <= without.predicted.step_us * (same ? 1 + 1e-9 : 1.02));
        r.map_ranks = true;
        placement::answer again = with;
        p->predict(r, again);
        CHECK(again.predicted.step_us == with.predicted.step_us);
        REQUIRE(again.ranks.size() == with.ranks.size());
    }
    CHECK(seen > 150);
    CHECK(mapped > 20);
    MESSAGE(mapped << " of " << seen << " jobs run faster with mapped ranks");
}

TEST_CASE("a traffic matrix of far pairs brings each pair together") {
    const auto c = leaves({2, 2});
    std::vector<placement::traffic_entry> entries;
    for (std::uint32_t r = 0; r < 16; ++r) entries.push_back({r, r + 16, 1e8});
    const auto traffic = placement::traffic_matrix::from_entries(32, entries);
    REQUIRE(traffic);
    placement::request r = job(4, pattern::traffic_matrix);
    r.traffic = &*traffic;
    const auto a = placed(c, r);
    CHECK(a.mapped_ranks);
    for (std::uint32_t rank = 0; rank < 16; ++rank) CHECK(a.ranks[rank].node == a.ranks[rank + 16].node);
}

TEST_CASE("when a node is replaced only its ranks move, and together") {
    const auto c = leaves({8, 8, 8});
    placement::request r = job(8, pattern::halo_exchange);
    const auto before = placed(c, r);
    const placement::fabric_index net(c);
    std::vector<placement::rank_place> places;
    const auto gone = before.nodes[3].node;
    const topo::node_id far(20);
    REQUIRE(std::none_of(before.nodes.begin(), before.nodes.end(), [&](const auto& n) { return n.node == far; }));
    for (const auto& at : before.ranks) {
        places.push_back(at);
        if (at.node == gone) places.back().node = far;
    }
    std::vector<placement::rank_place> now;
    REQUIRE(placement::keep_ranks(net, before.ranks, places, now));
    for (std::size_t i = 0; i < now.size(); ++i) {
        CHECK(now[i].node == (before.ranks[i].node == gone ? far : before.ranks[i].node));
        if (before.ranks[i].node != gone) CHECK(now[i].gpu == before.ranks[i].gpu);
    }
    places.pop_back();
    CHECK_FALSE(placement::keep_ranks(net, before.ranks, places, now));
    CHECK(now.empty());
}

TEST_CASE("two nodes are replaced by the ones nearest to each, also by two halves") {
    const auto c = leaves({4, 4});
    const placement::fabric_index net(c);
    const auto on = [](std::uint32_t node, std::uint8_t gpu) {
        return placement::rank_place{topo::node_id(node), gpu};
    };
    std::vector<placement::rank_place> before, places, now;
    for (std::uint8_t g = 0; g < 8; ++g) before.push_back(on(0, g));  // leaf 0
    for (std::uint8_t g = 0; g < 8; ++g) before.push_back(on(4, g));  // leaf 1
    for (std::uint8_t g = 0; g < 8; ++g) places.push_back(on(5, g));  // leaf 1
    for (std::uint8_t g = 0; g < 4; ++g) places.push_back(on(1, g));  // leaf 0, two halves
    for (std::uint8_t g = 4; g < 8; ++g) places.push_back(on(2, g));
    REQUIRE(placement::keep_ranks(net, before, places, now));
    for (std::size_t r = 0; r < 8; ++r) CHECK(now[r].node.value == (r < 4 ? 1u : 2u));
    for (std::size_t r = 8; r < 16; ++r) CHECK(now[r].node.value == 5u);
}

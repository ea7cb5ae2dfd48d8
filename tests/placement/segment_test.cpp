// SPDX-License-Identifier: Apache-2.0
// Hard segments, nodes kept back, and ranges of nodes.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <random>

#include "boards.hpp"
#include "placement/placer.hpp"

using placement::answer;
using placement::outcome;
using placement::placer;
using placement::request;
using topo::node_id;

namespace {

placer chooser_for(const topo::cluster& c) {
    auto made = placer::make(c);
    REQUIRE(made);
    return std::move(*made);
}

request job(std::uint32_t nodes, std::uint32_t gpus, std::uint32_t segment = 0, std::uint32_t most = 0) {
    request r;
    r.nodes = nodes;
    r.gpus_per_node = gpus;
    r.segment_nodes = segment;
    r.max_nodes = most;
    return r;
}

// Nodes of the answer under each leaf.
std::map<std::uint32_t, std::uint32_t> by_leaf(const topo::cluster& c, const answer& a) {
    std::map<std::uint32_t, std::uint32_t> out;
    for (const auto& n : a.nodes) ++out[c.network().group_of(n.node, 0).value];
    return out;
}

topo::cluster racks(std::vector<std::size_t> leaves, std::uint32_t spare) {
    topo::cluster_description d;
    d.name = "racks";
    d.fabric = boards::fabric_of({leaves, {}, 0, true});
    d.fabric.level_costs = {boards::cost(2, 400), boards::cost(4, 50)};
    d.fabric.spare_nodes = spare;
    d.classes = {boards::switched("tray", 4)};
    d.nodes = {{"tray", {}}};
    for (const auto& leaf : d.fabric.switches)
        d.nodes[0].nodes.insert(d.nodes[0].nodes.end(), leaf.nodes.begin(), leaf.nodes.end());
    auto built = topo::cluster::build(std::move(d));
    REQUIRE(built);
    return std::move(*built);
}

void take(placer& p, std::uint32_t first, std::uint32_t last) {
    for (std::uint32_t n = first; n <= last; ++n) p.set_free(node_id(n), 0);
}

}  // namespace

TEST_CASE("segments are whole inside a leaf, and several may share one") {
    const auto c = racks({18, 18, 18}, 0);
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(16, 4, 8), {}, a) == outcome::placed);
    CHECK(by_leaf(c, a).size() == 1);
    take(p, 0, 9);    // 8 left in the first rack,
    take(p, 18, 28);  // 7 in the second, 18 in the third
    REQUIRE(p.choose(job(24, 4, 8), {}, a) == outcome::placed);
    CHECK(by_leaf(c, a) == std::map<std::uint32_t, std::uint32_t>{{0, 8}, {2, 16}});
    // Without segments the same job would have taken the larger rack whole.
    REQUIRE(p.choose(job(24, 4), {}, a) == outcome::placed);
    CHECK(by_leaf(c, a) == std::map<std::uint32_t, std::uint32_t>{{1, 6}, {2, 18}});
    // 33 nodes are free, but only three segments of 8.
    CHECK(p.choose(job(32, 4, 8), {}, a) == outcome::no_segments);
    CHECK(a.nodes.empty());
    CHECK(p.choose(job(32, 4), {}, a) == outcome::placed);
    CHECK(p.choose(job(40, 4, 8), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(job(20, 4, 8), {}, a) == outcome::bad_request);
    CHECK(!placement::fault_of(job(20, 4, 8), 80).empty());
    CHECK(placement::text_of(outcome::no_segments).find("segments") != std::string_view::npos);
    // Larger than any rack.
    CHECK(p.choose(job(19, 4, 19), {}, a) == outcome::no_segments);
}

TEST_CASE("a job by total comes in segments, too, with equal shares") {
    const auto c = racks({18, 18}, 0);
    auto p = chooser_for(c);
    take(p, 0, 7);
    take(p, 18, 24);
    answer a;
    request r;
    r.nodes = 0;
    r.gpus_total = 64;
    r.segment_nodes = 4;
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 16);
    for (const auto& [leaf, count] : by_leaf(c, a)) CHECK(count % 4 == 0);
    r.segment_nodes = 16;
    CHECK(p.choose(r, {}, a) == outcome::no_segments);
    r.gpus_total = 4000000000u;
    CHECK(p.choose(r, {}, a) == outcome::too_few_gpus);
}

TEST_CASE("random: a segmented job is placed if and only if the leaves hold the segments") {
    std::mt19937_64 random(5);
    std::size_t placed = 0, none = 0;
    for (int round = 0; round < 2000; ++round) {
        const bool joined = random() % 3 != 0;
        const auto c = boards::cluster({boards::switched("h", 2)}, {{5, 7, 4, 8, 6}, {2, 3}, 0, joined});
        auto p = chooser_for(c);
        std::vector<std::uint32_t> whole(5, 0);
        for (std::uint32_t n = 0; n < 30; ++n) {
            const bool on = random() % 10 < 7;
            p.set_free(node_id(n), on ? 3 : random() % 3);
            if (on) ++whole[c.network().group_of(node_id(n), 0).value];
        }
        request r = job(0, 2, 1 + static_cast<std::uint32_t>(random() % 5));
        r.nodes = r.segment_nodes * (1 + static_cast<std::uint32_t>(random() % 5));
        const auto held = [&](std::size_t from, std::size_t to) {
            std::uint32_t n = 0;
            for (std::size_t l = from; l < to; ++l) n += whole[l] / r.segment_nodes * r.segment_nodes;
            return n;
        };
        const bool fits = joined ? held(0, 5) >= r.nodes : held(0, 2) >= r.nodes || held(2, 5) >= r.nodes;
        answer a;
        const outcome how = p.choose(r, {}, a);
        INFO("round " << round << ": " << placement::text_of(how));
        REQUIRE((how == outcome::placed) == (r.nodes == 1 || fits));
        if (how != outcome::placed) {
            ++none;
            continue;
        }
        ++placed;
        REQUIRE(a.nodes.size() == r.nodes);
        for (std::size_t i = 0; i < a.nodes.size(); ++i)
            CHECK(c.network().group_of(a.nodes[i].node, 0) ==
                  c.network().group_of(a.nodes[i / r.segment_nodes * r.segment_nodes].node, 0));
    }
    CHECK(placed > 500);
    CHECK(none > 300);
}

TEST_CASE("16 + 2: spare trays are kept while the job is no slower without them") {
    const auto c = racks({18, 18, 18}, 2);
    auto p = chooser_for(c);
    answer a;
    // One rack holds sixteen; the two spares stay.
    REQUIRE(p.choose(job(16, 4), {}, a) == outcome::placed);
    CHECK(by_leaf(c, a) == std::map<std::uint32_t, std::uint32_t>{{0, 16}});
    for (const auto& n : a.nodes) p.set_free(n.node, 0);
    // Small jobs go elsewhere rather than on the spares of the broken rack, until nothing else is left.
    REQUIRE(p.choose(job(1, 4), {}, a) == outcome::placed);
    CHECK(by_leaf(c, a).begin()->first == 1);
    REQUIRE(p.choose(job(2, 4), {}, a) == outcome::placed);
    CHECK(by_leaf(c, a).begin()->first == 1);
    take(p, 18, 33);
    take(p, 36, 51);
    REQUIRE(p.choose(job(1, 4), {}, a) == outcome::placed);
    REQUIRE(p.choose(job(6, 4), {}, a) == outcome::placed);
    // A job that would be slower over two racks may use them; one that has a rack's worth of others may not.
    auto q = chooser_for(c);
    REQUIRE(q.choose(job(17, 4), {}, a) == outcome::placed);
    CHECK(by_leaf(c, a).size() == 1);
    // A tray is down: a spare serves in its place.
    q.set_free(node_id(3), 0);
    take(q, 18, 53);
    REQUIRE(q.choose(job(16, 4), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 16);
}

TEST_CASE("a range of nodes gets the most that fit, and that the pattern can use") {
    const auto c = boards::cluster({boards::switched("h", 8)}, {{4, 4, 6}, {2, 1}, 0, false});
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(2, 8, 0, 5), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 5);
    REQUIRE(p.choose(job(2, 8, 0, 100), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 8);  // the two fabrics do not meet
    REQUIRE(p.choose(job(1, 8, 3, 100), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 6);
    auto layout = job(1, 8, 0, 7);
    layout.talks = placement::pattern::composite;
    layout.parallel.tp = 8;
    layout.parallel.pp = 4;
    REQUIRE(p.choose(layout, {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 4);
    layout.max_nodes = 3;
    CHECK(p.choose(layout, {}, a) == outcome::bad_request);
    CHECK(p.choose(job(3, 8, 0, 2), {}, a) == outcome::bad_request);
    CHECK(p.choose(job(9, 8, 0, 12), {}, a) == outcome::unreachable);
    CHECK(p.choose(job(15, 8, 0, 4000000000u), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(job(1, 9, 0, 4), {}, a) == outcome::too_few_gpus);
    REQUIRE(p.choose(job(4, 8, 0, 4), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 4);
    take(p, 1, 13);
    REQUIRE(p.choose(job(1, 8, 0, 4), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 1);
}

// SPDX-License-Identifier: Apache-2.0
// Explanations: what held a job back, what the other choices cost, and a placer that is as it was before.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "boards.hpp"
#include "placement/explain.hpp"

using placement::bound;
using placement::option_kind;
using placement::outcome;
using placement::placer;

namespace {

placement::request job(std::uint32_t nodes, std::uint32_t gpus) {
    placement::request r;
    r.nodes = nodes;
    r.gpus_per_node = gpus;
    return r;
}

const placement::explained_option* find(const placement::explanation& why, option_kind k) {
    for (const auto& o : why.options)
        if (o.kind == k) return &o;
    return nullptr;
}

boards::tree one_leaf(std::size_t nodes) {
    boards::tree t;
    t.leaves = {nodes};
    return t;
}

topo::cluster pairs() {
    return boards::cluster({boards::with_nics(boards::paired(8, {{0, 2}, {1, 3}, {4, 6}, {5, 7}}))}, one_leaf(1));
}

}  // namespace

TEST_CASE("with everything free nothing holds a job back") {
    const auto c = pairs();
    auto p = placer::make(c);
    REQUIRE(p);
    const auto why = placement::explain(*p, c, job(1, 2), {});
    REQUIRE(why.how == outcome::placed);
    CHECK(why.held_back_by == bound::nothing);
    CHECK(why.gpus_free == 8);
    CHECK(why.nodes_enough == 1);
    REQUIRE(find(why, option_kind::by_index) != nullptr);
    CHECK(find(why, option_kind::by_index)->nodes[0].gpus == 0b11);
    CHECK(find(why, option_kind::by_index)->predicted.step_us > 2 * why.got.predicted.step_us);
    CHECK(find(why, option_kind::all_free)->predicted.step_us == why.got.predicted.step_us);
    REQUIRE(why.accounts.size() == 1);
    CHECK(why.accounts[0].best_if_free == why.accounts[0].taken.gpus);
    CHECK(why.accounts[0].instead != 0);
}

TEST_CASE("busy GPUs: every pair is broken") {
    const auto c = pairs();
    auto p = placer::make(c);
    REQUIRE(p);
    p->set_free(topo::node_id(0), boards::mask({0, 1, 4, 5}));
    const auto why = placement::explain(*p, c, job(1, 2), {});
    REQUIRE(why.how == outcome::placed);
    CHECK(why.held_back_by == bound::busy_gpus);
    CHECK(p->free(topo::node_id(0)) == boards::mask({0, 1, 4, 5}));
    CHECK(why.accounts[0].best_if_free == boards::mask({0, 2}));
    CHECK(why.accounts[0].free == boards::mask({0, 1, 4, 5}));
}

TEST_CASE("busy leaves: the job spans two where one would do") {
    boards::tree t;
    t.leaves = {4, 4};
    t.spine_uplink = 60;
    const auto c = boards::cluster({boards::with_nics(boards::switched("board", 8))}, t);
    auto p = placer::make(c);
    REQUIRE(p);
    for (const std::uint32_t busy : {0u, 5u}) p->set_free(topo::node_id(busy), 0);
    const auto why = placement::explain(*p, c, job(4, 8), {});
    REQUIRE(why.how == outcome::placed);
    CHECK(why.held_back_by == bound::busy_groups);
    CHECK(why.options[0].groups == 2);
    CHECK(find(why, option_kind::all_free)->groups == 1);
    REQUIRE(why.levels.size() == 2);
    CHECK(why.levels[0].most_nodes == 3);
    CHECK(why.levels[0].taken == 2);
    CHECK(why.levels[1].taken == 1);
}

TEST_CASE("slow nodes: the fast ones are busy") {
    auto slow = boards::with_nics(boards::switched("slow", 8, 100));
    const auto c = boards::cluster({boards::with_nics(boards::switched("fast", 8)), slow}, one_leaf(4), {0, 0, 1, 1});
    auto p = placer::make(c);
    REQUIRE(p);
    for (const std::uint32_t busy : {0u, 1u}) p->set_free(topo::node_id(busy), 0);
    const auto why = placement::explain(*p, c, job(1, 8), {});
    REQUIRE(why.how == outcome::placed);
    CHECK(why.held_back_by == bound::slow_nodes);
}

TEST_CASE("what does not fit says how much there is") {
    const auto c = pairs();
    auto p = placer::make(c);
    REQUIRE(p);
    p->set_free(topo::node_id(0), boards::mask({0, 1}));
    auto why = placement::explain(*p, c, job(1, 4), {});
    CHECK(why.how == outcome::too_few_gpus);
    CHECK(why.held_back_by == bound::no_room);
    CHECK(why.options.empty());
    CHECK(why.gpus_free == 2);
    CHECK(why.most_free == 2);
    CHECK(why.nodes_enough == 0);
    why = placement::explain(*p, c, job(0, 4), {});
    CHECK(why.held_back_by == bound::request_fault);
    boards::tree apart;
    apart.leaves = {2, 2};
    apart.leaves_of_spine = {0};
    const auto islands = boards::cluster({boards::with_nics(boards::switched("board", 8))}, apart);
    auto q = placer::make(islands);
    REQUIRE(q);
    why = placement::explain(*q, islands, job(4, 8), {});
    CHECK(why.how == outcome::unreachable);
    CHECK(why.held_back_by == bound::no_connection);
}

TEST_CASE("an empty cluster explains nothing and does not fall") {
    topo::cluster_description d;
    d.name = "none";
    auto c = topo::cluster::build(std::move(d));
    if (!c) return;
    auto p = placer::make(*c);
    REQUIRE(p);
    CHECK(placement::explain(*p, *c, job(1, 1), {}).how != outcome::placed);
}

TEST_CASE("random states: every option is what predict() says, free, allowed, and the placer is untouched") {
    boards::tree t;
    t.leaves = {5, 3, 8};
    t.leaves_of_spine = {2, 1};
    t.spine_uplink = 150;
    const auto c = boards::cluster({boards::with_nics(boards::paired(8, {{0, 2}, {1, 3}, {4, 6}, {5, 7}}))}, t);
    auto p = placer::make(c);
    REQUIRE(p);
    std::mt19937 random(8);
    int placed = 0;
    for (int i = 0; i < 300; ++i) {
        CAPTURE(i);
        std::vector<topo::gpu_mask> free;
        for (std::uint32_t n = 0; n < 16; ++n) {
            free.push_back(random() % 3 == 0 ? random() % 256 : random() % 2 == 0 ? 255 : 0);
            p->set_free(topo::node_id(n), free.back());
        }
        auto r = job(1 + random() % 5, 1 + random() % 8);
        if (random() % 3 == 0) {
            r.gpus_total = r.nodes * r.gpus_per_node;
            r.nodes = 0;
        }
        if (random() % 3 == 0) r.talks = placement::pattern::halo_exchange;
        const std::uint64_t allowed = random() & 0xffff;
        const std::uint64_t words[1] = {random() % 2 == 0 ? 0xffff : allowed};
        const auto why = placement::explain(*p, c, r, words);
        for (std::uint32_t n = 0; n < 16; ++n) CHECK(p->free(topo::node_id(n)) == free[n]);
        if (why.how != outcome::placed) continue;
        ++placed;
        for (const auto& o : why.options) {
            CAPTURE(placement::name_of(o.kind));
            std::uint32_t gpus = 0;
            for (const auto& s : o.nodes) {
                gpus += topo::count(s.gpus);
                CHECK((words[0] >> s.node.value & 1) == 1);
                if (o.kind != option_kind::all_free) CHECK((s.gpus & ~free[s.node.value]) == 0);
            }
            CHECK(gpus == why.got.ranks.size());
            placement::answer again;
            again.nodes = o.nodes;
            auto as = r;
            as.map_ranks = o.kind != option_kind::in_order && o.kind != option_kind::by_index;
            p->predict(as, again);
            CHECK(again.predicted.step_us == doctest::Approx(o.predicted.step_us).epsilon(1e-9));
        }
        // Never slower than counting, but for the little that an island may cost.
        const auto* plain = find(why, option_kind::by_index);
        if (plain != nullptr && r.nodes != 0)
            CHECK(why.got.predicted.step_us <= plain->predicted.step_us * 1.05 + 1e-9);
    }
    CHECK(placed > 100);
}

// SPDX-License-Identifier: GPL-2.0-or-later
// Choosing through the C ABI.
#include <doctest/doctest.h>

#include <bit>
#include <set>

#include "tests/plugin/glue_fixture.hpp"

using namespace glue_test;

namespace {

struct ready : world {
    explicit ready(int nodes, int per_leaf = 2) {
        table(nodes);
        write("atoll.yaml", "cluster_file: cluster.yaml\n");
        write_cluster(bridge_cluster(nodes, per_leaf));
        REQUIRE(load() == 1);
        free_all();
    }
    void set_free(std::uint32_t node, std::uint64_t gpus) {
        auto s = whole_node();
        s.free_gpus = gpus;
        if (gpus != 0xff) s.flags &= ~std::uint32_t{ATOLL_NODE_IDLE};
        atoll_glue_set_node(glue, node, &s);
    }
    atoll_choice choose(const atoll_wish& w, atoll_verdict expected = ATOLL_CHOSEN) {
        atoll_choice c{};
        CHECK(atoll_glue_choose(glue, &w, &c) == expected);
        return c;
    }
};

std::set<std::uint32_t> nodes_of(const atoll_choice& c) {
    std::set<std::uint32_t> out;
    for (std::uint32_t i = 0; i < c.nodes; ++i) out.insert(c.shares[i].node);
    return out;
}

}  // namespace

TEST_CASE("crossed bridges: pairs are kept whole") {
    ready r(1);
    auto c = r.choose(r.wish(1, 1));
    REQUIRE(c.nodes == 1);
    const std::uint64_t first = c.shares[0].gpus;
    CHECK(std::popcount(first) == 1);
    r.set_free(0, 0xff & ~first);
    c = r.choose(r.wish(1, 1));
    const unsigned a = static_cast<unsigned>(std::countr_zero(first));
    CHECK(c.shares[0].gpus == std::uint64_t{1} << (a ^ 2));  // the other end of the broken bridge
    r.set_free(0, 0xff);
    c = r.choose(r.wish(1, 4));
    CHECK((c.shares[0].gpus == 0x0f || c.shares[0].gpus == 0xf0));
    c = r.choose(r.wish(1, 2));
    const unsigned low = static_cast<unsigned>(std::countr_zero(c.shares[0].gpus));
    CHECK(c.shares[0].gpus == (std::uint64_t{1} << low | std::uint64_t{1} << (low ^ 2)));
}

TEST_CASE("whole nodes stay under one leaf, ascending by Slurm's index") {
    ready r(8, 4);
    r.set_free(0, 0x0f);
    const auto c = r.choose(r.wish(4, 8));
    CHECK(nodes_of(c) == std::set<std::uint32_t>{4, 5, 6, 7});
    for (std::uint32_t i = 1; i < c.nodes; ++i) CHECK(c.shares[i - 1].node < c.shares[i].node);
    for (std::uint32_t i = 0; i < c.nodes; ++i) CHECK(c.shares[i].gpus == 0xff);
    CHECK(c.step_us > 0);
}

TEST_CASE("only allowed nodes, in bitmaps that end within a word") {
    ready r(70, 10);
    auto w = r.wish(3, 8);
    std::vector<std::uint64_t> some{1ull << 3 | 1ull << 63, 1ull << 5 | ~0ull << 6};
    w.allowed = some.data();
    CHECK(nodes_of(r.choose(w)) == std::set<std::uint32_t>{3, 63, 69});
    w = r.wish(4, 8);
    w.allowed = some.data();
    (void)r.choose(w, ATOLL_NO_FIT);
}

TEST_CASE("CPUs, memory, flags and type limit the nodes") {
    ready r(4, 4);
    auto s = world::whole_node();
    s.free_cpus = 3;
    atoll_glue_set_node(r.glue, 0, &s);
    s = world::whole_node();
    s.free_memory = 10;
    atoll_glue_set_node(r.glue, 1, &s);
    s = world::whole_node();
    s.flags = ATOLL_NODE_OPEN;
    s.type = 7;
    atoll_glue_set_node(r.glue, 2, &s);
    auto w = r.wish(1, 1);
    w.cpus_per_node = 4;
    w.memory_per_node = 11;
    w.flags |= ATOLL_NODE_IDLE;
    CHECK(nodes_of(r.choose(w)) == std::set<std::uint32_t>{3});
    w = r.wish(1, 1);
    w.type = 7;
    CHECK(nodes_of(r.choose(w)) == std::set<std::uint32_t>{2});
    w.type = 8;
    (void)r.choose(w, ATOLL_NO_FIT);
    w = r.wish(1, 2);
    w.cpus_per_gpu = 20;
    (void)r.choose(w, ATOLL_NO_FIT);
}

TEST_CASE("a node that is closed, differs or is full is never chosen") {
    ready r(3, 3);
    auto s = world::whole_node();
    s.flags = ATOLL_NODE_IDLE;
    atoll_glue_set_node(r.glue, 0, &s);
    s = world::whole_node();
    s.gpus = 7;  // a GPU fell off the bus, or MIG was switched on
    atoll_glue_set_node(r.glue, 1, &s);
    CHECK(nodes_of(r.choose(r.wish(1, 8))) == std::set<std::uint32_t>{2});
    r.set_free(2, 0);
    (void)r.choose(r.wish(1, 1), ATOLL_NO_FIT);
    atoll_counters c{};
    atoll_glue_counters(r.glue, &c);
    CHECK(c.nodes_differing == 1);
    s.gpus = 8;
    atoll_glue_set_node(r.glue, 1, &s);
    atoll_glue_counters(r.glue, &c);
    CHECK(c.nodes_differing == 0);
}

TEST_CASE("lighter nodes go first, heavier ones only when needed") {
    ready r(4, 4);
    for (std::uint32_t n = 0; n < 4; ++n) {
        auto s = world::whole_node();
        s.weight = n < 2 ? 50 : n == 2 ? 5 : 10;
        atoll_glue_set_node(r.glue, n, &s);
    }
    CHECK(nodes_of(r.choose(r.wish(1, 8))) == std::set<std::uint32_t>{2});
    CHECK(nodes_of(r.choose(r.wish(2, 8))) == std::set<std::uint32_t>{2, 3});
    CHECK(r.choose(r.wish(4, 8)).nodes == 4);
    for (std::uint32_t n = 0; n < 4; ++n) {
        auto s = world::whole_node();
        s.weight = 1 + n;
        atoll_glue_set_node(r.glue, n, &s);
    }
    CHECK(nodes_of(r.choose(r.wish(3, 8))) == std::set<std::uint32_t>{0, 1, 2});
}

TEST_CASE("GPUs in total take one node when one suffices, else the fewest") {
    ready r(4, 4);
    auto w = r.wish(1, 0);
    w.max_nodes = 4;
    w.gpus_total = 4;
    CHECK(r.choose(w).nodes == 1);
    for (std::uint32_t n = 0; n < 4; ++n) r.set_free(n, 0x05);
    const auto c = r.choose(w);
    CHECK(c.nodes == 2);
    CHECK(c.gpus_per_node == 2);
}

TEST_CASE("may it ever run? any nodes with the hardware, busy or not") {
    ready r(4, 4);
    for (std::uint32_t n = 0; n < 4; ++n) r.set_free(n, 0);
    auto w = r.wish(3, 8);
    (void)r.choose(w, ATOLL_NO_FIT);
    w.ignore_state = 1;
    CHECK(r.choose(w).nodes == 3);
    w = r.wish(5, 8);
    w.ignore_state = 1;
    (void)r.choose(w, ATOLL_NO_FIT);
}

TEST_CASE("sockets near the GPUs, or 0 when Slurm divides the node in another way") {
    ready r(2);
    CHECK(atoll_glue_sockets(r.glue, 0, 0x01) == 1);
    CHECK(atoll_glue_sockets(r.glue, 0, 0x80) == 2);
    CHECK(atoll_glue_sockets(r.glue, 0, 0x18) == 3);
    CHECK(atoll_glue_sockets(r.glue, 9, 0x01) == 0);
    std::vector<atoll_node_info> one{{"g1", 1, 32}, {"g2", 4, 32}};
    REQUIRE(atoll_glue_load(r.glue, r.path("atoll.yaml").c_str(), one.data(), 2) == 1);
    CHECK(atoll_glue_sockets(r.glue, 0, 0x01) == 0);
    CHECK(atoll_glue_sockets(r.glue, 1, 0x01) == 0);
}

TEST_CASE("dirty nodes come once; marks beyond the table are ignored") {
    ready r(70, 10);
    std::uint32_t node = 0;
    CHECK(atoll_glue_next_dirty(r.glue, &node) == 0);
    const std::uint64_t words[2] = {1ull << 63, ~0ull};
    atoll_glue_mark(r.glue, words, 66);
    atoll_glue_mark_node(r.glue, 2);
    std::set<std::uint32_t> seen;
    while (atoll_glue_next_dirty(r.glue, &node) != 0) CHECK(seen.insert(node).second);
    CHECK(seen == std::set<std::uint32_t>{2, 63, 64, 65});
    atoll_glue_mark_all(r.glue);
    int all = 0;
    while (atoll_glue_next_dirty(r.glue, &node) != 0) ++all;
    CHECK(all == 70);
    std::set<std::uint32_t> audited;
    for (int i = 0; i < 70; ++i) {
        REQUIRE(atoll_glue_next_audit(r.glue, &node) == 1);
        audited.insert(node);
    }
    CHECK(audited.size() == 70);
}

TEST_CASE("after loading, choosing and bookkeeping allocate nothing") {
    ready r(200, 20);
    auto whole = r.wish(32, 8);
    auto part = r.wish(3, 4);
    auto total = r.wish(1, 0);
    total.gpus_total = 64;
    total.max_nodes = 200;
    atoll_choice c{};
    (void)atoll_glue_choose(r.glue, &whole, &c);
    auto s = world::whole_node();
    const std::uint64_t before = allocations_so_far();
    for (std::uint32_t i = 0; i < 200; ++i) {
        s.free_gpus = 0xff >> (i % 4);
        s.weight = 1 + i % 3;
        atoll_glue_set_node(r.glue, i, &s);
        (void)atoll_glue_choose(r.glue, &whole, &c);
        (void)atoll_glue_choose(r.glue, &part, &c);
        (void)atoll_glue_choose(r.glue, &total, &c);
        atoll_decision d{};
        d.step = ATOLL_STEP_FULL;
        d.own_ns = i;
        atoll_glue_decided(r.glue, &d, 0);
        atoll_glue_booked(r.glue, i);
        atoll_glue_mark_all(r.glue);
        std::uint32_t node = 0;
        while (atoll_glue_next_dirty(r.glue, &node) != 0) {
        }
    }
    CHECK(allocations_so_far() == before);
    CHECK(before > 0);  // the counter works
}

TEST_CASE("decisions are counted and summed up once") {
    ready r(2);
    r.log.clear();
    atoll_glue_summary(r.glue);
    CHECK(r.log.empty());
    atoll_decision d{};
    d.job_id = 42;
    d.nodes = "g[1-2]";
    d.started = 1;
    for (int step = 0; step < ATOLL_STEP_COUNT; ++step) {
        d.step = static_cast<atoll_step>(step);
        d.own_ns = 10000;
        d.total_ns = 1000000;
        d.reason = step == ATOLL_STEP_PASSED ? "asks contiguous nodes" : nullptr;
        atoll_glue_decided(r.glue, &d, 1);
    }
    d.step = ATOLL_STEP_COUNT;
    atoll_glue_decided(r.glue, &d, 1);
    CHECK(r.lines(ATOLL_LOG_DEBUG).find("JobId=42 placed on g[1-2]") != std::string::npos);
    CHECK(r.lines(ATOLL_LOG_DEBUG).find("left to Slurm: asks contiguous nodes") != std::string::npos);
    atoll_counters c{};
    atoll_glue_counters(r.glue, &c);
    for (const auto n : c.steps) CHECK(n == 1);
    CHECK(c.own_p50_ns >= 10000);
    CHECK(c.own_p50_ns <= 12000);
    CHECK(c.total_p99_ns >= 1000000);
    CHECK(c.total_p99_ns <= 1200000);
    CHECK(c.books == 0);
    for (const std::uint64_t ns : {1000u, 1000u, 50000u}) atoll_glue_booked(r.glue, ns);
    atoll_glue_counters(r.glue, &c);
    CHECK(c.books == 3);
    CHECK(c.books_p50_ns >= 1000);
    CHECK(c.books_p50_ns <= 1200);
    CHECK(c.books_p99_ns >= 50000);
    CHECK(c.books_p99_ns <= 60000);
    r.log.clear();
    atoll_glue_summary(r.glue);
    atoll_glue_summary(r.glue);
    CHECK(r.log.size() == 1);
    CHECK(r.log[0].text.find("3 changes booked") != std::string::npos);
}

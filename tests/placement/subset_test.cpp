// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

#include "boards.hpp"
#include "placement/subset_table.hpp"

using boards::cost;
using boards::mask;
using placement::subset_table;
using topo::gpu_mask;

namespace {

subset_table table_of(const topo::node_class& c, const placement::subset_options& options = {}) {
    auto built = subset_table::build(c, options);
    if (!built) MESSAGE(built.failure().message());
    REQUIRE(built);
    return std::move(*built);
}

unsigned whole_pairs(gpu_mask free, const std::vector<std::pair<unsigned, unsigned>>& pairs) {
    unsigned n = 0;
    for (const auto& [a, b] : pairs) n += (free >> a & 1) && (free >> b & 1) ? 1 : 0;
    return n;
}

const std::vector<std::pair<unsigned, unsigned>> crossed = {{0, 2}, {1, 3}, {4, 6}, {5, 7}};

}  // namespace

TEST_CASE("case 01: a request for two gets a bridged pair, whichever are free") {
    const std::vector<std::pair<unsigned, unsigned>> pairs = {{0, 2}, {1, 3}, {4, 5}, {6, 7}};
    const auto table = table_of(boards::paired(8, pairs));
    CHECK(table.exact());
    for (gpu_mask free = 0; free < 256; ++free) {
        const auto got = table.best(free, 2);
        if (topo::count(free) < 2) {
            CHECK(!got);
            continue;
        }
        REQUIRE(got);
        CHECK((whole_pairs(got->gpus, pairs) == 1) == (whole_pairs(free, pairs) > 0));
    }
}

TEST_CASE("case 03: one-GPU jobs in any order leave two whole pairs") {
    const std::vector<std::pair<unsigned, unsigned>> pairs = {{0, 1}, {2, 3}, {4, 5}, {6, 7}};
    const auto table = table_of(boards::paired(8, pairs));
    // Whatever single GPU the first job sits on, the next ones repair.
    for (unsigned first = 0; first < 8; ++first) {
        gpu_mask free = topo::first_gpus(8) & ~(gpu_mask{1} << first);
        for (int job = 0; job < 3; ++job) free &= ~table.best(free, 1)->gpus;
        CHECK(whole_pairs(free, pairs) == 2);
        for (int job = 0; job < 2; ++job) {
            const auto two = table.best(free, 2);
            CHECK(whole_pairs(two->gpus, pairs) == 1);
            free &= ~two->gpus;
        }
    }
    // A pair taken first, then singles, then a pair again.
    gpu_mask free = topo::first_gpus(8);
    for (const unsigned size : {2u, 1u, 2u, 1u}) {
        const auto got = table.best(free, size);
        if (size == 2) CHECK(whole_pairs(got->gpus, pairs) == 1);
        free &= ~got->gpus;
    }
    CHECK(whole_pairs(free, pairs) == 1);
}

TEST_CASE("crossed bridges: two singles leave three pairs, four GPUs are two whole pairs") {
    const auto table = table_of(boards::paired(8, crossed));
    gpu_mask free = topo::first_gpus(8);
    free &= ~table.best(free, 1)->gpus;
    free &= ~table.best(free, 1)->gpus;
    CHECK(whole_pairs(free, crossed) == 3);
    for (gpu_mask state = 0; state < 256; ++state) {
        if (topo::count(state) < 4) continue;
        const auto four = table.best(state, 4);
        if (whole_pairs(state, crossed) >= 2)
            CHECK(whole_pairs(four->gpus, crossed) + whole_pairs(state & ~four->gpus, crossed) ==
                  whole_pairs(state, crossed));
    }
    CHECK(table.best(topo::first_gpus(8), 4)->gpus == mask({0, 1, 2, 3}));
    CHECK(whole_pairs(table.best(mask({0, 1, 2, 4, 6}), 4)->gpus, crossed) == 2);
    CHECK(whole_pairs(table.best(mask({1, 3, 4, 5, 6, 7}), 4)->gpus, crossed) == 2);
}

TEST_CASE("case 07: exactly as many GPUs as asked for, distinct and free, for every mask and size") {
    const auto table = table_of(boards::paired(5, {{0, 1}}));
    for (gpu_mask free = 0; free < 32; ++free)
        for (unsigned k = 0; k <= 6; ++k) {
            const auto got = table.best(free, k);
            CHECK(got.has_value() == (k > 0 && k <= topo::count(free)));
            if (!got) continue;
            CHECK(topo::count(got->gpus) == k);
            CHECK((got->gpus & ~free) == 0);
        }
    CHECK(topo::count(table.best(31, 3)->gpus) == 3);
}

TEST_CASE("case 08: equal links, so the NUMA node decides") {
    const auto table = table_of(boards::switched("sys", 8, 18, 9));
    CHECK(table.best(255, 4)->gpus == mask({0, 1, 2, 3}));
    CHECK(table.best(255, 4)->numa_nodes == 1);
    for (gpu_mask free = 0; free < 256; ++free) {
        const bool possible = topo::count(free & 15) >= 2 || topo::count(free & 240) >= 2;
        if (possible) CHECK(table.best(free, 2)->numa_nodes == 1);
    }
    // The own socket comes before that of later jobs.
    CHECK(table.best(mask({0, 1, 2, 4}), 2)->numa_nodes == 1);
    // A single GPU goes where the socket is broken already.
    CHECK((table.best(mask({1, 2, 3, 4, 5, 6, 7}), 1)->gpus & 15) != 0);
}

TEST_CASE("measurement noise of 2 % decides nothing on a board of equal links") {
    std::mt19937_64 random(7);
    std::uniform_real_distribution<double> noise(0.98, 1.02);
    for (int round = 0; round < 50; ++round) {
        const auto noisy = boards::board(
            "noisy", 8, [&](std::size_t, std::size_t) { return cost(2 * noise(random), 380 * noise(random)); },
            [](std::size_t g) { return g < 4 ? 0 : 1; });
        const auto table = table_of(noisy);
        const auto clean = table_of(boards::switched("clean", 8));
        for (gpu_mask free = 1; free < 256; ++free)
            for (unsigned k = 1; k <= topo::count(free); ++k)
                REQUIRE(table.best(free, k)->gpus == clean.best(free, k)->gpus);
    }
}

TEST_CASE("an untouched island is left alone while a broken one serves") {
    // Two islands of four.
    const auto c = boards::board(
        "islands", 8, [](std::size_t a, std::size_t b) { return a / 4 == b / 4 ? cost(2, 200) : cost(6, 20); });
    const auto table = table_of(c);
    CHECK((table.best(mask({1, 4, 5, 6, 7}), 1)->gpus) == mask({1}));
    CHECK((table.best(mask({1, 2, 3, 4, 5, 6, 7}), 1)->gpus & 0xf0) == 0);
    CHECK((table.best(mask({1, 2, 3, 4, 5, 6, 7}), 2)->gpus & 0xf0) == 0);
    // Three islands of three: sizes that are no power of two count as islands, too.
    const auto three = boards::board(
        "threes", 9, [](std::size_t a, std::size_t b) { return a / 3 == b / 3 ? cost(2, 200) : cost(6, 20); });
    CHECK((table_of(three).best(topo::first_gpus(9) & ~mask({0}), 1)->gpus & ~mask({1, 2})) == 0);
}

TEST_CASE("directions are not averaged (case 67)") {
    // 0 → 1 is slow, 1 → 0 fast; 2 ↔ 3 in between both ways.
    const auto c = boards::board("directed", 4, [](std::size_t a, std::size_t b) {
        if (a == 0 && b == 1) return cost(2, 10);
        if (a == 1 && b == 0) return cost(2, 300);
        if (a / 2 == b / 2) return cost(2, 100);
        return cost(5, 5);
    });
    const auto table = table_of(c);
    CHECK(table.best(15, 2)->gpus == mask({2, 3}));
    CHECK(table.ring(mask({0, 1})).gb_per_s == 10);
}

TEST_CASE("the ring goes round the slow direction") {
    // Clockwise 100 GB/s, anticlockwise 10, across 1: only one direction of one cycle is fast.
    const auto c = boards::board("wheel", 6, [](std::size_t a, std::size_t b) {
        if (b == (a + 1) % 6) return cost(1, 100);
        if (a == (b + 1) % 6) return cost(1, 10);
        return cost(1, 1);
    });
    const auto table = table_of(c);
    CHECK(table.ring(63).gb_per_s == 100);
    std::array<std::uint8_t, 6> order{};
    REQUIRE(table.ring_order(63, order) == 6);
    CHECK(order == std::array<std::uint8_t, 6>{0, 1, 2, 3, 4, 5});
    CHECK(table.ring_order(63, std::span(order).first(3)) == 0);
}

TEST_CASE("the latency decides when it weighs more than the bandwidth") {
    // A four-ring at α 1 and 50 GB/s, or at α 20 and 60 GB/s.
    const auto c = boards::board(
        "trade", 4, [](std::size_t a, std::size_t b) { return (a + 1) % 4 == b ? cost(1, 50) : cost(20, 60); });
    placement::subset_options small;
    small.message_bytes = 1e3;
    CHECK(table_of(c, small).ring(15).alpha_us == 1);
    placement::subset_options large;
    large.message_bytes = 1e9;
    CHECK(table_of(c, large).ring(15).gb_per_s == 60);
}

TEST_CASE("case 33: GPUs with NICs of their own win a tie, shared NICs lose it") {
    auto c = boards::with_nics(boards::board("nics", 4, [](std::size_t, std::size_t) { return cost(2, 20); }));
    // GPU 1 has only GPU 0's NIC within reach.
    for (auto& layer : c.layers)
        if (layer.from == topo::endpoint::gpu && layer.to == topo::endpoint::nic)
            for (std::size_t n = 0; n < 4; ++n) layer.cells(1, n) = cost(1, n == 0 ? 45 : 1);
    const auto nics = topo::nearest_nics(c);
    if (nics[0] == nics[1]) {
        const auto table = table_of(c);
        CHECK(table.best(mask({0, 1, 2}), 2)->gpus != mask({0, 1}));
    } else {
        WARN_MESSAGE(false, "nearest_nics gave GPU 1 a NIC of its own: nothing to tell apart");
    }
    const auto equal = boards::with_nics(boards::switched("eq", 8));
    auto shared = topo::nearest_nics(equal);
    std::sort(shared.begin(), shared.end());
    CHECK(std::unique(shared.begin(), shared.end()) == shared.end());
}

TEST_CASE("required GPUs are part of the answer, or there is none") {
    const auto table = table_of(boards::paired(8, crossed));
    for (gpu_mask free = 0; free < 256; ++free)
        for (unsigned must = 0; must < 8; ++must)
            for (unsigned k = 1; k <= 4; ++k) {
                const auto got = table.best(free, k, gpu_mask{1} << must);
                CHECK(got.has_value() == ((free >> must & 1) && k <= topo::count(free)));
                if (got) CHECK((got->gpus >> must & 1) == 1);
            }
    CHECK(table.best(255, 2, mask({3}))->gpus == mask({1, 3}));
    CHECK(!table.best(255, 1, mask({3, 4})));
    // With nothing required the scan and the table agree.
    for (gpu_mask free = 1; free < 256; ++free)
        for (unsigned k = 1; k <= topo::count(free); ++k)
            CHECK(table.runner_up(free, k, 0)->gpus == table.best(free, k)->gpus);
}

TEST_CASE("the runner-up is the best of the others") {
    const auto table = table_of(boards::paired(8, crossed));
    const auto best = table.best(255, 2);
    const auto second = table.runner_up(255, 2, best->gpus);
    REQUIRE(second);
    CHECK(second->gpus != best->gpus);
    CHECK(whole_pairs(second->gpus, crossed) == 1);
    CHECK(!table.runner_up(255, 8, 255));
    CHECK(!table.runner_up(mask({0, 1}), 2, mask({0, 1})));
    CHECK(table.runner_up(255, 2, best->gpus, mask({0}))->gpus != best->gpus);
}

TEST_CASE("classes with no or one GPU need no costs; others do") {
    topo::node_class none;
    none.name = "cpu";
    const auto empty = table_of(none);
    CHECK(empty.gpus() == 0);
    CHECK(!empty.best(~gpu_mask{0}, 1));
    CHECK(empty.score(1, 1).gpus == 0);

    const auto one = table_of(boards::board("one", 1, [](std::size_t, std::size_t) { return cost(1, 1); }));
    REQUIRE(one.best(~gpu_mask{0}, 1));
    CHECK(one.best(~gpu_mask{0}, 1)->gpus == 1);
    CHECK(one.best(1, 1)->ring_us == 0);
    CHECK(!one.best(1, 2));

    auto bare = boards::paired(4, {{0, 1}});
    bare.layers.clear();
    const auto failed = subset_table::build(bare, {});
    REQUIRE(!failed);
    CHECK(failed.failure().code == topo::errc::bad_input);
    CHECK(failed.failure().where == "class paired");
    CHECK(!failed.failure().remedy.empty());
}

TEST_CASE("hostile costs and options are refused, with the pair named") {
    const auto good = boards::paired(4, {{0, 1}});
    const auto refused = [](const topo::node_class& c, const placement::subset_options& o = {}) {
        const auto built = subset_table::build(c, o);
        return !built && built.failure().code == topo::errc::bad_input;
    };
    for (const double bad :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -1.0, 0.0}) {
        auto c = good;
        c.layers[0].cells(2, 3).gb_per_s = bad;
        CHECK(refused(c));
        CHECK(subset_table::build(c, {}).failure().what.find("GPU2 to GPU3") != std::string::npos);
    }
    auto alpha = good;
    alpha.layers[0].cells(0, 1).alpha_us = -1;
    CHECK(refused(alpha));
    auto missing = good;
    missing.layers[0].cells(0, 1) = {};
    CHECK(refused(missing));
    auto shape = good;
    shape.layers[0].cells = topo::matrix<topo::cost>(3, 4, cost(1, 1));
    CHECK(refused(shape));
    auto many = good;
    many.gpus.resize(65, many.gpus.front());
    CHECK(refused(many));
    CHECK(refused(good, {-1, 0}));
    CHECK(refused(good, {std::numeric_limits<double>::quiet_NaN(), 0}));
    CHECK(refused(good, {1e6, std::numeric_limits<double>::infinity()}));
    CHECK(!refused(good, {0, 0}));
}

TEST_CASE("more than 16 GPUs: islands are found and kept whole") {
    // Eight islands of four on 32 GPUs, interleaved.
    const auto c = boards::board(
        "wide", 32, [](std::size_t a, std::size_t b) { return a % 8 == b % 8 ? cost(2, 200) : cost(6, 20); });
    const auto table = table_of(c);
    CHECK(!table.exact());
    const gpu_mask all = topo::first_gpus(32);
    const auto four = table.best(all, 4);
    REQUIRE(four);
    CHECK(four->gpus == mask({0, 8, 16, 24}));
    CHECK(table.ring(four->gpus).gb_per_s == 200);
    const auto single = table.best(all & ~mask({0}), 1);
    CHECK((single->gpus & mask({8, 16, 24})) != 0);
    const auto second = table.runner_up(all, 4, four->gpus);
    REQUIRE(second);
    CHECK(second->gpus != four->gpus);
    CHECK(table.ring(second->gpus).gb_per_s == 200);
    CHECK((table.best(all, 5, mask({31}))->gpus >> 31 & 1) == 1);
    for (unsigned k = 1; k <= 32; ++k) {
        const auto got = table.best(all, k);
        REQUIRE(got);
        CHECK(topo::count(got->gpus) == k);
        std::array<std::uint8_t, 64> order{};
        CHECK(table.ring_order(got->gpus, order) == k);
    }
    const auto full = table_of(boards::switched("full", 64));
    CHECK(topo::count(full.best(~gpu_mask{0}, 64)->gpus) == 64);
    CHECK(full.best(~gpu_mask{0}, 32)->numa_nodes == 1);
}

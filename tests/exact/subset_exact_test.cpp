// SPDX-License-Identifier: Apache-2.0
// subset_table against brute force: rings by trying every order, choices by comparing every subset.
#include <doctest/doctest.h>

#include <numeric>

#include "placement/subset_table.hpp"
#include "subset_reference.hpp"

using boards::cost;
using exact::all_rings;
using exact::members;
using exact::random_board;
using exact::reference;
using exact::ring_time;
using exact::size_of;
using topo::gpu_mask;

TEST_CASE("600 random boards of up to 8 GPUs: rings and choices are the optimum for every free set and size") {
    std::mt19937_64 random(20261130);
    std::size_t questions = 0;
    for (int round = 0; round < 600; ++round) {
        const std::size_t n = round % 20 == 0 ? 8 : 2 + random() % 6;
        const auto c = random_board(random, n);
        placement::subset_options options;
        options.message_bytes = std::array{64e6, 1e4, 1e9}[random() % 3];
        if (random() % 3 == 0) options.equal_within = 0;
        options.order_within = 0;
        const auto table = placement::subset_table::build(c, options);
        REQUIRE(table);
        reference expected(c, options.message_bytes, options.equal_within);
        for (gpu_mask free = 1; free < (gpu_mask{1} << n); ++free) {
            REQUIRE(table->ring(free).time_us(size_of(free), options.message_bytes) ==
                    doctest::Approx(expected.time(free)).epsilon(1e-12));
            for (unsigned k = 1; k <= size_of(free); ++k, ++questions) {
                INFO("round " << round << " n " << n << " free " << free << " k " << k);
                const auto got = table->best(free, k);
                REQUIRE(got);
                const gpu_mask want = expected.best(free, k);
                REQUIRE(got->gpus == want);
                REQUIRE(got->ring_us == doctest::Approx(expected.time(want)).epsilon(1e-12));
            }
        }
    }
    MESSAGE(questions << " choices compared");
}

TEST_CASE("with required GPUs the choice is the best of all subsets that hold them") {
    std::mt19937_64 random(20261201);
    std::size_t questions = 0, changed = 0;
    for (int round = 0; round < 150; ++round) {
        const std::size_t n = round % 25 == 0 ? 8 : 2 + random() % 5;
        const auto c = random_board(random, n);
        const auto table = placement::subset_table::build(c, {});
        REQUIRE(table);
        reference expected(c, 64e6, 0.05);
        for (gpu_mask free = 1; free < (gpu_mask{1} << n); ++free) {
            const gpu_mask must = free & random();
            for (unsigned k = 1; k <= size_of(free); ++k, ++questions) {
                INFO("round " << round << " n " << n << " free " << free << " must " << must << " k " << k);
                const auto got = table->best(free, k, must);
                REQUIRE(got.has_value() == (size_of(must) <= k));
                if (!got) continue;
                REQUIRE(got->gpus == expected.best(free, k, must));
                changed += got->gpus != expected.best(free, k) ? 1 : 0;
            }
        }
    }
    MESSAGE(questions << " choices compared, " << changed << " of them other than without required GPUs");
    CHECK(changed > 100);
}

TEST_CASE("ring orders visit each GPU once and cost what the table says") {
    std::mt19937_64 random(4);
    for (int round = 0; round < 200; ++round) {
        const std::size_t n = 2 + random() % 11;
        const auto c = random_board(random, n);
        const auto table = placement::subset_table::build(c, {});
        REQUIRE(table);
        const auto& cells = c.layers.front().cells;
        for (int i = 0; i < 40; ++i) {
            const gpu_mask s = 1 + random() % ((gpu_mask{1} << n) - 1);
            std::array<std::uint8_t, 64> order{};
            const std::size_t p = table->ring_order(s, order);
            REQUIRE(p == size_of(s));
            REQUIRE(order[0] == static_cast<unsigned>(std::countr_zero(s)));
            gpu_mask seen = 0;
            double alpha = 0;
            double bw = std::numeric_limits<double>::infinity();
            for (std::size_t at = 0; at < p; ++at) {
                seen |= gpu_mask{1} << order[at];
                if (p < 2) break;
                const topo::cost& hop = cells(order[at], order[(at + 1) % p]);
                alpha = std::max(alpha, hop.alpha_us);
                bw = std::min(bw, hop.gb_per_s);
            }
            REQUIRE(seen == s);
            if (p < 2) continue;
            REQUIRE(table->ring(s).alpha_us == alpha);
            REQUIRE(table->ring(s).gb_per_s == bw);
        }
    }
}

TEST_CASE("ranks keep the order of index where that costs no more than 2 %, and choices do not depend on it") {
    std::mt19937_64 random(6);
    std::size_t kept = 0, left = 0;
    for (int round = 0; round < 200; ++round) {
        const std::size_t n = 3 + random() % 7;
        const auto c = random_board(random, n);
        placement::subset_options strict;
        strict.order_within = 0;
        const auto table = placement::subset_table::build(c, {});
        const auto fastest = placement::subset_table::build(c, strict);
        REQUIRE(table);
        REQUIRE(fastest);
        const auto& cells = c.layers.front().cells;
        for (gpu_mask s = 1; s < (gpu_mask{1} << n); ++s) {
            const unsigned p = size_of(s);
            if (p < 2) continue;
            const auto in_order = members(s);
            double alpha = 0, bw = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < p; ++i) {
                const topo::cost& hop = cells(in_order[i], in_order[(i + 1) % p]);
                alpha = std::max(alpha, hop.alpha_us);
                bw = std::min(bw, hop.gb_per_s);
            }
            const double best = fastest->ring(s).time_us(p, 64e6);
            const bool cheap = ring_time(alpha, bw, p, 64e6) <= best * 1.02;
            std::array<std::uint8_t, 64> order{};
            table->ring_order(s, order);
            const bool ascending = std::is_sorted(order.begin(), order.begin() + p);
            if (ascending != cheap) REQUIRE(ring_time(alpha, bw, p, 64e6) == doctest::Approx(best * 1.02));
            REQUIRE(table->ring(s).time_us(p, 64e6) <= best * 1.02 * (1 + 1e-12));
            if (!ascending) REQUIRE(table->ring(s).time_us(p, 64e6) == best);
            ++(ascending ? kept : left);
            const gpu_mask free = s | (random() % (gpu_mask{1} << n));
            REQUIRE(table->best(free, p)->gpus == fastest->best(free, p)->gpus);
        }
    }
    CHECK(kept > 1000);
    CHECK(left > 1000);
}

TEST_CASE("boards of 10 to 12 GPUs: sampled rings and choices are the optimum") {
    std::mt19937_64 random(12);
    placement::subset_options fastest_rings;
    fastest_rings.order_within = 0;
    for (const std::size_t n : {10u, 10u, 11u, 12u}) {
        const auto c = random_board(random, n);
        const auto table = placement::subset_table::build(c, fastest_rings);
        REQUIRE(table);
        const auto& cells = c.layers.front().cells;
        for (int i = 0; i < 60; ++i) {
            const gpu_mask s = 1 + random() % ((gpu_mask{1} << n) - 1);
            REQUIRE(table->ring(s).time_us(size_of(s), 64e6) ==
                    doctest::Approx(all_rings(cells, s, 64e6).best()).epsilon(1e-12));
        }
        REQUIRE(table->ring(topo::first_gpus(n)).time_us(static_cast<unsigned>(n), 64e6) ==
                doctest::Approx(all_rings(cells, topo::first_gpus(n), 64e6).best()).epsilon(1e-12));
    }
    const auto c = random_board(random, 10);
    const auto table = placement::subset_table::build(c, {});
    reference expected(c, 64e6, 0.05);
    for (int i = 0; i < 300; ++i) {
        const gpu_mask free = 1 + random() % 1023;
        const unsigned k = 1 + static_cast<unsigned>(random() % size_of(free));
        REQUIRE(table->best(free, k)->gpus == expected.best(free, k));
    }
}

TEST_CASE("the chosen subset is never slower than the fastest by more than equal_within") {
    std::mt19937_64 random(5);
    for (int round = 0; round < 100; ++round) {
        const std::size_t n = 4 + random() % 7;
        const auto c = random_board(random, n);
        const auto table = placement::subset_table::build(c, {});
        placement::subset_options strict;
        strict.equal_within = 0;
        strict.order_within = 0;
        const auto fastest = placement::subset_table::build(c, strict);
        REQUIRE(table);
        REQUIRE(fastest);
        for (int i = 0; i < 100; ++i) {
            const gpu_mask free = 1 + random() % ((gpu_mask{1} << n) - 1);
            const unsigned k = 1 + static_cast<unsigned>(random() % size_of(free));
            const gpu_mask taken = table->best(free, k)->gpus;
            REQUIRE(fastest->ring(taken).time_us(k, 64e6) <= 1.05 * (1 + 1e-12) * fastest->best(free, k)->ring_us);
        }
    }
}

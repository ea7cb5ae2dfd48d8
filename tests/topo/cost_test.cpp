// SPDX-License-Identifier: Apache-2.0
#include "topo/cost.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace topo;

TEST_CASE("time is latency plus bytes over bandwidth") {
    cost c;
    c.alpha_us = 2;
    c.gb_per_s = 50;  // 50 000 bytes a µs
    CHECK(c.time_us(0) == 2);
    CHECK(c.time_us(64e6) == doctest::Approx(2 + 1280));
}

TEST_CASE("a cost is valid only when it is complete") {
    cost good;
    good.alpha_us = 0;
    good.gb_per_s = 1;
    good.from = good.alpha_from = source::measured;
    CHECK(good.valid());
    CHECK_FALSE(cost{}.valid());
    const auto broken = [&](auto change) {
        cost c = good;
        change(c);
        return !c.valid();
    };
    constexpr double nan = std::numeric_limits<double>::quiet_NaN();
    constexpr double inf = std::numeric_limits<double>::infinity();
    CHECK(broken([](cost& c) { c.gb_per_s = 0; }));
    CHECK(broken([](cost& c) { c.gb_per_s = -1; }));
    CHECK(broken([](cost& c) { c.gb_per_s = inf; }));
    CHECK(broken([](cost& c) { c.gb_per_s = nan; }));
    CHECK(broken([](cost& c) { c.alpha_us = -1e-9; }));
    CHECK(broken([](cost& c) { c.alpha_us = nan; }));
    CHECK(broken([](cost& c) { c.spread = -0.1; }));
    CHECK(broken([](cost& c) { c.alpha_from = source::none; }));
    CHECK(broken([](cost& c) { c.from = source::none; }));
}

TEST_CASE("sources and engines have names") {
    for (int i = 0; i < 7; ++i) {
        CHECK(source_named(name_of(static_cast<source>(i))) == static_cast<source>(i));
        CHECK(engine_named(name_of(static_cast<engine>(i))) == static_cast<engine>(i));
    }
    CHECK_FALSE(source_named("Measured"));
    CHECK_FALSE(engine_named(""));
}

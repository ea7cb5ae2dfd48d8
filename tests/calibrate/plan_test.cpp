// SPDX-License-Identifier: Apache-2.0
#include "calibrate/plan.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "support.hpp"

using topo::endpoint;
using topo::engine;

namespace {

calibrate::plan plan_of(const std::string& model, const calibrate::plan_options& options = {}) {
    auto m = testing::simulated(model, 1);
    auto p = calibrate::make_plan(*m, options);
    if (!p) FAIL(p.failure().message());
    return *p;
}

std::set<std::pair<endpoint, std::size_t>> devices(const calibrate::round& r) {
    std::set<std::pair<endpoint, std::size_t>> out;
    for (const auto& c : r.cells) {
        out.insert({c.from.kind, c.from.index});
        out.insert({c.to.kind, c.to.index});
    }
    return out;
}

}  // namespace

TEST_CASE("every cell stands once, and no device twice in a round") {
    for (const auto& model : calibrate::simulated_models()) {
        CAPTURE(model.name);
        const auto p = plan_of(model.name);
        const auto& hw = p.what.hardware;
        std::size_t cells = 0;
        std::vector<calibrate::cell> seen;
        for (const auto& r : p.rounds) {
            REQUIRE_FALSE(r.cells.empty());
            CHECK(devices(r).size() == 2 * r.cells.size());
            for (const auto& c : r.cells) {
                CHECK(c.by == r.cells.front().by);
                CHECK(std::find(seen.begin(), seen.end(), c) == seen.end());
                seen.push_back(c);
            }
            cells += r.cells.size();
        }
        const std::size_t g = hw.gpus.size();
        CHECK(cells == p.cells);
        CHECK(cells == 2 * g * (g - 1) + 4 * g * hw.nics.size() + 2 * g * hw.numa.size());
        CHECK(p.seconds > 0.5);
        CHECK(p.seconds < 60);  // the bar for an 8-GPU node
    }
}

TEST_CASE("a switched node needs as few rounds as there can be") {
    const auto p = plan_of("dgx-h100", {true, false, false});
    CHECK(p.rounds.size() == 2 * 2 * 7);  // two engines, two directions, seven rounds of four pairs
    for (const auto& r : p.rounds) CHECK(r.cells.size() == 4);
}

TEST_CASE("pairs that cross the same bridge or the sockets are never measured together") {
    const auto p = plan_of("l40s-pcie-8", {true, false, false});
    for (const auto& r : p.rounds) {
        std::map<int, int> bridges;
        int sockets = 0;
        for (const auto& c : r.cells) {
            const int a = p.what.hardware.gpus[c.from.index].numa, b = p.what.hardware.gpus[c.to.index].numa;
            ++bridges[a];
            if (a != b) ++bridges[b], ++sockets;
        }
        for (const auto& [numa, pairs] : bridges) CHECK(pairs == 1);
        CHECK(sockets <= 1);
    }
}

TEST_CASE("--only takes parts, and nothing to measure is an error") {
    CHECK(plan_of("dgx-h100", {false, true, false}).cells == 4 * 8 * 12);
    CHECK(plan_of("dgx-h100", {false, false, true}).cells == 2 * 8 * 2);
    auto m = testing::simulated("dgx-h100", 1);
    const auto none = calibrate::make_plan(*m, {false, false, false});
    REQUIRE_FALSE(none);
    CHECK(none.failure().code == topo::errc::missing);
    CHECK_FALSE(none.failure().remedy.empty());
}

TEST_CASE("the estimate is good to a factor of two against the simulated clock") {
    for (const auto& model : calibrate::simulated_models()) {
        CAPTURE(model.name);
        auto m = testing::simulated(model.name, 2);
        const auto p = calibrate::make_plan(*m, {});
        REQUIRE(p);
        testing::recorder ignored;
        const auto out = calibrate::run_node(*m, *p, {}, ignored);
        REQUIRE(out);
        CHECK(out->seconds < 60);
        CHECK(p->seconds / out->seconds > 0.5);
        CHECK(p->seconds / out->seconds < 2);
    }
}

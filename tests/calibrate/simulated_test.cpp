// SPDX-License-Identifier: Apache-2.0
#include "calibrate/simulated.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "support.hpp"

using calibrate::place;
using topo::endpoint;
using topo::engine;

namespace {

double median_copy(calibrate::machine& m, calibrate::copy c) {
    std::vector<double> us(101);
    for (double& one : us) REQUIRE(m.timed_copy({&c, 1}, {&one, 1}));
    std::sort(us.begin(), us.end());
    return us[50];
}

calibrate::buffer_id on(calibrate::machine& m, place p) {
    auto b = m.allocate(p, 256u << 20);
    REQUIRE(b);
    return *b;
}

}  // namespace

TEST_CASE("models by name, and what is told of an unknown one") {
    CHECK(calibrate::simulated_models().size() == 5);
    for (const auto& m : calibrate::simulated_models()) CHECK_FALSE(m.description.empty());
    const auto none = calibrate::make_simulated("dgx-h1000", 1, {});
    REQUIRE_FALSE(none);
    CHECK(none.failure().code == topo::errc::missing);
    CHECK(none.failure().remedy.find("dgx-h100") != std::string::npos);
    CHECK_FALSE(calibrate::make_simulated("./no-such-file.yaml", 1, {}));
    CHECK_FALSE(calibrate::make_simulated("", 1, {}));
}

TEST_CASE("a copy takes α plus bytes over bandwidth, near the model's figures") {
    auto m = testing::simulated("dgx-h100", 3);
    const auto a = on(*m, {endpoint::gpu, 0}), b = on(*m, {endpoint::gpu, 1});
    const double us = median_copy(*m, {engine::copy_engine, a, b, 256u << 20, 1});
    CHECK((256 << 20) / us / 1e3 == doctest::Approx(18 * 20.78).epsilon(0.02));
    CHECK(median_copy(*m, {engine::copy_engine, a, b, 64, 100}) == doctest::Approx(210).epsilon(0.02));
}

TEST_CASE("samples are noisy, quantised, sometimes far out, and the same for the same seed") {
    std::array<std::vector<double>, 3> us;
    for (std::size_t run = 0; run < 3; ++run) {
        auto m = testing::simulated("dgx-h100", run == 2 ? 8 : 7);
        const calibrate::copy c{engine::copy_engine, on(*m, {endpoint::gpu, 0}), on(*m, {endpoint::gpu, 1}), 1u << 24,
                                1};
        us[run].resize(2000);
        for (double& one : us[run]) REQUIRE(m->timed_copy({&c, 1}, {&one, 1}));
    }
    CHECK(us[0] == us[1]);
    CHECK(us[0] != us[2]);
    for (const double one : us[0]) CHECK(std::fmod(one, 0.5) == 0);
    std::sort(us[0].begin(), us[0].end());
    CHECK(us[0][100] < us[0][1900] * 0.98);
    CHECK(us[0].back() > 1.5 * us[0][1000]);
}

TEST_CASE("a pair shows the same whatever was measured before it") {
    double first = 0, second = 0;
    for (const bool others_first : {false, true}) {
        auto m = testing::simulated("dgx-h100", 7);
        const auto a = on(*m, {endpoint::gpu, 0}), b = on(*m, {endpoint::gpu, 1}), c = on(*m, {endpoint::gpu, 2});
        if (others_first) median_copy(*m, {engine::copy_engine, c, b, 1u << 20, 1});
        (others_first ? second : first) = median_copy(*m, {engine::copy_engine, a, b, 1u << 20, 1});
    }
    CHECK(first == second);
}

TEST_CASE("transfers that share a bus slow one another down; those on switches do not") {
    auto m = testing::simulated("l40s-pcie-8", 3);
    const auto alone =
        median_copy(*m, {engine::copy_engine, on(*m, {endpoint::gpu, 0}), on(*m, {endpoint::gpu, 4}), 1u << 26, 1});
    std::vector<calibrate::copy> together;
    for (std::size_t g = 0; g < 4; ++g)
        together.push_back(
            {engine::copy_engine, on(*m, {endpoint::gpu, g}), on(*m, {endpoint::gpu, g + 4}), 1u << 26, 1});
    std::vector<double> us(4);
    REQUIRE(m->timed_copy(together, us));
    CHECK(us[0] > 1.4 * alone);  // four times 16 GB/s over 40

    auto h = testing::simulated("dgx-h100", 3);
    together.clear();
    for (std::size_t g = 0; g < 8; g += 2)
        together.push_back(
            {engine::copy_engine, on(*h, {endpoint::gpu, g}), on(*h, {endpoint::gpu, g + 1}), 1u << 26, 1});
    std::vector<double> switched;
    for (int run = 0; run < 31; ++run) {
        REQUIRE(h->timed_copy(together, us));
        switched.push_back(us[2]);
    }
    std::sort(switched.begin(), switched.end());
    CHECK((1 << 26) / switched[15] / 1e3 == doctest::Approx(374).epsilon(0.03));
}

TEST_CASE("the clock moves with the work") {
    auto m = testing::simulated("dgx1-v100", 3);
    const auto a = on(*m, {endpoint::gpu, 0}), b = on(*m, {endpoint::gpu, 1});
    const double before = m->now_us();
    const std::int64_t wall = m->unix_time();
    median_copy(*m, {engine::copy_engine, a, b, 256u << 20, 1});
    CHECK(m->now_us() - before > 101 * 13000);
    CHECK(m->unix_time() >= wall + 1);
}

TEST_CASE("load chase and flags") {
    auto m = testing::simulated("dgx-h100", 3);
    const auto far = on(*m, {endpoint::gpu, 1});
    const auto us = m->load_chase(0, far, 1u << 20, 1000);
    REQUIRE(us);
    CHECK(*us > 600);
    const calibrate::flag_pair p{0, 1, 100};
    double rtt = 0;
    REQUIRE(m->flag_ping_pong({&p, 1}, {&rtt, 1}));
    CHECK(rtt > 150);
}

TEST_CASE("wrong handles and places are errors") {
    auto m = testing::simulated("dgx-h100", 3);
    CHECK_FALSE(m->allocate({endpoint::gpu, 8}, 100));
    CHECK_FALSE(m->allocate({endpoint::nic, 0}, 100));
    CHECK_FALSE(m->allocate({endpoint::gpu, 0}, 0));
    CHECK_FALSE(m->enable_peer(0, 0));
    CHECK_FALSE(m->enable_peer(0, 99));
    CHECK_FALSE(m->register_memory(0, {}));
    const auto small = m->allocate({endpoint::gpu, 0}, 100);
    const auto other = m->allocate({endpoint::gpu, 1}, 100);
    REQUIRE((small && other));
    double us = 0;
    for (const calibrate::copy& c : {calibrate::copy{engine::copy_engine, *small, *other, 101, 1},
                                     calibrate::copy{engine::copy_engine, *small, {}, 10, 1},
                                     calibrate::copy{engine::copy_engine, *small, *small, 10, 1},
                                     calibrate::copy{engine::rdma_write, *small, *other, 10, 1}})
        CHECK_FALSE(m->timed_copy({&c, 1}, {&us, 1}));
    const calibrate::copy fine{engine::copy_engine, *small, *other, 10, 1};
    CHECK_FALSE(m->timed_copy({&fine, 1}, {}));
    const calibrate::rdma_operation unregistered;
    CHECK_FALSE(m->rdma({&unregistered, 1}, {&us, 1}));
}

// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "calibrate/random.hpp"

using calibrate::fit;
using calibrate::fit_median;
using calibrate::size_samples;

namespace {

// 12 sizes, log-normal noise, some outliers far above: the law of no fit.
std::vector<size_samples> samples(double alpha, double gb_per_s, double sigma, double outliers, std::uint64_t seed) {
    calibrate::random_stream random(seed);
    std::vector<size_samples> out;
    for (double bytes = 64; bytes < 5e8; bytes *= 4) {
        size_samples s{bytes, {}};
        for (int i = 0; i < (bytes >= 1 << 20 ? 9 : 31); ++i) {
            double us = (alpha + bytes / (gb_per_s * 1e3)) * std::exp(sigma * random.normal());
            if (random.uniform() < outliers) us *= random.uniform(1.5, 20);
            s.us.push_back(us);
        }
        out.push_back(s);
    }
    return out;
}

}  // namespace

TEST_CASE("an exact line is recovered exactly, with no spread") {
    const auto got = fit(samples(2.5, 371, 0, 0, 1), 1);
    REQUIRE(got);
    CHECK(got->alpha_us() == doctest::Approx(2.5));
    CHECK(got->gb_per_s() == doctest::Approx(371));
    CHECK(got->spread < 1e-6);
    CHECK(got->alpha_spread < 1e-6);
    CHECK(got->outliers == 0);
    CHECK(got->samples == 7 * 31 + 5 * 9);
}

TEST_CASE("the law is recovered over 200 seeds: 1.5 % noise and 4 % outliers") {
    double alpha_square = 0, bandwidth_square = 0;
    int covered_alpha = 0, covered_bandwidth = 0;
    for (std::uint64_t seed = 1; seed <= 200; ++seed) {
        const auto got = fit(samples(1.9, 48.6, 0.015, 0.04, seed), seed);
        REQUIRE(got);
        const double alpha = got->alpha_us() / 1.9 - 1;
        const double bandwidth = got->gb_per_s() / 48.6 - 1;
        CHECK(std::abs(bandwidth) < 0.02);
        CHECK(got->outliers > 0);
        alpha_square += alpha * alpha;
        bandwidth_square += bandwidth * bandwidth;
        covered_alpha += std::abs(alpha) <= got->alpha_spread;
        covered_bandwidth += std::abs(bandwidth) <= got->spread;
    }
    CHECK(std::sqrt(alpha_square / 200) < 0.033);  // the bars of the calibration figures
    CHECK(std::sqrt(bandwidth_square / 200) < 0.006);
    CHECK(covered_alpha > 170);
    CHECK(covered_bandwidth > 170);
}

TEST_CASE("one size that strays does not drag the line along") {
    auto s = samples(2, 100, 0.005, 0, 3);
    for (double& us : s[4].us) us *= 3;
    const auto got = fit(s, 3);
    REQUIRE(got);
    CHECK(got->alpha_us() == doctest::Approx(2).epsilon(0.05));
    CHECK(got->gb_per_s() == doctest::Approx(100).epsilon(0.01));
}

TEST_CASE("same samples and seed, same answer; another seed, the same line") {
    const auto s = samples(2, 100, 0.02, 0.04, 9);
    const auto a = fit(s, 5), b = fit(s, 5), c = fit(s, 6);
    REQUIRE((a && b && c));
    CHECK(a->spread == b->spread);
    CHECK(a->alpha_us() == b->alpha_us());
    CHECK(a->alpha_us() == c->alpha_us());
}

TEST_CASE("α is never negative") {
    std::vector<size_samples> s = {{64, {0.0001, 0.0001, 0.0001}}, {1 << 20, {20, 20, 20}}, {1 << 24, {360, 360, 360}}};
    const auto got = fit(s, 1);
    REQUIRE(got);
    CHECK(got->alpha_us() >= 0);
}

TEST_CASE("useless samples are refused, not fitted") {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    const double inf = std::numeric_limits<double>::infinity();
    CHECK_FALSE(fit({}, 1));
    CHECK_FALSE(fit(std::vector<size_samples>{{64, {1, 2, 3}}}, 1));
    CHECK_FALSE(fit(std::vector<size_samples>{{64, {1, 2, 3}}, {64, {1}}}, 1));
    for (const double bad : {nan, inf, 0.0, -1.0})
        CHECK_FALSE(fit(std::vector<size_samples>{{64, {1, bad, 3}}, {1024, {5}}}, 1));
    CHECK_FALSE(fit(std::vector<size_samples>{{nan, {1}}, {1024, {5}}}, 1));
    CHECK_FALSE(fit(std::vector<size_samples>{{64, {5}}, {1024, {4}}, {4096, {3}}}, 1));
    CHECK_FALSE(fit_median({}, 1));
    CHECK_FALSE(fit_median(std::vector<double>{1, nan}, 1));
    const auto why = fit({}, 1);
    CHECK(why.failure().code == topo::errc::bad_input);
    CHECK_FALSE(why.failure().remedy.empty());
}

TEST_CASE("the median of 31 and its interval") {
    calibrate::random_stream random(4);
    int covered = 0;
    for (int run = 0; run < 200; ++run) {
        std::vector<double> v;
        for (int i = 0; i < 31; ++i) v.push_back(10 * std::exp(0.03 * random.normal()));
        const auto got = fit_median(v, static_cast<std::uint64_t>(run));
        REQUIRE(got);
        CHECK(got->spread > 0);
        CHECK(got->spread < 0.03);
        covered += std::abs(got->value / 10 - 1) <= got->spread;
    }
    CHECK(covered > 170);
}

TEST_CASE("sample counts are odd, grow, and stop at 63") {
    for (std::size_t n : {9u, 31u}) {
        while (n < calibrate::max_samples) {
            const std::size_t next = calibrate::next_sample_count(n);
            CHECK(next > n);
            CHECK(next % 2 == 1);
            n = next;
        }
        CHECK(n == 63);
        CHECK(calibrate::next_sample_count(n) == 63);
    }
}

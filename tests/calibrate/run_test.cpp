// SPDX-License-Identifier: Apache-2.0
#include "calibrate/run.hpp"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "calibrate/embedded_models.hpp"
#include "calibrate/fit.hpp"
#include "calibrate/measure.hpp"
#include "calibrate/model.hpp"
#include "support.hpp"
#include "topo/file.hpp"

using topo::endpoint;
using topo::engine;

namespace {

calibrate::machine_model model_named(std::string_view name) {
    for (const auto& m : calibrate::embedded_models())
        if (m.name == name) {
            auto parsed = calibrate::parse_model(m.text, std::string(name));
            REQUIRE(parsed);
            return *parsed;
        }
    FAIL("no such model");
    return {};
}

struct stop_after : testing::recorder {
    std::atomic<bool> stop = false;
    std::size_t cells_wanted = 0;
    void on_cell(const calibrate::cell_report& finished) override {
        recorder::on_cell(finished);
        if (cells.size() >= cells_wanted) stop = true;
    }
};

}  // namespace

TEST_CASE("every model: a node that passes its checks, all simulated, true to ±2 % in bandwidth") {
    for (const auto& name : calibrate::simulated_models()) {
        CAPTURE(name.name);
        const auto model = model_named(name.name);
        auto m = testing::simulated(name.name, 11);
        const auto out = testing::calibrated(*m);
        CHECK(out.complete);
        CHECK(out.done == out.total);
        const auto& hw = out.node.hardware;
        CHECK(topo::check(hw).empty());
        CHECK(hw.simulated());
        CHECK(hw.layers.size() == 2 + 4 + 2);
        CHECK(hw.made_by.input == name.name + ", seed 11");
        CHECK(hw.made_by.time > 0);
        CHECK_FALSE(hw.gpus[0].uuid.empty());
        double worst_alpha = 0;
        for (const auto& r : out.cells) {
            const auto link = link_between(model, r.where.from, r.where.to);
            const auto truth = path_between(model, r.where.from, r.where.to, link, r.where.by);
            REQUIRE(truth);
            const double alpha = r.where.by == engine::sm_copy
                                     ? path_between(model, r.where.from, r.where.to, link, engine::sm_flag)->alpha_us
                                     : truth->alpha_us;
            CAPTURE(text_of(r.where, hw));
            CHECK(std::abs(r.value.gb_per_s / truth->gb_per_s - 1) < 0.02);
            worst_alpha = std::max(worst_alpha, std::abs(r.value.alpha_us / alpha - 1));
            CHECK(r.value.from == topo::source::simulated);
            CHECK(r.value.samples > 200);
            CHECK(r.value.spread > 0);
            CHECK(r.value.spread <= 0.02);
        }
        CHECK(worst_alpha < 0.033);
    }
}

TEST_CASE("200 seeds: bandwidth within 2 %, and within the stated interval for nearly all cells") {
    const auto model = model_named("dgx1-v100");
    std::size_t cells = 0, covered = 0;
    for (std::uint64_t seed = 1; seed <= testing::seeds(200); ++seed) {
        auto m = testing::simulated("dgx1-v100", seed);
        const auto out = testing::calibrated(*m, {true, false, false});
        for (const auto& r : out.cells) {
            const auto truth = path_between(model, r.where.from, r.where.to,
                                            link_between(model, r.where.from, r.where.to), r.where.by);
            const double error = std::abs(r.value.gb_per_s / truth->gb_per_s - 1);
            CHECK(error < 0.02);
            ++cells;
            covered += error <= r.value.spread + 5e-4;  // half a unit of the fourth digit stored
        }
    }
    MESSAGE("within the interval: " << covered << " of " << cells);
    CHECK(static_cast<double>(covered) > 0.90 * static_cast<double>(cells));
}

TEST_CASE("the same seed writes the same file, another seed another") {
    for (const auto& name : calibrate::simulated_models()) {
        std::vector<std::string> texts;
        for (const std::uint64_t seed : {5u, 5u, 6u}) {
            auto m = testing::simulated(name.name, seed);
            texts.push_back(topo::write_node(testing::calibrated(*m).node));
        }
        CHECK(texts[0] == texts[1]);
        CHECK(texts[0] != texts[2]);
        const auto read = topo::parse_node(texts[0], "node.json");
        if (!read) FAIL(read.failure().message());
        auto m = testing::simulated(name.name, 5);
        CHECK(read->hardware == testing::calibrated(*m).node.hardware);
    }
}

TEST_CASE("progress counts up to the end, and the time left goes to nothing") {
    auto m = testing::simulated("dgx-a100", 1);
    const auto p = calibrate::make_plan(*m, {});
    REQUIRE(p);
    testing::recorder watch;
    const auto out = calibrate::run_node(*m, *p, {}, watch);
    REQUIRE(out);
    CHECK(watch.seen.size() >= p->rounds.size());
    CHECK(watch.cells.size() == p->cells);
    std::size_t last = 0;
    for (const auto& s : watch.seen) {
        CHECK(s.total == p->cells);
        CHECK(s.done >= last);
        CHECK(std::isfinite(s.seconds_left));
        CHECK(s.seconds_left >= 0);
        last = s.done;
    }
    CHECK(watch.seen.back().done == p->cells);
    CHECK(watch.seen.back().seconds_left == 0);
}

TEST_CASE("a stopped run gives what was measured and no layer with holes") {
    for (const std::size_t wanted : {1u, 5u, 60u, 300u}) {
        auto m = testing::simulated("dgx-h100", 1);
        const auto p = calibrate::make_plan(*m, {});
        REQUIRE(p);
        stop_after watch;
        watch.cells_wanted = wanted;
        calibrate::run_options options;
        options.cancel = &watch.stop;
        const auto out = calibrate::run_node(*m, *p, options, watch);
        REQUIRE(out);
        CHECK_FALSE(out->complete);
        CHECK(out->done >= wanted);
        CHECK(out->done < wanted + 8);
        CHECK(out->cells.size() == out->done);
        CHECK(topo::check(out->node.hardware).empty());
    }
    auto m = testing::simulated("dgx-h100", 1);
    const auto p = calibrate::make_plan(*m, {});
    std::atomic<bool> at_once = true;
    calibrate::run_options options;
    options.cancel = &at_once;
    testing::recorder watch;
    const auto out = calibrate::run_node(*m, *p, options, watch);
    REQUIRE(out);
    CHECK(out->done == 0);
}

TEST_CASE("busy GPUs are refused by name, and measured with force") {
    auto m = testing::simulated("dgx1-v100", 1, {"busy:GPU5"});
    const auto p = calibrate::make_plan(*m, {true, false, false});
    REQUIRE(p);
    testing::recorder watch;
    const auto refused = calibrate::run_node(*m, *p, {}, watch);
    REQUIRE_FALSE(refused);
    CHECK(refused.failure().code == topo::errc::refused);
    CHECK(refused.failure().where == "GPU5");
    CHECK(refused.failure().what.find("4242 python") != std::string::npos);
    calibrate::run_options force;
    force.force = true;
    CHECK(calibrate::run_node(*m, *p, force, watch));
}

TEST_CASE("wrong bytes and dead devices end the run with the name") {
    const auto failure = [](const std::string& fault) {
        auto m = testing::simulated("dgx-h100", 1, {fault});
        const auto p = calibrate::make_plan(*m, {});
        REQUIRE(p);
        testing::recorder watch;
        const auto out = calibrate::run_node(*m, *p, {}, watch);
        REQUIRE_FALSE(out);
        CHECK(out.failure().code == topo::errc::hardware);
        return out.failure().message();
    };
    CHECK(failure("corrupt:GPU1-GPU6").find("GPU1 → GPU6") != std::string::npos);
    CHECK(failure("corrupt:GPU1-mlx5_0").find("mlx5_0") != std::string::npos);
    CHECK(failure("dies:GPU4:3000").find("GPU4") != std::string::npos);
    CHECK(failure("dies:mlx5_2").find("mlx5_2") != std::string::npos);
}

TEST_CASE("directions are kept apart") {
    auto m = testing::simulated("dgx-a100", 1, {"one-way:GPU6-GPU7:0.4"});
    const auto out = testing::calibrated(*m, {true, false, false});
    const auto* layer = out.node.hardware.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine);
    REQUIRE(layer != nullptr);
    CHECK(layer->cells(6, 7).gb_per_s == doctest::Approx(0.4 * 276).epsilon(0.02));
    CHECK(layer->cells(7, 6).gb_per_s == doctest::Approx(276).epsilon(0.02));
}

TEST_CASE("an outlier burst on one pair is measured again and gone") {
    auto m = testing::simulated("dgx-a100", 1, {"burst:GPU6-GPU7"});
    const auto out = testing::calibrated(*m, {true, false, false});
    const auto* layer = out.node.hardware.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine);
    REQUIRE(layer != nullptr);
    CHECK(layer->cells(6, 7).gb_per_s == doctest::Approx(276).epsilon(0.02));
    const bool repeated = std::any_of(out.cells.begin(), out.cells.end(), [](const calibrate::cell_report& r) {
        return r.where.from.index == 6 && r.where.to.index == 7 && r.repeats == 1;
    });
    CHECK(repeated);
}

TEST_CASE("rounding keeps so many digits") {
    CHECK(calibrate::rounded(371.2345, 4) == 371.2);
    CHECK(calibrate::rounded(0.0123456, 2) == 0.012);
    CHECK(calibrate::rounded(2.3456, 3) == 2.35);
    CHECK(calibrate::rounded(12345.6, 4) == 12350);
    CHECK(calibrate::rounded(0, 3) == 0);
    CHECK(calibrate::rounded(9.9996, 4) == 10);
}

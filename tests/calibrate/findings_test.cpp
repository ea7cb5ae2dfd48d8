// SPDX-License-Identifier: Apache-2.0
#include "calibrate/findings.hpp"

#include "support.hpp"

namespace {

topo::findings notes(const std::string& model, std::uint64_t seed, const std::vector<std::string>& faults,
                     bool force = false) {
    auto m = testing::simulated(model, seed, faults);
    calibrate::run_options options;
    options.force = force;
    return testing::calibrated(*m, {}, options).node.notes;
}

}  // namespace

TEST_CASE("a healthy node has no finding: 100 seeds over all models") {
    const auto models = calibrate::simulated_models();
    for (std::uint64_t seed = 1; seed <= testing::seeds(100); ++seed) {
        const auto& model = models[seed % models.size()].name;
        CAPTURE(model);
        CAPTURE(seed);
        const auto found = notes(model, seed, {});
        CHECK_MESSAGE(found.empty(), testing::text(found));
    }
}

TEST_CASE("every fault is found, named by its place, and nothing else is blamed") {
    struct expectation {
        std::string model, fault, name, where;
    };
    const expectation all[] = {
        {"dgx-h100", "nvlink-lost:GPU2-GPU5", "degraded_nvlink", "GPU2-GPU5"},
        {"dgx-h100", "nvlink-lost:GPU5-GPU2:1", "degraded_nvlink", "GPU2-GPU5"},
        {"dgx-a100", "nvlink-lost:GPU0-GPU1:4", "degraded_nvlink", "GPU0-GPU1"},
        {"dgx1-v100", "nvlink-lost:GPU0-GPU3:1", "degraded_nvlink", "GPU0-GPU3"},
        {"dgx1-v100", "nvlink-lost:GPU3-GPU7", "degraded_nvlink", "GPU3-GPU7"},
        {"gb200-nvl72-tray", "nvlink-lost:GPU1-GPU3:2", "degraded_nvlink", "GPU1-GPU3"},
        {"dgx-h100", "pcie-half:GPU3", "pcie_width", "GPU3"},
        {"dgx-a100", "pcie-half:GPU0", "pcie_width", "GPU0"},
        {"dgx1-v100", "pcie-half:GPU7", "pcie_width", "GPU7"},
        {"l40s-pcie-8", "pcie-half:GPU6", "pcie_width", "GPU6"},
        {"dgx-h100", "nic-slow:mlx5_3", "slow_nic", "mlx5_3"},
        {"dgx-h100", "nic-slow:mlx5_1:0.8", "slow_nic", "mlx5_1"},
        {"dgx-a100", "nic-slow:mlx5_9", "slow_nic", "mlx5_9"},
        {"dgx1-v100", "nic-slow:mlx5_2:0.6", "slow_nic", "mlx5_2"},
        {"l40s-pcie-8", "nic-slow:mlx5_1", "slow_nic", "mlx5_1"},
        {"gb200-nvl72-tray", "nic-slow:mlx5_4", "slow_nic", "mlx5_4"},
        {"dgx-h100", "link-slow:GPU2-GPU5", "slow_pair", "GPU2-GPU5"},
        {"dgx-a100", "link-slow:GPU2-GPU5:0.85", "slow_pair", "GPU2-GPU5"},
        {"dgx1-v100", "link-slow:GPU1-GPU2:0.7", "slow_pair", "GPU1-GPU2"},
        {"l40s-pcie-8", "link-slow:GPU1-GPU6:0.7", "slow_pair", "GPU1-GPU6"},
        {"dgx-h100", "link-slow:GPU0-mlx5_0:0.5", "slow_pair", "GPU0-mlx5_0"},
        {"dgx-a100", "one-way:GPU7-GPU6", "slow_pair", "GPU7 → GPU6"},
        {"dgx-h100", "noisy:GPU1-GPU4", "noisy", "GPU1-GPU4"},
        {"dgx-h100", "throttled:GPU1", "disturbed", "GPU1"},
        {"dgx-a100", "replays:GPU6", "disturbed", "GPU6"},
        {"dgx-h100", "gdr-refused", "gdr_lost", "simulated-dgx-h100"},
        {"dgx-h100", "numa-unknown", "numa_unknown", "simulated-dgx-h100"},
        {"gb200-nvl72-tray", "numa-unknown", "numa_unknown", "simulated-gb200-nvl72-tray"},
        {"dgx-h100", "flat-guest", "virtual", "simulated-dgx-h100"},
        {"dgx1-v100", "flat-guest", "virtual", "simulated-dgx1-v100"},
        {"dgx-a100", "burst:GPU6-GPU7", "repeated", "GPU6-GPU7"},
    };
    for (const auto& e : all)
        for (std::uint64_t seed = 1; seed <= (testing::seeds(10) == 10 ? 2u : 1u); ++seed) {
            CAPTURE(e.model);
            CAPTURE(e.fault);
            CAPTURE(seed);
            const auto found = notes(e.model, seed, {e.fault});
            CHECK_MESSAGE(testing::named(found, e.name, e.where), testing::text(found));
            CHECK_MESSAGE(found.size() == 1, testing::text(found));
        }
}

TEST_CASE("two faults at once are two findings") {
    const auto found = notes("dgx-h100", 1, {"nic-slow:mlx5_3", "link-slow:GPU2-GPU5"});
    CHECK_MESSAGE(testing::named(found, "slow_nic", "mlx5_3"), testing::text(found));
    CHECK_MESSAGE(testing::named(found, "slow_pair", "GPU2-GPU5"), testing::text(found));
    CHECK(found.size() == 2);
}

TEST_CASE("what a finding says") {
    const auto lost = notes("dgx-h100", 1, {"nvlink-lost:GPU2-GPU5:2"});
    REQUIRE(lost.size() == 1);
    CHECK(lost[0].level == topo::severity::warning);
    CHECK(lost[0].what == "degraded_nvlink: 16 of 18 NVLinks are up");
    CHECK_FALSE(lost[0].remedy.empty());
    const auto slow = notes("dgx-h100", 1, {"nic-slow:mlx5_3"});
    REQUIRE(slow.size() == 1);
    CHECK(slow[0].what.find("where its like has 48") != std::string::npos);
}

TEST_CASE("a flat guest is not trusted, and its costs are still measured") {
    auto m = testing::simulated("dgx-a100", 1, {"flat-guest"});
    const auto out = testing::calibrated(*m);
    CHECK_FALSE(out.node.hardware.locality_trusted);
    CHECK(topo::check(out.node.hardware).empty());
    CHECK(out.node.hardware.layers.size() == 8);
    auto bare = testing::simulated("dgx-a100", 1);
    CHECK(testing::calibrated(*bare).node.hardware.locality_trusted);
}

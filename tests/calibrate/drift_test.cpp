// SPDX-License-Identifier: Apache-2.0
// Drift: every injected change is named, nothing is invented, and what was accepted is quiet afterwards.
#include "calibrate/drift.hpp"

#include <cmath>
#include <cstdlib>

#include "support.hpp"

using calibrate::check_drift;
using calibrate::check_tier;
using testing::calibrated;
using testing::named;
using testing::recorder;
using testing::seeds;
using testing::simulated;
using testing::text;

namespace {

topo::node_description stored(const std::string& model, std::uint64_t seed,
                              const std::vector<std::string>& faults = {}) {
    const auto m = simulated(model, seed, faults);
    return calibrated(*m).node;
}

calibrate::drift_report check(calibrate::machine& m, const topo::node_description& before,
                              check_tier tier = check_tier::sample, std::uint64_t seed = 1,
                              const topo::node_class* class_of = nullptr) {
    recorder ignored;
    calibrate::drift_options how;
    how.tier = tier;
    how.seed = seed;
    auto got = check_drift(m, before, class_of, how, ignored);
    if (!got) FAIL(got.failure().message());
    return std::move(*got);
}

std::string nic_of(const topo::node_description& node, std::size_t gpu) {
    return node.hardware.nics[static_cast<std::size_t>(topo::nearest_nics(node.hardware)[gpu])].name;
}

const std::vector<std::string> models = {"dgx-h100", "dgx-a100", "dgx1-v100", "l40s-pcie-8", "gb200-nvl72-tray"};

}  // namespace

// ATOLL_DRIFT_SEEDS: more seeds, for the figure in docs/measuring.md.
TEST_CASE("healthy nodes: no false alarm") {
    const char* asked = std::getenv("ATOLL_DRIFT_SEEDS");
    const std::uint64_t tries = asked != nullptr ? std::strtoull(asked, nullptr, 10) : seeds(15);
    std::size_t cells = 0, doubtful = 0;
    for (const auto& model : models) {
        const auto before = stored(model, 1);
        for (std::uint64_t seed = 2; seed < 2 + tries; ++seed) {
            CAPTURE(model);
            CAPTURE(seed);
            const auto m = simulated(model, seed);
            recorder watched;
            calibrate::drift_options how;
            how.tier = check_tier::full;
            how.seed = seed;
            const auto got = check_drift(*m, before, nullptr, how, watched);
            REQUIRE(got);
            CHECK_MESSAGE(!got->changed, text(got->changes));
            for (const auto& c : got->cells) CHECK_FALSE(c.changed);
            cells += got->cells.size();
            doubtful += watched.cells.size() - got->cells.size();
        }
    }
    MESSAGE(cells << " costs, " << doubtful << " measured twice");
    CHECK(cells > tries * 1000);
}

TEST_CASE("10 % slower is found every time, by sample where it touches each device, and named") {
    for (std::uint64_t seed = 2; seed < 2 + seeds(16); ++seed) {
        CAPTURE(seed);
        const auto before = stored("dgx-h100", 1);
        const std::string gpu = "GPU" + std::to_string(seed % 8);
        const std::string nic = nic_of(before, seed % 8);
        const auto slow_nic = simulated("dgx-h100", seed, {"nic-slow:" + nic + ":0.9"});
        const auto one = check(*slow_nic, before, check_tier::sample, seed);
        CHECK(one.changed);
        CHECK_MESSAGE(named(one.changes, "slow_rail", nic), text(one.changes));
        CHECK(one.changes.size() == 1);
        const std::string other = "GPU" + std::to_string((seed + 3) % 8);
        const auto slow_pair = simulated("dgx-h100", seed, {"link-slow:" + gpu + "-" + other + ":0.9"});
        const auto two = check(*slow_pair, before, check_tier::full, seed);
        CHECK(two.changed);
        CHECK(two.changes.size() == 1);
        const bool there =
            named(two.changes, "slow_pair", gpu + "-" + other) || named(two.changes, "slow_pair", other + "-" + gpu);
        CHECK_MESSAGE(there, text(two.changes));
    }
}

TEST_CASE("facts alone find lost links and halved slots in no time, and measure nothing") {
    const auto before = stored("dgx1-v100", 1);
    const auto m = simulated("dgx1-v100", 3, {"nvlink-lost:GPU0-GPU3", "pcie-half:GPU5"});
    const auto got = check(*m, before, check_tier::facts);
    CHECK(got.changed);
    CHECK_MESSAGE(named(got.changes, "degraded_nvlink", "GPU0-GPU3"), text(got.changes));
    CHECK_MESSAGE(named(got.changes, "pcie_width", "GPU5"), text(got.changes));
    CHECK(got.cells.empty());
    CHECK(got.seconds < 1);
    const auto healthy = simulated("dgx1-v100", 3);
    CHECK_FALSE(check(*healthy, before, check_tier::facts).changed);
}

TEST_CASE("GPUDirect gone, a slow GPU slot, one direction: by name") {
    const auto h100 = stored("dgx-h100", 1);
    const auto refused = simulated("dgx-h100", 5, {"gdr-refused"});
    const auto gdr = check(*refused, h100);
    CHECK(gdr.changed);
    CHECK_MESSAGE(named(gdr.changes, "gdr_lost", h100.host), text(gdr.changes));
    const auto l40s = stored("l40s-pcie-8", 1);
    const auto half = simulated("l40s-pcie-8", 5, {"pcie-half:GPU2"});
    const auto slot = check(*half, l40s);
    CHECK(slot.changed);
    CHECK_MESSAGE(named(slot.changes, "pcie_width", "GPU2"), text(slot.changes));
    for (const auto& f : slot.changes) CHECK_MESSAGE(f.what.rfind("slow_", 0) != 0, text(slot.changes));
    const auto one_way = simulated("dgx-h100", 6, {"one-way:GPU1-GPU4:0.5"});
    const auto direction = check(*one_way, h100, check_tier::full);
    CHECK(direction.changed);
    CHECK_MESSAGE(named(direction.changes, "slow_pair", "GPU1-GPU4"), text(direction.changes));
}

TEST_CASE("what scatters is noisy, not changed") {
    const auto before = stored("dgx-h100", 1);
    const auto m = simulated("dgx-h100", 4, {"noisy:GPU2-GPU3"});
    const auto got = check(*m, before, check_tier::full);
    for (const auto& f : got.changes) CHECK_MESSAGE(f.what.rfind("noisy", 0) == 0, text(got.changes));
    CHECK_FALSE(got.changed);
}

TEST_CASE("what was accepted is quiet afterwards, and the rest of the file stays") {
    const auto before = stored("dgx-h100", 1);
    const std::vector<std::string> fault{"nic-slow:" + nic_of(before, 2) + ":0.5"};
    const auto m = simulated("dgx-h100", 2, fault);
    const auto got = check(*m, before);
    REQUIRE(got.changed);
    REQUIRE(got.not_acceptable.empty());
    const auto again = simulated("dgx-h100", 3, fault);
    const auto quiet = check(*again, got.accepted, check_tier::full);
    CHECK_MESSAGE(!quiet.changed, text(quiet.changes));
    std::size_t differ = 0;
    for (std::size_t l = 0; l < before.hardware.layers.size(); ++l)
        for (std::size_t r = 0; r < before.hardware.layers[l].cells.rows(); ++r)
            for (std::size_t c = 0; c < before.hardware.layers[l].cells.columns(); ++c)
                differ += !(before.hardware.layers[l].cells(r, c) == got.accepted.hardware.layers[l].cells(r, c));
    CHECK(differ >= 16);  // the NIC with each GPU, both directions
    CHECK(differ <= 40);
    // Repaired: faster than stored, which is a change too, to be accepted in turn.
    const auto healed = simulated("dgx-h100", 4);
    const auto better = check(*healed, got.accepted, check_tier::full);
    CHECK(better.changed);
    CHECK_MESSAGE(named(better.changes, "faster", before.host), text(better.changes));
}

TEST_CASE("a stored value that was off, and is now as its class: told so, not an alarm") {
    const auto healthy = stored("dgx-h100", 1);
    const auto bad = stored("dgx-h100", 2, {"link-slow:GPU0-GPU1:0.7"});
    const auto m = simulated("dgx-h100", 3);
    const auto got = check(*m, bad, check_tier::full, 1, &healthy.hardware);
    CHECK_FALSE(got.changed);
    CHECK_MESSAGE(named(got.changes, "as_class", bad.host), text(got.changes));
    CHECK(check(*m, bad, check_tier::full).changed);
}

TEST_CASE("another machine's file, missing devices: no crash, and nothing to accept") {
    const auto before = stored("dgx1-v100", 1);
    const auto m = simulated("gb200-nvl72-tray", 1);
    const auto got = check(*m, before);
    CHECK(got.changed);
    CHECK_FALSE(got.not_acceptable.empty());
    topo::node_description empty;
    const auto none = check(*m, empty);
    CHECK(none.cells.empty());
    CHECK_FALSE(none.not_acceptable.empty());
}

TEST_CASE("a device that dies ends the check with its name") {
    const auto before = stored("dgx-h100", 1);
    const auto m = simulated("dgx-h100", 2, {"dies:GPU3:20"});
    recorder ignored;
    const auto got = check_drift(*m, before, nullptr, {}, ignored);
    REQUIRE_FALSE(got);
    CHECK(got.failure().code == topo::errc::hardware);
}

TEST_CASE("the sample of an 8 GPU + 8 NIC node takes less than 5 s of the machine's time") {
    const auto before = stored("dgx-h100", 1);
    const auto m = simulated("dgx-h100", 9);
    const auto got = check(*m, before);
    MESSAGE(got.cells.size() << " of " << got.stored_costs << " costs in " << got.seconds << " s");
    CHECK(got.seconds < 5);
    CHECK(got.cells.size() >= 40);
}

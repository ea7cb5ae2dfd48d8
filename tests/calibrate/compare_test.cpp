// SPDX-License-Identifier: Apache-2.0
#include "calibrate/compare.hpp"

#include <algorithm>

#include "support.hpp"

using calibrate::change_kind;
using calibrate::compare;

namespace {

topo::node_description node(const std::string& model, std::uint64_t seed, const std::vector<std::string>& faults = {}) {
    auto m = testing::simulated(model, seed, faults);
    return testing::calibrated(*m).node;
}

std::size_t count(const calibrate::comparison& c, change_kind kind) {
    return static_cast<std::size_t>(std::count_if(c.changes.begin(), c.changes.end(),
                                                  [kind](const calibrate::change& x) { return x.kind == kind; }));
}

}  // namespace

TEST_CASE("the same node measured twice has not changed, 20 seeds") {
    const auto stored = node("dgx-h100", 1000);
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        const auto c = compare(node("dgx-h100", seed), stored);
        CHECK_MESSAGE(c.same(), testing::text(to_findings(c)));
    }
}

TEST_CASE("all NVLinks of a pair gone after a boot: the pair by name, both figures, the old kept") {
    const auto stored = node("dgx-a100", 1);
    const auto before = stored.hardware;
    const auto c = compare(node("dgx-a100", 2, {"nvlink-lost:GPU2-GPU5"}), stored);
    REQUIRE(count(c, change_kind::degraded_nvlink) == 1);
    CHECK(c.changes.front().where == "GPU2-GPU5");
    CHECK(c.changes.front().before == "NV12");
    CHECK(c.changes.front().now == "SYS");
    CHECK(c.changes.front().share == 0);
    CHECK(count(c, change_kind::slower) == 4);  // two engines, two directions
    CHECK(c.degraded());
    const auto found = to_findings(c);
    REQUIRE(found.size() == 2);
    CHECK(found[0].what == "degraded_nvlink: NV12 before, SYS now");
    CHECK(found[0].remedy.find("kept") != std::string::npos);
    CHECK(stored.hardware == before);
}

TEST_CASE("four of six links: partly degraded") {
    auto stored = node("dgx1-v100", 1);
    auto now = stored;
    stored.hardware.gpu_links(0, 3) = stored.hardware.gpu_links(3, 0) = {topo::link_class::nvlink, 6};
    now.hardware.gpu_links(0, 3) = now.hardware.gpu_links(3, 0) = {topo::link_class::nvlink, 4};
    const auto c = compare(now, stored);
    REQUIRE(c.changes.size() == 1);
    CHECK(c.changes[0].kind == change_kind::degraded_nvlink);
    CHECK(c.changes[0].share == doctest::Approx(4.0 / 6));
    // and back again is a change, but no loss
    const auto back = compare(stored, now);
    REQUIRE(back.changes.size() == 1);
    CHECK(back.changes[0].kind == change_kind::link_changed);
}

TEST_CASE("a slow NIC is slower in every cell of it, and only there") {
    const auto c = compare(node("dgx-h100", 2, {"nic-slow:mlx5_3"}), node("dgx-h100", 1));
    CHECK(count(c, change_kind::slower) == 4 * 8);
    for (const auto& x : c.changes) CHECK(x.where.find("mlx5_3") != std::string::npos);
    for (const auto& x : c.changes) CHECK(x.share == doctest::Approx(0.5).epsilon(0.05));
    CHECK(to_findings(c).size() == 1);
}

TEST_CASE("devices are matched by identity: another order or another NIC name is no change") {
    const auto stored = node("dgx-h100", 1);
    auto now = stored;
    for (std::size_t i = 0; i < now.hardware.nics.size(); ++i) now.hardware.nics[i].name = "roce" + std::to_string(i);
    CHECK(compare(now, stored).same());
    now = stored;
    now.hardware.layers.clear();
    auto bare = stored;
    bare.hardware.layers.clear();
    std::reverse(now.hardware.gpus.begin(), now.hardware.gpus.end());
    now.hardware.nic_links = {};
    bare.hardware.nic_links = {};
    for (auto* hw : {&now.hardware, &bare.hardware})
        for (auto& g : hw->gpus) g.numa = topo::unknown_numa;
    for (const auto& x : compare(now, bare).changes) CHECK(x.kind == change_kind::swapped_nic);  // ties go by order
    CHECK(count(compare(now, bare), change_kind::device_missing) == 0);
}

TEST_CASE("missing and added devices") {
    const auto stored = node("dgx-h100", 1);
    auto now = stored;
    now.hardware.gpus[7].uuid = "GPU-another";
    const auto c = compare(now, stored);
    CHECK(count(c, change_kind::device_missing) == 1);
    CHECK(count(c, change_kind::device_added) == 1);
    CHECK(c.degraded());
}

TEST_CASE("swapped nearest NICs are named") {
    const auto stored = node("dgx1-v100", 1);
    auto now = stored;
    for (auto& l : now.hardware.layers)
        for (std::size_t g = 0; g < 8; ++g) {
            if (l.from == topo::endpoint::gpu && l.to == topo::endpoint::nic) std::swap(l.cells(g, 0), l.cells(g, 1));
            if (l.from == topo::endpoint::nic && l.to == topo::endpoint::gpu) std::swap(l.cells(0, g), l.cells(1, g));
        }
    const auto c = compare(now, stored);
    CHECK(count(c, change_kind::swapped_nic) == 4);
}

TEST_CASE("costs of different sources are not compared") {
    const auto stored = node("dgx1-v100", 1);
    auto now = stored;
    for (auto& l : now.hardware.layers)
        for (auto& cell : l.cells.cells())
            if (cell.present()) cell.from = topo::source::measured, cell.gb_per_s *= 0.5;
    CHECK(count(compare(now, stored), change_kind::slower) == 0);
}

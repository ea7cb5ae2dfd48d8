// SPDX-License-Identifier: Apache-2.0
// Health rules and the health file.
#include "k8s-device-plugin/health.hpp"

#include <doctest/doctest.h>

#include "k8s-device-plugin/health_source.hpp"
#include "support.hpp"

using namespace kube_test;
using kube::fault;
using kube::fault_kind;

TEST_CASE("case 12: an Xid has a way back, an application's Xid never counts") {
    const auto node = inventory_of(four_pairs());
    kube::settings s;
    s.clean_checks = 3;
    kube::health_rules rules(s);
    CHECK(rules.take(node, {{"GPU-03", fault_kind::xid, 68, ""}, {"GPU-01", fault_kind::xid, 31, ""}}).empty());
    auto changed = rules.take(node, {{"GPU-03", fault_kind::xid, 69, ""}});
    REQUIRE(changed.size() == 1);
    CHECK(changed[0].gpu == "GPU-03");
    CHECK(!changed[0].healthy);
    CHECK(changed[0].why == "Xid 69");
    CHECK(rules.unhealthy(node) == 1u << 3);
    CHECK(rules.take(node, {}).empty());
    CHECK(rules.take(node, {}).empty());
    CHECK(rules.take(node, {{"GPU-03", fault_kind::ecc, 0, ""}}).empty());  // counts from the start again
    CHECK(rules.take(node, {}).empty());
    CHECK(rules.take(node, {{"GPU-03", fault_kind::xid, 13, ""}}).empty());  // ignored: a clean look
    CHECK(rules.unhealthy(node) == 1u << 3);
    changed = rules.take(node, {});
    REQUIRE(changed.size() == 1);
    CHECK(changed[0].healthy);
    CHECK(rules.unhealthy(node) == 0);
}

TEST_CASE("one lost GPU leaves the others alone; unknown GPUs are nobody's fault") {
    const auto node = inventory_of(four_pairs());
    kube::health_rules rules(kube::settings{});
    const auto changed =
        rules.take(node, {{"GPU-05", fault_kind::lost, 0, "fell off the bus"}, {"GPU-77", fault_kind::lost, 0, ""}});
    REQUIRE(changed.size() == 1);
    CHECK(changed[0].why == "lost: fell off the bus");
    CHECK(rules.unhealthy(node) == 1u << 5);
}

TEST_CASE("health files: every kind of line, and what is wrong with others") {
    const auto node = inventory_of(four_pairs());
    const auto got = kube::parse_faults(
        "# all\n\nGPU-01 xid 79\nGPU2 nvlink 3 links down\nGPU-03 ecc # comment\n  GPU-04\tfan stopped\r\n", "health",
        node);
    REQUIRE(got);
    REQUIRE(got->size() == 4);
    CHECK((*got)[0].xid == 79);
    CHECK((*got)[1].gpu == "GPU-02");
    CHECK((*got)[1].kind == fault_kind::nvlink);
    CHECK((*got)[1].detail == "3 links down");
    CHECK((*got)[2].kind == fault_kind::ecc);
    CHECK((*got)[3].kind == fault_kind::other);
    CHECK((*got)[3].detail == "fan stopped");
    for (const std::string& text : {std::string("GPU-01"), std::string("GPU-01 xid"), std::string("GPU-01 xid 7x"),
                                    std::string("GPU-01 xid -1"), std::string("GPU-01 xid 99999999999999999999"),
                                    std::string("GPU-99 ecc"), std::string("\0\1\2 x", 5), std::string(20'001, '\n')}) {
        const auto bad = kube::parse_faults(text, "health", node);
        CHECK(!bad);
        if (!bad) CHECK(bad.failure().where.starts_with("health:"));
    }
    CHECK(kube::parse_faults("", "health", node)->empty());
}

TEST_CASE("a source that does not answer changes nothing, one that hangs does not hold the end up") {
    struct mute final : kube::health_source {
        topo::result<std::vector<fault>> look(const kube::inventory&) override {
            const int n = ++looks;
            if (n == 1) return std::vector<fault>{{"GPU-02", fault_kind::lost, 0, ""}};
            return topo::error{topo::errc::hardware, "driver", "does not answer", ""};
        }
        std::atomic<int>& looks;
        explicit mute(std::atomic<int>& count) : looks(count) {}
    };
    kube::settings s;
    s.health_interval_s = 0.01;
    kube::feed devices;
    devices.set_inventory(std::make_shared<const kube::inventory>(inventory_of(four_pairs())));
    kube::metrics counted("atoll.dev/gpu");
    std::atomic<int> looks{0};
    kube::health_monitor monitor(s, devices, counted, std::make_unique<mute>(looks));
    const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (looks < 8 && std::chrono::steady_clock::now() < until)
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    CHECK(looks >= 8);
    CHECK(devices.now().unhealthy == 1u << 2);
    CHECK(sample(counted.text(), "atoll_health_source_answers") == 0);
    // A reload keeps what is known, by id.
    devices.set_inventory(std::make_shared<const kube::inventory>(inventory_of(four_pairs())));
    CHECK(devices.now().unhealthy == 1u << 2);
    CHECK(monitor.stop(std::chrono::seconds(10)));
}

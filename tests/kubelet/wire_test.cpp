// SPDX-License-Identifier: Apache-2.0
// The program against a kubelet of ours: what goes over the socket.
#include <doctest/doctest.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <random>
#include <set>

#include "../exact/subset_reference.hpp"
#include "fake_kubelet.hpp"
#include "process.hpp"
#include "support.hpp"
#include "topo/file.hpp"

using namespace kube_test;
using namespace std::chrono_literals;

namespace {

struct setup {
    folder at;
    std::string sockets = at.path() + "/dp";
    fake_kubelet kubelet;
    int port = free_port();
    std::unique_ptr<plugin_process> plugin;

    explicit setup(topo::node_class board, call_order order = call_order::options_first) : kubelet(sockets, order) {
        at.write("node.json", topo::write_node(node_of(std::move(board))));
        kubelet.start();
    }
    [[nodiscard]] std::vector<std::string> arguments(const std::vector<std::string>& more = {}) const {
        std::vector<std::string> out = {"--plugin-dir",      sockets,
                                        "--devices",         at.path() + "/node.json",
                                        "--metrics-address", "127.0.0.1:" + std::to_string(port),
                                        "--health",          "none"};
        out.insert(out.end(), more.begin(), more.end());
        return out;
    }
    void run(const std::vector<std::string>& more = {}) {
        plugin = std::make_unique<plugin_process>(arguments(more), at.path() + "/log");
        const std::size_t before = kubelet.devices().size();
        if (!kubelet.wait([&] { return kubelet.devices().size() > before || !kubelet.devices().empty(); }))
            FAIL(plugin->log());
    }
};

}  // namespace

TEST_CASE("both call orders: registration, devices with NUMA nodes, preference, allocation, a clean end") {
    for (const auto order : {call_order::reply_first, call_order::options_first}) {
        setup s(boards::with_nics(four_pairs()), order);
        s.run();
        const auto request = s.kubelet.last_request();
        CHECK(request.version() == "v1beta1");
        CHECK(request.endpoint() == "atoll.dev-gpu.sock");
        CHECK(request.resource_name() == "atoll.dev/gpu");
        CHECK(request.options().get_preferred_allocation_available());
        CHECK(!request.options().pre_start_required());
        const auto devices = s.kubelet.devices();
        REQUIRE(devices.size() == 8);
        for (unsigned g = 0; g < 8; ++g) {
            CHECK(devices[g].id == id_of(g));
            CHECK(devices[g].health == "Healthy");
            CHECK(devices[g].numa == (g < 4 ? 0 : 1));
        }
        std::vector<std::string> two;
        REQUIRE(s.kubelet.prefer({"GPU-07", "GPU-00", "GPU-06", "GPU-02"}, {}, 2, two).ok());
        CHECK(two == std::vector<std::string>{"GPU-06", "GPU-07"});
        v1beta1::ContainerAllocateResponse given;
        REQUIRE(s.kubelet.allocate(two, given).ok());
        CHECK(given.envs().at("NVIDIA_VISIBLE_DEVICES") == "GPU-06,GPU-07");
        CHECK(given.envs().at("NCCL_IB_HCA") == "=nic6,nic7");
        const auto failed = s.kubelet.allocate({"GPU-99"}, given);
        CHECK(failed.error_code() == grpc::StatusCode::INVALID_ARGUMENT);
        CHECK(failed.error_message().find("GPU-99") != std::string::npos);
        CHECK(s.kubelet.wait([&] { return get(s.port, "/readyz").status == 200; }));
        s.plugin->send(SIGTERM);
        CHECK(s.plugin->wait() == 0);
        CHECK(!std::filesystem::exists(s.sockets + "/atoll.dev-gpu.sock"));
    }
}

TEST_CASE("10,000 calls: every answer is the optimum, nothing falls back, memory stays") {
    setup s(four_pairs());
    s.run({"--numa-hints=false"});
    for (const auto& d : s.kubelet.devices()) CHECK(d.numa == -1);
    const auto node = inventory_of(four_pairs());
    exact::reference expected(node.hardware(), 64e6, 0.05);
    std::mt19937_64 random(10'000);
    std::vector<std::string> got;
    const auto one = [&](bool compare) {
        const topo::gpu_mask free = 1 + random() % 255;
        const unsigned size = 1 + static_cast<unsigned>(random() % topo::count(free));
        topo::gpu_mask must = random() % 2 == 0 ? free & random() : 0;
        while (topo::count(must) > size) must &= must - 1;
        auto offered = ids_of(free);
        std::shuffle(offered.begin(), offered.end(), random);
        REQUIRE(s.kubelet.prefer(offered, ids_of(must), static_cast<int>(size), got).ok());
        if (compare) REQUIRE(mask_of(got) == expected.best(free, size, must));
        v1beta1::ContainerAllocateResponse given;
        REQUIRE(s.kubelet.allocate(got, given).ok());
    };
    for (int i = 0; i < 2000; ++i) one(true);
    const long before = s.plugin->resident_kb();
    for (int i = 0; i < 3000; ++i) one(true);
    const long after = s.plugin->resident_kb();
    MESSAGE("resident after 4,000 calls " << before << " kB, after 10,000 calls " << after << " kB");
#ifndef __SANITIZE_ADDRESS__ // which keeps up to 256 MB of freed memory aside
    CHECK(after <= before + 512);
#endif
    const std::string metrics = get(s.port, "/metrics").body;
    for (const std::string& reason : {std::string("unknown_ids"), std::string("too_few"), std::string("no_choice")})
        CHECK(sample(metrics, "atoll_preferred_fallbacks_total", {"\"" + reason + "\""}) == 0);
    CHECK(sample(metrics, "atoll_call_seconds_count", {"\"Allocate\""}) == 5000);
    CHECK(sample(metrics, "atoll_call_seconds_count", {"\"GetPreferredAllocation\""}) == 5000);
}

TEST_CASE("garbage from the kubelet's side gets an answer and is counted") {
    setup s(four_pairs());
    s.run();
    std::vector<std::string> got;
    REQUIRE(s.kubelet.prefer({"x", "y"}, {}, 2, got).ok());
    CHECK(got.size() == 2);
    REQUIRE(s.kubelet.prefer({"GPU-00"}, {}, 2'000'000'000, got).ok());
    CHECK(got.size() == 1);
    REQUIRE(s.kubelet.prefer({}, {}, -1, got).ok());
    CHECK(got.empty());
    const std::vector<std::string> many(50'000, std::string(20, 'z'));
    REQUIRE(s.kubelet.prefer(many, {}, 3, got).ok());
    CHECK(got.size() == 1);  // one distinct id was offered
    const std::string metrics = get(s.port, "/metrics").body;
    CHECK(sample(metrics, "atoll_preferred_fallbacks_total", {"\"unknown_ids\""}) == 1);
    CHECK(sample(metrics, "atoll_preferred_fallbacks_total", {"\"too_few\""}) == 2);
    // An empty request, and one for two containers.
    grpc::ClientContext none_context, two_context, start_context;
    v1beta1::PreferredAllocationResponse answer;
    CHECK(s.kubelet.plugin().GetPreferredAllocation(&none_context, {}, &answer).ok());
    CHECK(answer.container_responses_size() == 0);
    v1beta1::PreferredAllocationRequest two;
    for (int i = 0; i < 2; ++i) {
        auto* one = two.add_container_requests();
        for (const auto& id : ids_of(0xff)) one->add_available_deviceids(id);
        one->set_allocation_size(2 + 2 * i);
    }
    CHECK(s.kubelet.plugin().GetPreferredAllocation(&two_context, two, &answer).ok());
    REQUIRE(answer.container_responses_size() == 2);
    CHECK(answer.container_responses(1).deviceids_size() == 4);
    v1beta1::PreStartContainerResponse started;
    CHECK(s.kubelet.plugin().PreStartContainer(&start_context, {}, &started).ok());
}

TEST_CASE("pages: probes, metrics, and requests that are none") {
    setup s(four_pairs());
    s.kubelet.stop();
    s.plugin = std::make_unique<plugin_process>(s.arguments(), s.at.path() + "/log");
    REQUIRE(s.kubelet.wait([&] { return get(s.port, "/healthz").status == 200; }));
    CHECK(get(s.port, "/readyz").status == 503);
    CHECK(get(s.port, "/nothing").status == 404);
    CHECK(raw_exchange(s.port, "POST /metrics HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
    CHECK(raw_exchange(s.port, "\x01\x02\n\n").starts_with("HTTP/1.1 400"));
    CHECK(raw_exchange(s.port, std::string(20'000, 'x')).find("200") == std::string::npos);
    CHECK(raw_exchange(s.port, "GET /healthz") == "");  // never finished: closed after two seconds
    CHECK(get(s.port, "/healthz?x=1").status == 200);
    s.kubelet.start();
    CHECK(s.kubelet.wait([&] { return get(s.port, "/readyz").status == 200; }));
    CHECK(get(s.port, "/metrics").body.find("atoll_devices{") != std::string::npos);
}

TEST_CASE("16 GPUs and more than 16") {
    for (const std::size_t n : {16u, 24u}) {
        setup s(boards::switched("big", n));
        s.run();
        CHECK(s.kubelet.devices().size() == n);
        std::vector<std::string> got;
        for (const int size : {1, 3, 8, static_cast<int>(n)}) {
            REQUIRE(s.kubelet.prefer(ids_of(topo::first_gpus(n)), {id_of(5)}, size, got).ok());
            CHECK(std::set(got.begin(), got.end()).size() == static_cast<std::size_t>(size));
            CHECK(std::find(got.begin(), got.end(), id_of(5)) != got.end());
        }
    }
}

TEST_CASE("wrong use ends at once with a code and words") {
    const folder at;
    const auto ended = [&](const std::vector<std::string>& arguments) {
        plugin_process p(arguments, at.path() + "/log");
        const auto code = p.wait();
        REQUIRE(code);
        CHECK(!p.log().empty());
        return *code;
    };
    CHECK(ended({"--what"}) == 2);
    CHECK(ended({"--help"}) == 0);
    CHECK(ended({"--version"}) == 0);
    CHECK(ended({"--devices", at.path() + "/absent.json"}) == 3);
    CHECK(ended({"--devices", at.write("bad.json", "{}")}) == 2);
    const std::string node = at.write("node.json", topo::write_node(node_of(four_pairs())));
    CHECK(ended({"--devices", node, "--metrics-address", "nonsense"}) == 3);
    CHECK(ended({"--devices", node, "--cluster-file", node}) == 2);
}

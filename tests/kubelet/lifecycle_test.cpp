// SPDX-License-Identifier: Apache-2.0
// The program against a kubelet that comes, goes and changes its mind.
#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <thread>

#include "../placement/boards.hpp"
#include "fake_kubelet.hpp"
#include "process.hpp"
#include "support.hpp"
#include "topo/file.hpp"

using namespace kube_test;
using namespace std::chrono_literals;

namespace {

using clock = std::chrono::steady_clock;

struct setup {
    folder at;
    std::string sockets = at.path() + "/dp";
    std::string node = at.write("node.json", topo::write_node(node_of(four_pairs())));
    fake_kubelet kubelet{sockets};
    int port = free_port();
    std::vector<std::string> more;
    std::unique_ptr<plugin_process> plugin;

    void run() {
        std::vector<std::string> arguments = {
            "--plugin-dir", sockets, "--devices", node, "--metrics-address", "127.0.0.1:" + std::to_string(port)};
        arguments.insert(arguments.end(), more.begin(), more.end());
        if (more.empty()) arguments.insert(arguments.end(), {"--health", "none"});
        plugin = std::make_unique<plugin_process>(arguments, at.path() + "/log");
    }
    [[nodiscard]] bool registered(int times) {
        return kubelet.wait([&] { return kubelet.registrations() >= times && !kubelet.devices().empty(); });
    }
    [[nodiscard]] double seconds_until(const std::function<bool()>& true_when) const {
        const auto start = clock::now();
        if (!kubelet.wait(true_when)) FAIL(plugin->log());
        return std::chrono::duration<double>(clock::now() - start).count();
    }
};

}  // namespace

TEST_CASE("case 10: a restarted kubelet is registered with again within a second, every time") {
    setup s;
    s.kubelet.start();
    s.run();
    REQUIRE(s.registered(1));
    for (int restart = 1; restart <= 5; ++restart) {
        s.kubelet.stop();
        // Sometimes at once, sometimes only after the plugin has noticed.
        if (restart % 2 == 0) std::this_thread::sleep_for(300ms);
        s.kubelet.start();
        const double took = s.seconds_until(
            [&] { return s.kubelet.registrations() == restart + 1 && s.kubelet.devices().size() == 8; });
        MESSAGE("registered again " << took << " s after restart " << restart);
        CHECK(took < 1.0);
    }
    s.plugin->send(SIGTERM);
    CHECK(s.plugin->wait() == 0);
}

TEST_CASE("case 10: refused three times, then taken; the pause does not grow far") {
    setup s;
    s.kubelet.start();
    s.kubelet.refuse(3);
    s.run();
    CHECK(s.seconds_until([&] { return s.kubelet.registrations() == 1; }) < 5.0);
    CHECK(s.kubelet.refused() == 3);
}

TEST_CASE("the plugin comes first: no folder, then a folder, then a kubelet") {
    setup s;
    s.run();
    CHECK(s.kubelet.wait([&] { return get(s.port, "/readyz").status == 503; }));
    std::filesystem::create_directories(s.sockets);
    std::this_thread::sleep_for(300ms);
    s.kubelet.start();
    CHECK(s.seconds_until([&] { return s.kubelet.devices().size() == 8; }) < 5.0);
    CHECK(s.kubelet.wait([&] { return get(s.port, "/readyz").status == 200; }));
}

TEST_CASE("the own socket is taken away: listened and registered again") {
    setup s;
    s.kubelet.start();
    s.run();
    REQUIRE(s.registered(1));
    std::filesystem::remove(s.sockets + "/atoll.dev-gpu.sock");
    CHECK(s.seconds_until([&] { return s.kubelet.registrations() == 2 && s.kubelet.devices().size() == 8; }) < 1.0);
    std::vector<std::string> got;
    CHECK(s.kubelet.wait([&] { return s.kubelet.prefer(ids_of(0xff), {}, 2, got).ok(); }));
}

TEST_CASE("killed with -9 and started again: a stale socket is no obstacle") {
    setup s;
    s.kubelet.start();
    s.run();
    REQUIRE(s.registered(1));
    s.plugin->send(SIGKILL);
    REQUIRE(s.plugin->wait() == -SIGKILL);
    CHECK(std::filesystem::exists(s.sockets + "/atoll.dev-gpu.sock"));
    const auto start = clock::now();
    s.run();
    REQUIRE(s.registered(2));
    MESSAGE("from start to registered " << std::chrono::duration<double>(clock::now() - start).count() << " s");
}

TEST_CASE("another plugin takes the resource: we come back, but do not fight") {
    setup s;
    s.kubelet.start();
    s.run();
    REQUIRE(s.registered(1));
    const auto rob = [&] {  // registers another socket under the same name
        auto channel = grpc::CreateChannel("unix:" + s.sockets + "/kubelet.sock", grpc::InsecureChannelCredentials());
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 500ms);
        v1beta1::RegisterRequest request;
        request.set_version("v1beta1");
        request.set_endpoint("other.sock");
        request.set_resource_name("atoll.dev/gpu");
        v1beta1::Empty reply;
        (void)v1beta1::Registration::NewStub(channel)->Register(&context, request, &reply);
    };
    rob();
    CHECK(s.seconds_until([&] { return s.kubelet.registrations() == 2; }) < 6.0);
    CHECK(s.plugin->log().find("another plugin took the resource") != std::string::npos);
    REQUIRE(s.registered(2));
    rob();
    std::this_thread::sleep_for(5s);
    CHECK(s.kubelet.registrations() == 2);  // the second time it waits
    CHECK(get(s.port, "/readyz").status == 503);
}

TEST_CASE("SIGHUP and a changed file are read again; a bad one leaves the old in force") {
    setup s;
    s.kubelet.start();
    s.run();
    REQUIRE(s.registered(1));
    auto six = node_of(four_pairs());
    six.hardware = boards::paired(6, {{0, 1}, {2, 3}, {4, 5}});
    six.hardware.name = "six";
    s.at.write("node.json", topo::write_node(node_of(six.hardware)));
    CHECK(s.kubelet.wait([&] { return s.kubelet.devices().size() == 6; }));
    s.at.write("node.json", "{\"broken");
    s.plugin->send(SIGHUP);
    CHECK(s.kubelet.wait(
        [&] { return sample(get(s.port, "/metrics").body, "atoll_reloads_total", {"\"failed\""}) > 0; }));
    CHECK(s.kubelet.devices().size() == 6);
    std::vector<std::string> got;
    REQUIRE(s.kubelet.prefer(ids_of(0x3f), {}, 2, got).ok());
    CHECK(got.size() == 2);
    s.at.write("node.json", topo::write_node(node_of(four_pairs())));
    s.plugin->send(SIGHUP);
    CHECK(s.kubelet.wait([&] { return s.kubelet.devices().size() == 8; }));
    CHECK(s.kubelet.registrations() == 1);
}

TEST_CASE("case 06 and 12: a GPU falls ill, the others stay, and it comes back") {
    setup s;
    const std::string faults = s.at.path() + "/health";
    s.more = {"--health-file", faults, "--health-interval", "0.05", "--health-clean-checks", "3"};
    s.kubelet.start();
    s.run();
    REQUIRE(s.registered(1));
    s.at.write("health", "GPU-05 xid 79 fallen off the bus\nGPU-01 xid 31\n");
    REQUIRE(s.kubelet.wait([&] { return s.kubelet.healthy().size() == 7; }));
    CHECK(s.kubelet.devices()[5].health == "Unhealthy");
    std::vector<std::string> got;
    REQUIRE(s.kubelet.prefer(s.kubelet.healthy(), {}, 1, got).ok());
    CHECK(got == std::vector<std::string>{"GPU-04"});
    s.at.write("health", "nonsense\n");  // the source is broken: nothing changes
    std::this_thread::sleep_for(400ms);
    CHECK(s.kubelet.healthy().size() == 7);
    std::filesystem::remove(faults);
    CHECK(s.kubelet.wait([&] { return s.kubelet.healthy().size() == 8; }));
    const std::string log = s.plugin->log();
    CHECK(log.find("GPU GPU-05 is unhealthy: Xid 79: fallen off the bus") != std::string::npos);
    CHECK(log.find("GPU GPU-05 is healthy again") != std::string::npos);
    CHECK(sample(get(s.port, "/metrics").body, "atoll_health_changes_total", {"\"unhealthy\"", "\"xid\""}) == 1);
}

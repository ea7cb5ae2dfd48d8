// SPDX-License-Identifier: GPL-2.0-or-later
// What a step learns of its node, and that a bad file only costs a message.
#include "plugin/spank/node_side.h"

#include <doctest/doctest.h>

#include <array>
#include <string>

#include "glue_fixture.hpp"

using glue_test::world;

namespace {

struct opened {
    opened(const world& w, const char* host) {
        std::array<char, 512> text{};
        node = api->open(w.path("atoll.yaml").c_str(), host, text.data(), text.size());
        why = text.data();
    }
    ~opened() { api->close(node); }
    opened(const opened&) = delete;
    opened& operator=(const opened&) = delete;
    const atoll_node_api* api = atoll_node_entry();
    atoll_node* node = nullptr;
    std::string why;
};

void write_all(const world& w, const std::string& more = {}) {
    w.write_cluster(glue_test::bridge_cluster(4, 2));
    w.write("atoll.yaml", "cluster_file: cluster.yaml\n" + more);
}

}  // namespace

TEST_CASE("ring order, places and hosts") {
    world w;
    write_all(w, "nccl_topo_file: /etc/topo.xml\n");
    const opened o(w, "g3");
    REQUIRE_MESSAGE(o.node != nullptr, o.why);
    std::array<std::uint8_t, ATOLL_MOST_GPUS> order{};
    CHECK(o.api->ring_order(o.node, 0x0f, order.data()) == 4);
    CHECK(order[0] == 0);
    CHECK(o.api->ring_order(o.node, 0x100, order.data()) == 0);  // the class has eight
    atoll_gpu_place place;
    REQUIRE(o.api->gpu_place(o.node, 5, &place) == 1);
    CHECK(place.numa == 1);
    CHECK(place.cpus[0] == 0xffff0000);
    CHECK(o.api->gpu_place(o.node, 8, &place) == 0);
    CHECK(std::string(o.api->nccl_topo_file(o.node)) == "/etc/topo.xml");
    std::array<char, 64> list{};
    std::array<char, 64> lines{};
    const auto hosts = [&](const char* names, const char* tasks, std::size_t room) {
        return o.api->rank_hosts(o.node, names, tasks, list.data(), list.size(), lines.data(), room);
    };
    CHECK(hosts("g[4,1]", "1,2", lines.size()) == 1);
    CHECK(std::string(list.data()) == "g[1,4]");
    CHECK(std::string(lines.data()) == "g1\ng1\ng4\n");
    CHECK(hosts("g[4,1]", "1,2", 9) == 0);
    CHECK(hosts("g[1-2]", "1", lines.size()) == 0);
    CHECK(hosts("g[1-", "1", lines.size()) == 0);
    CHECK(hosts("h1", "1", lines.size()) == 0);
}

TEST_CASE("nothing to do is silent, a fault has its message") {
    world w;
    CHECK(opened(w, "g1").why.empty());  // no configuration
    write_all(w);
    CHECK(opened(w, "nowhere").why.empty());
    CHECK(opened(w, nullptr).node == nullptr);
    w.write("atoll.yaml", "mode: off\n");
    CHECK(opened(w, "g1").why.empty());
    w.write("atoll.yaml", "cluster_file: cluster.yaml\nsurprise: 1\n");
    CHECK(opened(w, "g1").why.find("surprise") != std::string::npos);
    w.write("atoll.yaml", "cluster_file: nowhere.yaml\n");
    CHECK(opened(w, "g1").why.find("nowhere.yaml") != std::string::npos);
    w.write("atoll.yaml", "cluster_file: cluster.yaml\n");
    for (const std::string& text : {std::string(), std::string("apiVersion: atoll/v9\nkind: Cluster\n"),
                                    std::string(4096, '\xff'), "a: " + std::string(20000, '[')}) {
        w.write("cluster.yaml", text);
        const opened o(w, "g1");
        CHECK(o.node == nullptr);
        CHECK(o.why.find("cluster.yaml") != std::string::npos);
    }
    auto simulated = glue_test::bridge_cluster(2, 2);
    glue_test::make_simulated(simulated.classes.front());
    w.write_cluster(simulated);
    CHECK(opened(w, "g1").why.find("allow_simulated") != std::string::npos);
}

TEST_CASE("a small room for the message cuts it, and no node is no fault") {
    world w;
    w.write("atoll.yaml", "surprise: 1\n");
    std::array<char, 8> text{};
    const atoll_node_api* api = atoll_node_entry();
    CHECK(api->open(w.path("atoll.yaml").c_str(), "g1", text.data(), text.size()) == nullptr);
    CHECK(std::string(text.data()).size() == 7);
    CHECK(api->open(w.path("atoll.yaml").c_str(), "g1", nullptr, 0) == nullptr);
    std::array<std::uint8_t, ATOLL_MOST_GPUS> order{};
    CHECK(api->ring_order(nullptr, 1, order.data()) == 0);
    CHECK(api->gpu_place(nullptr, 0, nullptr) == 0);
    CHECK(api->nccl_topo_file(nullptr) == nullptr);
    api->close(nullptr);
}

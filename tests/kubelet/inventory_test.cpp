// SPDX-License-Identifier: Apache-2.0
// What a node offers, from its own files and from the cluster file.
#include "k8s-device-plugin/inventory.hpp"

#include <doctest/doctest.h>

#include "../placement/boards.hpp"
#include "support.hpp"
#include "topo/file.hpp"

using namespace kube_test;
using kube::cost_origin;
using kube::inventory;

namespace {

topo::cluster_description cluster_of(topo::node_class hardware, const std::string& host) {
    for (auto& g : hardware.gpus) g.uuid.clear();
    topo::cluster_description c;
    c.name = "test";
    c.nodes.push_back({hardware.name, {host}});
    c.classes.push_back(std::move(hardware));
    return c;
}

}  // namespace

TEST_CASE("devices come by id, with NUMA nodes that have CPUs only") {
    auto board = four_pairs();
    board.numa[1].cpus = {};  // memory only
    board.gpus[7].numa = topo::unknown_numa;
    const inventory node = inventory_of(board);
    REQUIRE(node.devices().size() == 8);
    CHECK(node.devices().front().id == "GPU-00");
    CHECK(node.parts(0).numa == 0);
    CHECK(!node.parts(4).numa);
    CHECK(!node.parts(7).numa);
    CHECK(node.find("GPU-03")->gpu == 3);
    CHECK(node.find("GPU-99") == nullptr);
    CHECK(node.present() == 0xff);
    CHECK(node.origin() == cost_origin::node_file);
    board.locality_trusted = false;
    CHECK(!inventory_of(board).parts(0).numa);
}

TEST_CASE("a lost GPU keeps its place in the class and is not offered") {
    const auto whole = node_of(four_pairs());
    auto seven = whole;
    seven.hardware.gpus.erase(seven.hardware.gpus.begin() + 5);
    auto made = inventory::make(seven, &whole.hardware, {});
    REQUIRE(made);
    CHECK(made->devices().size() == 7);
    CHECK(made->present() == (0xff & ~(1u << 5)));
    CHECK(made->find("GPU-05") == nullptr);
    CHECK(made->find("GPU-06")->gpu == 6);
    CHECK(made->notes().size() == 1);
    CHECK(made->origin() == cost_origin::cluster_file);
    // Without PCI addresses nobody can tell which one it is.
    auto blind = whole.hardware;
    for (auto& g : blind.gpus) g.pci.reset();
    made = inventory::make(seven, &blind, {});
    REQUIRE(!made);
    CHECK(made.failure().what.find("8") != std::string::npos);
}

TEST_CASE("GPUs are matched by PCI address, whatever their order") {
    const auto of_class = node_of(four_pairs());
    auto here = of_class;
    std::reverse(here.hardware.gpus.begin(), here.hardware.gpus.end());
    const auto made = inventory::make(here, &of_class.hardware, {});
    REQUIRE(made);
    CHECK(made->find("GPU-02")->gpu == 2);
    here.hardware.gpus[0].pci = topo::pci_address{1, 1, 1, 1};
    CHECK(!inventory::make(here, &of_class.hardware, {}));
}

TEST_CASE("simulated costs are refused, missing ones estimated and said so") {
    auto board = four_pairs();
    for (auto& layer : board.layers)
        for (std::size_t a = 0; a < 8; ++a)
            for (std::size_t b = 0; b < 8; ++b)
                if (a != b) layer.cells(a, b).from = topo::source::simulated;
    const auto refused = inventory::make(node_of(board), nullptr, {});
    REQUIRE(!refused);
    CHECK(refused.failure().code == topo::errc::refused);
    kube::settings trial;
    trial.allow_simulated = true;
    CHECK(inventory::make(node_of(board), nullptr, trial));
    board.layers.clear();
    board.gpu_links = topo::matrix<topo::link>(8, 8);
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < 8; ++b)
            board.gpu_links(a, b) = a == b           ? topo::link{topo::link_class::self, 0}
                                    : a / 2 == b / 2 ? topo::link{topo::link_class::nvlink, 4}
                                                     : topo::link{topo::link_class::sys, 0};
    const auto estimated = inventory::make(node_of(board), nullptr, {});
    REQUIRE(estimated);
    CHECK(estimated->origin() == cost_origin::estimated);
    CHECK(estimated->table().best(0b1101, 2)->gpus == 0b1100);
}

TEST_CASE("no GPU is an error unless told otherwise; identifiers must be usable") {
    topo::node_description none;
    CHECK(!inventory::make(none, nullptr, {}));
    kube::settings patient;
    patient.fail_on_init_error = false;
    const auto empty = inventory::make(none, nullptr, patient);
    REQUIRE(empty);
    CHECK(empty->devices().empty());
    auto twice = node_of(four_pairs());
    twice.hardware.gpus[1].uuid = twice.hardware.gpus[0].uuid;
    CHECK(!inventory::make(twice, nullptr, {}));
    auto longest = node_of(four_pairs());
    longest.hardware.gpus[1].uuid = std::string(64, 'x');
    CHECK(!inventory::make(longest, nullptr, {}));
    auto unnamed = node_of(four_pairs());
    unnamed.hardware.gpus[1].uuid.clear();
    const auto by_name = inventory::make(unnamed, nullptr, {});
    REQUIRE(by_name);
    CHECK(by_name->find("GPU1") != nullptr);
}

TEST_CASE("files: node and cluster file, node names in full and in short, and what is wrong with them") {
    const folder at;
    kube::settings s;
    const auto node = node_of(boards::with_nics(four_pairs()), "n1");
    s.devices_file = at.write("node.json", topo::write_node(node));
    auto got = kube::load_inventory(s);
    REQUIRE(got);
    CHECK(got->origin() == cost_origin::node_file);
    s.cluster_file = at.write("cluster.yaml", topo::write_cluster(cluster_of(node.hardware, "n1")));
    got = kube::load_inventory(s);
    if (!got) FAIL(got.failure().message());
    CHECK(got->origin() == cost_origin::cluster_file);
    CHECK(got->parts(3).nic == "nic3");
    s.node_name = "n1.example.org";
    CHECK(kube::load_inventory(s));
    s.node_name = "n2";
    got = kube::load_inventory(s);
    REQUIRE(!got);
    CHECK(got.failure().message().find("n2") != std::string::npos);
    s.node_name = "n1";
    for (const std::string& text : {std::string(), std::string("{"), std::string(70, '\0'), std::string(100'000, '['),
                                    topo::write_node(node).substr(0, 900)}) {
        s.devices_file = at.write("bad.json", text);
        CHECK(!kube::load_inventory(s));
        s.devices_file = at.path() + "/node.json";
        s.cluster_file = at.write("bad.yaml", text);
        CHECK(!kube::load_inventory(s));
        s.cluster_file = at.path() + "/cluster.yaml";
    }
    s.devices_file = at.path() + "/absent.json";
    got = kube::load_inventory(s);
    REQUIRE(!got);
    CHECK(got.failure().code == topo::errc::missing);
}

// SPDX-License-Identifier: Apache-2.0
#include "topo/cluster.hpp"

#include <doctest/doctest.h>

#include "tests/topo/sample_cluster.hpp"
#include "topo/free_state.hpp"

namespace {

using namespace topo;

cluster built() {
    auto got = cluster::build(sample::cluster());
    REQUIRE_MESSAGE(got, got.failure().message());
    return *std::move(got);
}

void refused(const cluster_description& d, const char* part) {
    const auto got = cluster::build(d);
    REQUIRE_FALSE(got);
    CHECK_MESSAGE(got.failure().message().find(part) != std::string::npos, got.failure().message());
    CHECK_FALSE(got.failure().remedy.empty());
    CHECK_FALSE(got.failure().where.empty());
}

}  // namespace

TEST_CASE("a cluster is indexed by name and class") {
    const cluster c = built();
    CHECK(c.nodes().size() == 12);
    CHECK(c.find("n0009") == node_id(8));
    CHECK_FALSE(c.find("n9"));
    CHECK(c.class_of(node_id(11)).name == "half");
    CHECK(c.network().levels() == 2);
    CHECK_FALSE(c.simulated());
    CHECK(c.description() == sample::cluster());
}

TEST_CASE("one simulated cell makes a simulated cluster") {
    auto d = sample::cluster();
    d.classes[1].layers[0].cells(0, 1).alpha_from = source::simulated;
    CHECK(cluster::build(d)->simulated());
    d = sample::cluster();
    d.fabric.level_costs[0].from = source::simulated;
    CHECK(cluster::build(d)->simulated());
}

TEST_CASE("a cluster that contradicts itself is refused") {
    auto d = sample::cluster();
    d.nodes[0].nodes[3] = "n0001";
    refused(d, "n0001 stands twice");
    d = sample::cluster();
    d.nodes[1].nodes[0] = "";
    refused(d, "no name");
    d = sample::cluster();
    d.nodes[1].class_name = "none";
    refused(d, "'none'");
    d = sample::cluster();
    d.classes[1].name = "dgx";
    refused(d, "stands twice");
    d = sample::cluster();
    d.classes[1].layers[0].cells(0, 1) = {};
    refused(d, "GPU0 → GPU1: the cost is missing");
    d = sample::cluster();
    d.fabric.switches[0].nodes.push_back("n0005");
    d.fabric.switches[0].where = "f:1";
    d.fabric.switches[1].where = "f:2";
    refused(d, "n0005");
}

TEST_CASE("free files name nodes and GPUs") {
    const cluster c = built();
    CHECK(free_state::all_free(c).free[0] == 0xff);
    CHECK(free_state::all_free(c).free[11] == 0xf);
    const auto got = parse_free("\"n[0001-0003]\": 0-7\nn0002: [4, 5]\nn0010: 3\nn0011: []\n", "free.yaml", c);
    REQUIRE_MESSAGE(got, got.failure().message());
    CHECK(got->free == std::vector<gpu_mask>{0xff, 0x30, 0xff, 0, 0, 0, 0, 0, 0, 0x8, 0, 0});
    const auto json = parse_free("{\n\t\"n[0001-0002]\": [0, 1],\n\t\"n0002\": \"2-3\"\n}\n", "free.json", c);
    REQUIRE_MESSAGE(json, json.failure().message());
    CHECK(json->free[0] == 0x3);
    CHECK(json->free[1] == 0xc);
    REQUIRE(parse_free("{n0001: 0-3}", "free.yaml", c));
    REQUIRE(parse_free("{}", "free.yaml", c));
}

TEST_CASE("wrong free files are refused with line and remedy") {
    const cluster c = built();
    const auto refuse = [&](std::string_view text, const char* where, const char* what) {
        const auto got = parse_free(text, "f.yaml", c);
        REQUIRE_FALSE(got);
        CAPTURE(got.failure().message());
        CHECK(got.failure().where.rfind(where, 0) == 0);
        CHECK(got.failure().what.find(what) != std::string::npos);
        CHECK_FALSE(got.failure().remedy.empty());
    };
    refuse("", "f.yaml", "empty");
    refuse("n0001\n", "f.yaml", "map");
    refuse("[n0001]\n", "f.yaml", "map");
    refuse("n0001: 0-7\nn77: 0\n", "f.yaml:2", "no node n77");
    refuse("n0001: 0-7\nn0010: 2-4\n", "f.yaml:2", "no GPU 4");
    refuse("n0001: 0-7\nn0002:\n", "f.yaml:2", "no list");
    refuse("n0001: all\n", "f.yaml:1", "all");
    refuse("n0001: [0, -1]\n", "f.yaml:1", "-1");
    refuse("n0001: {0: 1}\n", "f.yaml:1", "a map");
    refuse("\"n[1\": 0\n", "f.yaml:1", "'n[1', column 2: '[' is never closed");
    refuse("{\"n0001\": [0, 1\n", "f.yaml", "");
    refuse("n0001: 0-99999999999\n", "f.yaml:1", "0-99999999999");
    refuse("\"n[0001-9999999]\": 0\n", "f.yaml:1", "hosts");
    refuse("n0001: true\n", "f.yaml:1", "true");
}

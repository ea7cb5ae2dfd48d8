// SPDX-License-Identifier: Apache-2.0
#include "topo/merge.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "tests/topo/sample_cluster.hpp"
#include "topo/file.hpp"

namespace {

using namespace topo;

merge_input calibrated(const std::string& host, double factor = 1) {
    merge_input in;
    in.node.host = host;
    in.node.hardware = sample::board("dgx");
    in.where = host + ".json";
    for (auto& l : in.node.hardware.layers)
        for (auto& cell : l.cells.cells()) cell.gb_per_s *= factor;
    for (auto& g : in.node.hardware.gpus) g.uuid = "GPU-" + host + g.name;
    return in;
}

merge_output merged(const std::vector<merge_input>& inputs, fabric_description fabric = {}) {
    auto got = merge(inputs, std::move(fabric), "demo");
    REQUIRE_MESSAGE(got, got.failure().message());
    REQUIRE_MESSAGE(cluster::build(got->cluster), cluster::build(got->cluster).failure().message());
    return *std::move(got);
}

bool says(const merge_output& out, severity level, const std::string& where, const std::string& part) {
    return std::any_of(out.notes.begin(), out.notes.end(), [&](const finding& f) {
        return f.level == level && f.where == where && f.what.find(part) != std::string::npos;
    });
}

}  // namespace

TEST_CASE("equal nodes become one class with median costs and no identity") {
    const auto out = merged({calibrated("g10", 1.01), calibrated("g2", 0.99), calibrated("g1", 1.0)});
    REQUIRE(out.cluster.classes.size() == 1);
    CHECK(out.cluster.name == "demo");
    const node_class& c = out.cluster.classes[0];
    CHECK(c.name == "dgx");
    CHECK(c.gpus[0].uuid.empty());
    CHECK(out.cluster.nodes[0].nodes == std::vector<std::string>{"g1", "g2", "g10"});
    const auto* layer = c.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine);
    REQUIRE(layer != nullptr);
    CHECK(layer->cells(0, 1).gb_per_s == 377.5);
    CHECK(c.layer(endpoint::gpu, endpoint::gpu, engine::sm_copy)->cells(0, 1).samples == 3 * 10);
    CHECK(says(out, severity::info, "class dgx", "3 nodes"));
    CHECK(parse_cluster(write_cluster(out.cluster), "c.yaml"));
}

TEST_CASE("one node alone keeps its costs, with one time a layer") {
    auto in = calibrated("g1");
    auto hardware = in.node.hardware;
    for (auto& g : hardware.gpus) g.uuid.clear();
    for (std::size_t i = 0; i < in.node.hardware.layers.size(); ++i) {
        std::int64_t now = 1'790'000'000;
        for (auto& cell : in.node.hardware.layers[i].cells.cells())
            if (cell.present()) cell.time = ++now;
        for (auto& cell : hardware.layers[i].cells.cells())
            if (cell.present()) cell.time = now;
    }
    auto out = merged({in});
    for (const auto& l : hardware.layers)
        CHECK(std::count(out.cluster.classes[0].layers.begin(), out.cluster.classes[0].layers.end(), l) == 1);
    out.cluster.classes[0].layers = hardware.layers;
    CHECK(out.cluster.classes[0] == hardware);
}

TEST_CASE("a slow pair makes a class of its own, named with both figures") {
    std::vector<merge_input> inputs = {calibrated("g1"), calibrated("g2"), calibrated("g3"), calibrated("g4")};
    inputs[2].node.hardware.layers[1].cells(0, 5).gb_per_s = 333;
    const auto out = merged(inputs);
    REQUIRE(out.cluster.classes.size() == 2);
    CHECK(out.cluster.nodes[0].nodes == std::vector<std::string>{"g1", "g2", "g4"});
    CHECK(out.cluster.classes[1].name == "dgx-2");
    CHECK(out.cluster.nodes[1].nodes == std::vector<std::string>{"g3"});
    CHECK(says(out, severity::warning, "g3", "GPU0 → GPU5 (ce) 333 GB/s against 377.5 GB/s"));
    CHECK(out.cluster.classes[0].layer(endpoint::gpu, endpoint::gpu, engine::copy_engine)->cells(0, 5).gb_per_s ==
          377.5);
}

TEST_CASE("a lost NVLink is degraded and the pair is named") {
    std::vector<merge_input> inputs = {calibrated("g1"), calibrated("g2"), calibrated("g3")};
    auto& hardware = inputs[0].node.hardware;
    hardware.gpu_links(2, 3) = hardware.gpu_links(3, 2) = {link_class::sys, 0};
    auto& partial = inputs[1].node.hardware;
    partial.gpu_links(6, 7) = partial.gpu_links(7, 6) = {link_class::nvlink, 12};
    const auto out = merged(inputs);
    CHECK(out.cluster.classes.size() == 3);
    CHECK(says(out, severity::warning, "g2", "degraded: GPU6 – GPU7 is joined by NV12"));
    std::vector<merge_input> four = {inputs[0], inputs[2], calibrated("g4")};
    CHECK(says(merged(four), severity::warning, "g1", "degraded: GPU2 – GPU3 is joined by SYS, elsewhere by NV18"));
}

TEST_CASE("another nearest NIC is told, and the nodes are not of one class") {
    std::vector<merge_input> inputs = {calibrated("a"), calibrated("b"), calibrated("c")};
    auto& hardware = inputs[1].node.hardware;
    for (auto& l : hardware.layers)
        if (l.to == endpoint::nic)
            for (std::size_t k = 0; k < 8; ++k) std::swap(l.cells(0, k), l.cells(1, k));
    const auto out = merged(inputs);
    CHECK(out.cluster.classes.size() == 2);
    CHECK(says(out, severity::warning, "b", "the nearest NIC of GPU0 is mlx5_1"));
    CHECK(says(out, severity::warning, "b", "the nearest NIC of GPU1 is mlx5_0"));
}

TEST_CASE("names of NICs may differ within a class, simulated and measured costs may not meet") {
    std::vector<merge_input> inputs = {calibrated("a"), calibrated("b")};
    for (std::size_t k = 0; k < 8; ++k) inputs[1].node.hardware.nics[k].name = fmt::format("ibp{}s0", k);
    CHECK(merged(inputs).cluster.classes.size() == 1);
    inputs[1].node.hardware.layers[0].cells(0, 1).from = source::simulated;
    const auto out = merged(inputs);
    CHECK(out.cluster.classes.size() == 2);
    CHECK(says(out, severity::warning, "b", "simulated"));
}

TEST_CASE("noise within the tolerance makes one class, and no order of files another") {
    std::mt19937 random(3);
    std::uniform_real_distribution<double> noise(0.985, 1.015);
    std::vector<merge_input> inputs;
    for (int i = 0; i < 40; ++i) {
        inputs.push_back(calibrated(fmt::format("g{:02}", i)));
        for (auto& l : inputs.back().node.hardware.layers)
            for (auto& cell : l.cells.cells()) {
                cell.gb_per_s *= noise(random);
                cell.alpha_us *= noise(random);
            }
    }
    const auto out = merged(inputs);
    CHECK(out.cluster.classes.size() == 1);
    std::shuffle(inputs.begin(), inputs.end(), random);
    const auto again = merged(inputs);
    REQUIRE(again.cluster.classes.size() == 1);
    CHECK(again.cluster.nodes == out.cluster.nodes);
    CHECK(again.cluster.classes[0].layers == out.cluster.classes[0].layers);
}

TEST_CASE("nodes that all differ end as classes of their own") {
    std::vector<merge_input> inputs;
    for (int i = 0; i < 6; ++i) inputs.push_back(calibrated(fmt::format("g{}", i), 1 + 0.2 * i));
    const auto out = merged(inputs);
    CHECK(out.cluster.classes.size() == 6);
    std::size_t nodes = 0;
    for (const auto& g : out.cluster.nodes) nodes += g.nodes.size();
    CHECK(nodes == 6);
}

TEST_CASE("host lists of one input, and nodes of the fabric without a class") {
    merge_input in = calibrated("");
    in.hosts = sample::names("n", 10);
    const auto out = merged({in}, sample::two_levels(3, 4));
    CHECK(out.cluster.nodes[0].nodes.size() == 10);
    CHECK(says(out, severity::warning, "fabric", "2 nodes of the fabric have no class: n[0011-0012]"));
}

TEST_CASE("what cannot be merged is refused") {
    const auto refused = [](const std::vector<merge_input>& inputs, const char* part) {
        const auto got = merge(inputs, {}, "");
        REQUIRE_FALSE(got);
        CHECK_MESSAGE(got.failure().message().find(part) != std::string::npos, got.failure().message());
        CHECK_FALSE(got.failure().remedy.empty());
    };
    refused({}, "nothing to merge");
    refused({calibrated("a"), calibrated("a")}, "host a is also in a.json");
    merge_input nameless = calibrated("");
    nameless.where = "x.json";
    refused({nameless}, "x.json: the input names no host");
    merge_input broken = calibrated("a");
    broken.node.hardware.layers[0].cells(0, 1).gb_per_s = -1;
    refused({broken}, "a.json: class dgx");
    merge_input twice = calibrated("");
    twice.hosts = {"b", "b"};
    refused({twice}, "host b");
}

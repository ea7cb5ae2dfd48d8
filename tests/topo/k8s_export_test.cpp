// SPDX-License-Identifier: Apache-2.0
// What Kubernetes and the schedulers on it are told: labels, queues, HyperNodes, topograph's model.
#include <algorithm>

#include "tests/topo/import_help.hpp"
#include "topo/cluster.hpp"
#include "topo/export/export.hpp"
#include "topo/export/k8s_tiers.hpp"

using namespace topo;
using namespace topo::test;

namespace {

cluster over(fabric_description f, std::vector<std::string> loose = {}) {
    cluster_description d;
    d.name = "Lab 1";
    node_class hardware;
    hardware.name = "pair of a100";
    hardware.gpus.resize(2);
    hardware.gpus[0].name = "GPU0";
    hardware.gpus[1].name = "GPU1";
    d.classes = {hardware};
    d.nodes = {{"pair of a100", std::move(loose)}};
    for (const auto& s : f.switches) d.nodes[0].nodes.insert(d.nodes[0].nodes.end(), s.nodes.begin(), s.nodes.end());
    d.fabric = std::move(f);
    auto built = cluster::build(std::move(d));
    REQUIRE_MESSAGE(built.has_value(), built.failure().message());
    return std::move(*built);
}

switch_description a_switch(std::string name, std::vector<std::string> switches, std::vector<std::string> nodes,
                            std::string domain = "") {
    switch_description s;
    s.name = std::move(name);
    s.switches = std::move(switches);
    s.nodes = std::move(nodes);
    s.domain = std::move(domain);
    return s;
}

fabric_description two_leaves() {
    fabric_description f;
    f.form = fabric_form::tree;
    f.switches = {a_switch("spine:0", {"leaf1", "leaf2"}, {}), a_switch("leaf1", {}, {"n1", "n2"}, "nvl-1"),
                  a_switch("leaf2", {}, {"n3"}, "00000000-0000-0000-0000-000000000000")};
    return f;
}

bool has(const export_output& out, std::string_view text) { return out.text.find(text) != std::string::npos; }

bool noted(const findings& notes, std::string_view text) {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const finding& f) { return f.message().find(text) != std::string::npos; });
}

std::size_t count(const std::string& text, std::string_view part) {
    std::size_t n = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
    return n;
}

}  // namespace

TEST_CASE("labels: present and older names, classes, and what is no label") {
    const auto out = to_k8s_labels(over(two_leaves()));
    REQUIRE(out);
    CHECK(count(out->text, "kind: Node\n") == 3);
    CHECK(out->text.starts_with(
        "---\napiVersion: v1\nkind: Node\nmetadata:\n  name: n1\n  labels:\n"
        "    accelerator.topograph.run/domain: \"nvl-1\"\n    atoll.dev/node-class: \"pair-of-a100\"\n"
        "    fabric.topograph.run/tier-0: \"leaf1\"\n    fabric.topograph.run/tier-1: \"spine-0\"\n"
        "    network.topology.nvidia.com/accelerator: \"nvl-1\"\n    network.topology.nvidia.com/leaf: \"leaf1\"\n"
        "    network.topology.nvidia.com/spine: \"spine-0\"\n"));
    CHECK(noted(out->notes, "spine:0: is written as spine-0"));
    // Case 59: a domain of zeros is no domain.
    CHECK(count(out->text, "accelerator.topograph.run/domain") == 2);
    CHECK(!has(*out, "00000000"));
    const auto features = to_nfd(over(two_leaves()));
    REQUIRE(features);
    CHECK(count(features->text, "kind: NodeFeature\n") == 3);
    CHECK(has(*features, "  name: atoll-n3\n  labels:\n    nfd.node.kubernetes.io/node-name: n3\nspec:\n  labels:\n"));
}

TEST_CASE("case 53: levels that nodes lack are named with a node") {
    fabric_description f;
    f.form = fabric_form::tree;
    f.switches = {a_switch("core", {"spine", "leaf3"}, {}), a_switch("spine", {"leaf1"}, {}),
                  a_switch("leaf1", {}, {"n1"}), a_switch("leaf3", {}, {"n3"})};
    const auto out = to_kueue(over(f, {"n9"}));
    REQUIRE(out);
    CHECK(noted(out->notes, "fabric.topograph.run/tier-2: 1 nodes, n3 among them"));
    CHECK(noted(out->notes, "fabric.topograph.run/tier-0: 1 nodes lack"));
    CHECK(noted(out->notes, "n9: 1 of 3 nodes hang under no switch"));
}

TEST_CASE("Kueue: levels from the outermost, NVLink domains where they are nested, a queue with all GPUs") {
    auto f = two_leaves();
    auto out = to_kueue(over(f));
    REQUIRE(out);
    CHECK(has(*out,
              "  name: lab-1\nspec:\n  levels:\n    - nodeLabel: fabric.topograph.run/tier-1\n"
              "    - nodeLabel: fabric.topograph.run/tier-0\n    - nodeLabel: kubernetes.io/hostname\n"));
    CHECK(has(*out, "topologyName: lab-1"));
    CHECK(has(*out, "nominalQuota: 6\n"));
    CHECK(noted(out->notes, "is no level of its own"));
    // One NVLink domain over two leaves, under one spine.
    f.switches = {a_switch("spine", {"leaf1", "leaf2", "leaf3"}, {}), a_switch("leaf1", {}, {"n1"}, "d1"),
                  a_switch("leaf2", {}, {"n2"}, "d1"), a_switch("leaf3", {}, {"n3"}, "d2")};
    out = to_kueue(over(f));
    REQUIRE(out);
    CHECK(has(
        *out,
        "tier-1\n    - nodeLabel: accelerator.topograph.run/domain\n    - nodeLabel: fabric.topograph.run/tier-0\n"));
    // The same domain under two spines is nested nowhere.
    f.switches = {a_switch("spine1", {"leaf1"}, {}), a_switch("spine2", {"leaf2"}, {}),
                  a_switch("leaf1", {}, {"n1"}, "d1"), a_switch("leaf2", {}, {"n2"}, "d1")};
    out = to_kueue(over(f));
    REQUIRE(out);
    CHECK(!has(*out, "accelerator.topograph.run/domain\n"));
}

TEST_CASE("Volcano: leaves are tier 1, a switch is above all that hangs below it") {
    fabric_description f;
    f.form = fabric_form::tree;
    f.switches = {a_switch("Core", {"spine", "leaf3"}, {}), a_switch("spine", {"leaf1"}, {}),
                  a_switch("leaf1", {}, {"n1", "n2"}), a_switch("leaf3", {}, {"n3"})};
    auto out = to_volcano(over(f));
    REQUIRE(out);
    CHECK(has(*out,
              "  name: core\nspec:\n  tier: 3\n  members:\n    - type: HyperNode\n      selector:\n        "
              "exactMatch:\n          name: spine\n"));
    CHECK(has(*out, "  name: spine\nspec:\n  tier: 2\n"));
    CHECK(has(*out,
              "  name: leaf1\nspec:\n  tier: 1\n  members:\n    - type: Node\n      selector:\n        exactMatch:\n   "
              "       name: n1\n"));
    f.switches.push_back(a_switch("SPINE", {}, {"n4"}));
    out = to_volcano(over(f));
    REQUIRE(!out);
    CHECK(out.failure().message().find("'spine' and 'SPINE'") != std::string::npos);
}

TEST_CASE("topograph: what is exported reads back equal") {
    auto f = two_leaves();
    f.switches[0].name = "spine's";
    f.switches[2].domain.clear();
    f.switches[2].nodes = {"n03", "n04", "n05", "yes", "1e3"};
    const auto out = to_topograph(over(f));
    REQUIRE(out);
    const auto back = read(format::topograph, out->text, true);
    REQUIRE_MESSAGE(back.has_value(), back.failure().message());
    CHECK(back->fabric->switches == f.switches);
    CHECK(detect_format(out->text) == format::topograph);
    CHECK(has(*out, "n[03-05]"));
}

TEST_CASE("fabrics and names that cannot be told are errors with a remedy") {
    fabric_description unknown;
    const auto c = over(unknown, {"n1"});
    for (const auto& got : {to_k8s_labels(c), to_nfd(c), to_kueue(c), to_volcano(c), to_topograph(c)}) {
        REQUIRE(!got);
        CHECK(!got.failure().remedy.empty());
    }
    auto f = two_leaves();
    f.switches[1].nodes = {"Node_1"};
    CHECK(!to_k8s_labels(over(f)));
    f = two_leaves();
    f.switches[1].name = "spine-0";  // the same label as "spine:0"
    f.switches[0].switches[0] = "spine-0";
    const auto same = to_k8s_labels(over(f));
    REQUIRE(!same);
    CHECK(same.failure().message().find("one label") != std::string::npos);
    CHECK(k8s::label_value("--a b:c..") == "a-b-c");
    CHECK(k8s::label_value(std::string(100, 'x')).size() == 63);
    CHECK(k8s::label_value("\xff\xfe") == "");
    CHECK(k8s::object_name("Leaf_1") == "leaf-1");
}

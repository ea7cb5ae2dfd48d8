// SPDX-License-Identifier: Apache-2.0
#include "tests/topo/import_help.hpp"

using namespace topo;
using namespace topo::test;

namespace {

constexpr std::string_view two = R"(---
- topology: near
  cluster_default: false
  block:
    block_sizes: [4, 8]
    blocks:
      - block: b1
        nodes: n[1-4]
- topology: far
  cluster_default: true
  tree:
    switches:
      - switch: root
        children: s[1-2]
      - switch: s1
        nodes: n[1-2]
      - switch: s2
        nodes: [n3, "n[4-5]"]
- topology: round
  cluster_default: false
  ring: {rings: [{ring: r, nodes: n1}]}
)";

}  // namespace

TEST_CASE("topology.yaml: the default topology is read, the others are noted") {
    const auto got = read(format::automatic, two, true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->kind == format::slurm_topology);
    CHECK(got->fabric->form == fabric_form::tree);
    REQUIRE(got->fabric->switches.size() == 3);
    CHECK(got->fabric->switches[0].switches == std::vector<std::string>{"s1", "s2"});
    CHECK(got->fabric->switches[2].nodes == std::vector<std::string>{"n3", "n4", "n5"});
    CHECK(got->fabric->switches[2].where == "in.txt:17");
    CHECK(holds(got->notes, "topology near (block) was not read"));
    CHECK(holds(got->notes, "topology round (ring) was not read"));
    check_sound(*got->fabric);
}

TEST_CASE("topology.yaml: blocks, and a single topology without a list") {
    const auto got = read(format::slurm_topology,
                          "topology: x\nblock:\n  block_sizes: [18]\n  blocks:\n  - {block: b1, nodes: 'n[1-18]'}\n"
                          "  - {block: b2, nodes: 'n[19-32]'}\n");
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->fabric->form == fabric_form::block);
    CHECK(got->fabric->block_sizes == std::vector<std::uint32_t>{18});
    CHECK(got->fabric->switches[1].nodes.size() == 14);
}

TEST_CASE("topology.yaml: flat is an unknown fabric; ring and torus are refused by name") {
    const auto flat = read(format::slurm_topology, "- topology: f\n  flat: true\n");
    REQUIRE(flat.has_value());
    CHECK(flat->fabric->form == fabric_form::unknown);
    CHECK(holds(flat->notes, "is flat"));
    check_error(read(format::slurm_topology, "- topology: t\n  torus3d: {toruses: []}\n"), "in.txt:1", "torus3d");
    check_error(read(format::slurm_topology, "- topology: t\n"), "in.txt:1", "no form");
}

TEST_CASE("topology.yaml: hostile and broken") {
    const auto get = [](std::string_view text) { return read(format::slurm_topology, text); };
    check_error(get("- topology: a\n  tree: {switches: [&x {switch: s}, *x]}\n"), "in.txt:2", "anchor");
    check_error(get("- topology: a\n  tree: [unclosed\n"), "in.txt:3", "not YAML");
    check_error(get("- topology: a\n  cluster_default: maybe\n  flat: true\n"), "in.txt:2", "neither true nor false");
    check_error(get("- topology: a\n  cluster_default: true\n  flat: true\n- topology: b\n  cluster_default: true\n  "
                    "flat: true\n"),
                "in.txt:4", "both cluster_default");
    check_error(get("- topology: a\n  tree: {switches: {a: b}}\n"), "in.txt:2", "'switches' is missing");
    check_error(get("- topology: a\n  tree: {switches: [{nodes: n1}]}\n"), "in.txt:2", "no usable name");
    check_error(get("- topology: a\n  tree: {switches: [{switch: s, nodes: {a: b}}]}\n"), "in.txt:2", "host list");
    check_error(get("- topology: a\n  tree: {switches: [{switch: s, nodes: 'n[1-'}]}\n"), "in.txt:2", "never closed");
    check_error(get("- topology: a\n  block: {blocks: [{block: b}], block_sizes: 4}\n"), "in.txt:2", "not a list");
    check_error(get("- topology: a\n  block: {blocks: [{block: b}], block_sizes: [.nan]}\n"), "in.txt:2", "'.nan'");
    check_error(get("- topology: a\n  flat: true\n  tree: {}\n"), "in.txt:1", "both tree and flat");
    std::string deep = "- topology: a\n  tree: ";
    deep.append(100'000, '[');
    CHECK_FALSE(get(deep).has_value());
    std::string deeper = "- topology: a\n  tree: ";
    deeper.append(60, '[').append(60, ']');
    check_error(get(deeper), "in.txt:2", "deeper than 32 levels");
    read_cut(format::slurm_topology, two);
}

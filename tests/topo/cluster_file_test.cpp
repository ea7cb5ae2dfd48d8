// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "tests/topo/sample_cluster.hpp"
#include "topo/file.hpp"

namespace {

using namespace topo;

// A small cluster file that a person might write; tests replace parts of it.
constexpr std::string_view by_hand = R"(# our lab
apiVersion: atoll/v1
kind: Cluster
name: lab
classes:
  - name: pair
    cores: 16
    gpus:
      - {name: GPU0, pci: "0000:1b:00.0", numa: 0}
      - {name: GPU1, numa: -1}
    nics:
      - {name: mlx5_0, gb_per_s: 25}
    gpu_links:
      - X NV4
      - NV4 X
    nic_links: [[PIX], [SYS]]
    costs:
      - from: gpu
        to: gpu
        engine: ce
        source: imported
        alpha_source: estimated
        alpha_us: 2
        gb_per_s:
          - x 92.5
          - 91.0 x
nodes:
  - {class: pair, hosts: "n[1-3],m7"}
  - class: pair
    hosts: [k1, "k[3-4]"]
fabric:
  form: tree
  switches:
    - {name: s1, nodes: "n[1-3],m7"}
    - {name: s2, nodes: "k[1,3-4]", uplink_gb_per_s: 400}
    - {name: root, switches: "s[1-2]"}
)";

std::string with(std::string_view from, std::string_view to) {
    std::string text(by_hand);
    const auto at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    return text.replace(at, from.size(), to);
}

struct refusal {
    std::string title;
    std::string text;
    const char* where;
    const char* what;  // a part of it
};

void expect(const refusal& r) {
    CAPTURE(r.title);
    const auto got = parse_cluster(r.text, "lab.yaml");
    REQUIRE_FALSE(got);
    CAPTURE(got.failure().message());
    CHECK(got.failure().where.rfind(r.where, 0) == 0);
    CHECK(got.failure().what.find(r.what) != std::string::npos);
    CHECK_FALSE(got.failure().remedy.empty());
}

}  // namespace

TEST_CASE("a cluster file written by hand is read") {
    const auto got = parse_cluster(by_hand, "lab.yaml");
    REQUIRE_MESSAGE(got, got.failure().message());
    CHECK(got->name == "lab");
    REQUIRE(got->classes.size() == 1);
    const node_class& c = got->classes[0];
    CHECK(c.gpus[0].pci == pci_address{0, 0x1b, 0, 0});
    CHECK(c.gpus[0].numa == 0);
    CHECK(c.gpus[1].numa == unknown_numa);
    CHECK(c.nics[0].gb_per_s == 25.0);
    CHECK(c.gpu_links(0, 1).count == 4);
    CHECK(c.nic_links(0, 0).kind == link_class::pix);
    REQUIRE(c.layers.size() == 1);
    CHECK(c.layers[0].cells(1, 0).gb_per_s == 91.0);
    CHECK(c.layers[0].cells(1, 0).from == source::imported);
    CHECK(c.layers[0].cells(1, 0).alpha_from == source::estimated);
    CHECK_FALSE(c.layers[0].cells(0, 0).present());
    CHECK(got->nodes[1].nodes == std::vector<std::string>{"k1", "k3", "k4"});
    CHECK(got->fabric.switches[1].uplink_gb_per_s == 400.0);
    CHECK(got->fabric.switches[1].where == "lab.yaml:35");
}

TEST_CASE("what is written is read back as it was") {
    const cluster_description all = sample::cluster();
    const std::string text = write_cluster(all);
    const auto got = parse_cluster(text, "c.yaml");
    REQUIRE_MESSAGE(got, got.failure().message());
    CHECK(*got == all);
    CHECK(write_cluster(*got) == text);
}

TEST_CASE("odd but legal models survive a round trip") {
    cluster_description c;
    c.name = "- weird: 'name' \"quoted\" # & * ! | > % @ ` \t\\ true";
    node_class lone = sample::board("null", 1);
    lone.name = "null";
    lone.gpus[0].model = "a,b]{c}";
    lone.gpus[0].pci = pci_address{0x10001, 0xff, 31, 7};
    lone.nics.clear();
    lone.nic_links = matrix<topo::link>(1, 0);
    lone.layers = {sample::flat_layer(lone, endpoint::gpu, endpoint::gpu, engine::sm_flag, 1, 1)};
    node_class bare;
    bare.name = "12";  // a node without devices
    node_class tiny = sample::board("tiny", 2);
    tiny.gpu_links(0, 1) = {link_class::unknown, 0};
    tiny.gpu_links(1, 0) = {link_class::xgmi, 3};
    tiny.nic_links(0, 0) = {link_class::unknown, 0};
    tiny.nic_links(0, 1) = {link_class::unknown, 0};
    for (auto& layer : tiny.layers)
        for (auto& cell : layer.cells.cells())
            if (cell.present()) {
                cell.gb_per_s = 1.0 / 3.0;
                cell.alpha_us = 5e-324;
                cell.spread = 1e300;
                cell.time = 253402300800;
            }
    c.classes = {lone, bare, tiny};
    c.nodes = {{"12", {"a", "true", "007", "x-1.y", "n01", "n1"}}, {"null", {}}, {"tiny", {"~", "no"}}};
    c.fabric.form = fabric_form::block;
    c.fabric.block_sizes = {2, 4};
    c.fabric.switches = {{"b1", {}, {"a", "true"}, 0.1, "3d2f", "x"}, {"b2", {}, {"007"}, {}, "", ""}};
    const std::string text = write_cluster(c);
    const auto got = parse_cluster(text, "c.yaml");
    CAPTURE(text);
    REQUIRE_MESSAGE(got, got.failure().message());
    CHECK(*got == c);
}

TEST_CASE("a fabric file is read back as it was") {
    fabric_description d = sample::two_levels(5, 3);
    d.level_costs = sample::cluster().fabric.level_costs;
    const auto got = parse_fabric(write_fabric(d), "f.yaml");
    REQUIRE_MESSAGE(got, got.failure().message());
    CHECK(*got == d);
    CHECK(got->switches[2].where == "f.yaml:10");
    const auto empty = parse_fabric(write_fabric({}), "f.yaml");
    REQUIRE(empty);
    CHECK(*empty == fabric_description{});
    CHECK_FALSE(parse_fabric(by_hand, "f.yaml"));
}

TEST_CASE("wrong cluster files are refused with line and remedy") {
    expect({"empty", "", "lab.yaml", "empty"});
    expect({"blank", " \n\n", "lab.yaml", "empty"});
    expect({"comment only", "# nothing\n", "lab.yaml", ""});
    expect({"binary", std::string("apiVersion: atoll/v1\n\x7f\x45\x00", 24), "lab.yaml:2", "0x00"});
    expect({"end of transmission byte", "apiVersion: atoll/v1\n\x04kind: Cluster\n", "lab.yaml:2", "0x04"});
    expect({"list", "- 1\n- 2\n", "lab.yaml:1", "map"});
    expect({"no version", with("apiVersion: atoll/v1\n", ""), "lab.yaml:2", "apiVersion"});
    expect({"other product", with("atoll/v1", "v1"), "lab.yaml:2", "'v1'"});
    expect({"other kind", with("kind: Cluster", "kind: Node"), "lab.yaml:3", "'Node'"});
    expect({"unknown key", with("cores: 16", "coers: 16"), "lab.yaml:7", "'coers'"});
    expect({"unknown key at top", with("name: lab", "nmae: lab"), "lab.yaml:4", "'nmae'"});
    expect({"duplicate key", with("    cores: 16", "    cores: 16\n    cores: 8"), "lab.yaml:8", "twice"});
    expect({"duplicate top key", with("name: lab", "name: lab\nname: lab"), "lab.yaml:5", "twice"});
    expect({"text for a number", with("cores: 16", "cores: many"), "lab.yaml:7", "'many'"});
    expect({"fraction for a whole number", with("cores: 16", "cores: 1.5"), "lab.yaml:7", "'1.5'"});
    expect({"overflow", with("cores: 16", "cores: 99999999999999999999"), "lab.yaml:7", "99999"});
    expect({"list for a scalar", with("cores: 16", "cores: [16]"), "lab.yaml:7", "a list"});
    expect({"nothing for a scalar", with("cores: 16", "cores:"), "lab.yaml:7", "nothing"});
    expect({"bad PCI address", with("0000:1b:00.0", "0000:1b:00.9"), "lab.yaml:9", "PCI"});
    expect({"NUMA node that is not listed", with("    gpus:\n", "    numa: [{id: 1}]\n    gpus:\n"), "lab.yaml:6",
            "NUMA node 0 of GPU0 is not in the numa list"});
    expect({"negative NUMA", with("numa: -1", "numa: -2"), "lab.yaml:10", "'-2'"});
    expect({"duplicate device", with("name: GPU1", "name: GPU0"), "lab.yaml:6", "GPU0 stands twice"});
    expect({"zero port speed", with("gb_per_s: 25", "gb_per_s: 0"), "lab.yaml:6", "mlx5_0"});
    expect({"NaN", with("x 92.5", "x nan"), "lab.yaml:25", "'nan'"});
    expect({"infinity", with("x 92.5", "x inf"), "lab.yaml:25", "'inf'"});
    expect({"overflowing number", with("x 92.5", "x 1e999"), "lab.yaml:25", "'1e999'"});
    expect({"negative bandwidth", with("x 92.5", "x -92.5"), "lab.yaml:25", "'-92.5'"});
    expect({"zero bandwidth", with("91.0 x", "0 x"), "lab.yaml:26", "above 0"});
    expect({"a unit in a cell", with("x 92.5", "x 92.5GB/s"), "lab.yaml:25", "unit"});
    expect({"a unit after a cell", with("x 92.5", "x 92.5 GB/s"), "lab.yaml:25", "3 cells"});
    expect({"hexadecimal", with("x 92.5", "x 0x10"), "lab.yaml:25", "'0x10'"});
    expect({"missing pair", with("91.0 x", "x x"), "lab.yaml:26", "misses cell 1"});
    expect({"filled diagonal", with("91.0 x", "91.0 1"), "lab.yaml:26", "diagonal"});
    expect({"missing row", with("          - 91.0 x\n", ""), "lab.yaml:25", "1 row, not 2"});
    expect({"negative latency", with("alpha_us: 2", "alpha_us: -2"), "lab.yaml:23", "never below 0"});
    expect({"no latency", with("        alpha_us: 2\n", ""), "lab.yaml:18", "alpha_us"});
    expect({"no source", with("        source: imported\n", ""), "lab.yaml:18", "source"});
    expect({"unknown source", with("imported", "guessed"), "lab.yaml:21", "'guessed'"});
    expect({"source none", with("imported", "none"), "lab.yaml:21", "'none'"});
    expect({"unknown engine", with("engine: ce", "engine: dma"), "lab.yaml:20", "'dma'"});
    expect({"unknown endpoint", with("from: gpu", "from: cpu"), "lab.yaml:18", "'cpu'"});
    expect({"unknown link", with("X NV4", "X NV0"), "lab.yaml:14", "NV0"});
    expect({"self link off the diagonal", with("X NV4", "X X"), "lab.yaml:14", "'X'"});
    expect({"link on the diagonal", with("X NV4", "PIX NV4"), "lab.yaml:14", "PIX"});
    expect({"short link row", with("X NV4", "X"), "lab.yaml:14", "1 cell, not 2"});
    expect({"unknown class", with("class: pair, hosts", "class: pear, hosts"), "lab.yaml:28", "'pear'"});
    expect({"node twice", with("[k1, \"k[3-4]\"]", "[k1, n2]"), "lab.yaml:29", "n2 stands twice (first in line 28)"});
    expect({"bad host list", with("n[1-3],m7\"}\n  - class", "n[3-1],m7\"}\n  - class"), "lab.yaml:28",
            "hosts: 'n[3-1],m7', column 3: range '3-1' runs backwards"});
    expect({"too many hosts", with("\"k[3-4]\"", "\"k[1-9999999]\""), "lab.yaml:30", "hosts"});
    expect({"unknown form", with("form: tree", "form: bush"), "lab.yaml:32", "'bush'"});
    expect({"two parents of a node", with("k[1,3-4]", "k[1,3-4],n2"), "lab.yaml:35", "n2 hangs under s1 and under s2"});
    expect({"switch twice", with("name: s2", "name: s1"), "lab.yaml:35", "two lines"});
    expect({"cycle", with("{name: s1, nodes", "{name: s1, switches: root, nodes"), "lab.yaml:3", "own ancestor"});
    expect({"negative uplink", with("uplink_gb_per_s: 400", "uplink_gb_per_s: -1"), "lab.yaml:35", "uplink"});
    expect({"anchor", with("name: lab", "name: &a lab"), "lab.yaml:4", "anchors"});
    expect({"alias", with("name: lab", "name: *a"), "lab.yaml:4", ""});
    expect({"tag", with("name: lab", "name: !!binary lab"), "lab.yaml:4", "tags"});
    expect({"two documents", std::string(by_hand) + "---\nmore: 1\n", "lab.yaml:37", "second document"});
    expect({"tabs", with("    cores", "\tcores"), "lab.yaml:7", "tab"});
    expect({"unclosed bracket", with("[[PIX], [SYS]]", "[[PIX], [SYS]"), "lab.yaml", "YAML"});
    expect({"deep nesting", with("name: lab", "name: " + std::string(100, '[') + std::string(100, ']')), "lab.yaml:4",
            "deeper than 64"});
    expect({"very deep nesting", with("name: lab", "name: " + std::string(100000, '[')), "lab.yaml", "YAML"});
    expect({"very deep maps", with("name: lab", "name: " + std::string(100000, '{')), "lab.yaml", "YAML"});
    expect({"a map as key", with("name: lab", "? {a: 1}\n: lab"), "lab.yaml:4", "key"});
}

TEST_CASE("a file of a later version is refused by name") {
    const auto got = parse_cluster(with("atoll/v1", "atoll/v2"), "lab.yaml");
    REQUIRE_FALSE(got);
    CHECK(got.failure().code == errc::unsupported_version);
    CHECK(got.failure().where == "lab.yaml:2");
    CHECK(got.failure().what.find("atoll/v2") != std::string::npos);
    CHECK(got.failure().remedy.find("atoll/v2") != std::string::npos);
}

TEST_CASE("a missing child switch is for build to judge") {
    const auto got = parse_cluster(with("switches: \"s[1-2]\"", "switches: \"s[1-3]\""), "lab.yaml");
    REQUIRE(got);
    const auto strict = cluster::build(*got);
    REQUIRE_FALSE(strict);
    CHECK(strict.failure().where == "lab.yaml:36");
    CHECK(strict.failure().what.find("s3") != std::string::npos);
    const auto lenient = cluster::build(*got, true);
    REQUIRE(lenient);
    CHECK(lenient->notes().front().level == severity::warning);
    CHECK(lenient->notes().front().where == "lab.yaml:36");
}

// SPDX-License-Identifier: Apache-2.0
#include "tests/topo/import_help.hpp"

using namespace topo;
using namespace topo::test;

namespace {

//        core
//       /    \           every leaf is one rack, and one NVLink domain
//    leaf-a  leaf-b
constexpr std::string_view model = R"(switches:
  core:
    labels: {region: north}
    switches: [leaf-a, leaf-b]
blocks:
- switch: leaf-a
  nodes: ["t[01-18]"]
  annotations: {example.test/domain: rack-a, example.test/sub-domain: "1"}
- switch: leaf-b
  nodes: ["t[19-30]", t40]
  annotations: {example.test/domain: rack-b}
)";

}  // namespace

TEST_CASE("topograph: switches, implied leaves, domains") {
    const auto got = read(format::automatic, model, true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->kind == format::topograph);
    const auto& f = *got->fabric;
    CHECK(f.form == fabric_form::tree);
    REQUIRE(f.switches.size() == 3);
    const auto* b = find(f, "leaf-b");
    REQUIRE(b != nullptr);
    CHECK(b->nodes.size() == 13);
    CHECK(b->nodes.back() == "t40");
    CHECK(b->domain == "rack-b");
    CHECK(b->where == "in.txt:9");
    CHECK(holds(got->notes, "labels of 1 switch"));
    CHECK(holds(got->notes, "sub-domain"));
    check_sound(f);
}

TEST_CASE("topograph: a domain of zeros is no domain") {
    const auto got =
        read(format::topograph,
             "blocks:\n- {switch: a, nodes: [n1], annotations: {x/domain: 00000000-0000-0000-0000-000000000000}}\n"
             "- {switch: b, nodes: [n2], annotations: {x/domain: '0'}}\n");
    REQUIRE(got.has_value());
    CHECK(got->fabric->switches[0].domain.empty());
    CHECK(got->fabric->switches[1].domain.empty());
}

TEST_CASE("topograph: several blocks under one leaf become a level below it") {
    const auto got = read(format::topograph,
                          "blocks:\n- {switch: a, nodes: ['n[1-2]'], annotations: {domain: d1}}\n"
                          "- {switch: a, nodes: ['n[3-4]'], annotations: {domain: d2}}\n");
    REQUIRE(got.has_value());
    REQUIRE(got->fabric->switches.size() == 3);
    CHECK(got->fabric->switches[0].switches == std::vector<std::string>{"a.1", "a.2"});
    CHECK(got->fabric->switches[2].domain == "d2");
    const std::vector<std::string> names{"n1", "n2", "n3"};
    const auto built = build_fabric(*got->fabric, names, false);
    REQUIRE(built.has_value());
    CHECK(built->built->level_of(node_id(0), node_id(1)) == 0);
    CHECK(built->built->level_of(node_id(0), node_id(2)) == 1);
}

TEST_CASE("topograph: hostile and broken") {
    const auto get = [](std::string_view text) { return read(format::topograph, text); };
    check_error(get("switches: [a, b]\n"), "in.txt:1", "no map");
    check_error(get("blocks: {a: b}\n"), "in.txt:1", "no list");
    check_error(get("blocks:\n- {nodes: [n1]}\n"), "in.txt:2", "does not say its switch");
    check_error(get("blocks:\n- {switch: a, nodes: ['n[3-1]']}\n"), "in.txt:2", "backwards");
    check_error(get("switches:\n  a: {switches: [b]}\n  b: {switches: [a]}\n"), "in.txt:2", "cycle");
    check_error(get("switches:\n  a: {switches: [c]}\n  b: {switches: [c]}\n  c: {}\n"), "in.txt:3", "in.txt:2");
    check_error(get("switches:\n  a: {switches: [b]}\n  a: {switches: [c]}\n"), "in.txt:3",
                "already defined at in.txt:2");
    check_error(get("switches: &a {}\n"), "in.txt:1", "anchor");
    check_error(get("switches: {}\n"), "in.txt", "no switch and no block");
    check_error(get("switches:\n  a: 5\n"), "in.txt:2", "no map");
    check_error(get("switches:\n  ? [x]\n  : {}\n"), "in.txt:2", "no name");
    const auto odd = get("blocks:\n- {switch: a, nodes: [n1], colour: red}\nfriends: 3\n");
    REQUIRE(odd.has_value());
    CHECK(holds(odd->notes, "key 'colour'"));
    CHECK(holds(odd->notes, "key 'friends'"));
    read_cut(format::topograph, model);
}

TEST_CASE("topograph models are found by content; files of Kubernetes and Atoll are not") {
    CHECK(detect_format("# picture\nblocks:\n- switch: a\n") == format::topograph);
    CHECK(detect_format("apiVersion: v1\nkind: Node\nswitches: {}\n") != format::topograph);
    CHECK(detect_format("  switches: {}\n") != format::topograph);
}

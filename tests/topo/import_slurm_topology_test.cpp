// SPDX-License-Identifier: Apache-2.0
#include "tests/topo/import_help.hpp"

using namespace topo;
using namespace topo::test;

TEST_CASE("topology.conf: a tree with keys of any case, comments, continuation and quotes") {
    const auto got = read(format::slurm_topology, R"(# picture: root - a, b
SWITCHNAME=root switches=leaf[1-2]   # both
SwitchName=leaf1 \
  Nodes=g[01-03] linkspeed=100
switchname = "leaf2" NODES = g04,g05
)");
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->kind == format::slurm_topology);
    REQUIRE(got->fabric);
    const auto& f = *got->fabric;
    CHECK(f.form == fabric_form::tree);
    REQUIRE(f.switches.size() == 3);
    CHECK(f.switches[0].switches == std::vector<std::string>{"leaf1", "leaf2"});
    CHECK(f.switches[1].nodes == std::vector<std::string>{"g01", "g02", "g03"});
    CHECK(f.switches[1].where == "in.txt:3");
    CHECK(f.switches[2].nodes == std::vector<std::string>{"g04", "g05"});
    CHECK_FALSE(f.switches[1].uplink_gb_per_s);
    CHECK(holds(got->notes, "LinkSpeed"));
    CHECK(warnings(got->notes) == 0);
    check_sound(f);
}

TEST_CASE("topology.conf: roots without a common parent stay unconnected") {
    const auto got = read(format::slurm_topology,
                          "SwitchName=A Switches=a1\nSwitchName=a1 Nodes=n[1-2]\nSwitchName=b1 Nodes=m[1-2]\n", true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(holds(got->notes, "2 switches have no parent"));
    const std::vector<std::string> names{"n1", "n2", "m1", "m2"};
    const auto built = build_fabric(*got->fabric, names, false);
    REQUIRE(built.has_value());
    CHECK(built->built->level_of(node_id(0), node_id(2)) == unreachable_level);
    CHECK(built->built->level_of(node_id(0), node_id(1)) == 0);
}

TEST_CASE("topology.conf: a child without a line is left out, or refused when strict") {
    const std::string text = "SwitchName=root Switches=leaf[1-2]\nSwitchName=leaf1 Nodes=n1\n";
    const auto got = read(format::slurm_topology, text);
    REQUIRE(got.has_value());
    CHECK(holds(got->notes, "in.txt:1: switch root names child leaf2, which has no line"));
    CHECK(got->fabric->switches[0].switches == std::vector<std::string>{"leaf1"});
    check_sound(*got->fabric);
    check_error(read(format::slurm_topology, text, true), "in.txt:1", "leaf2");
}

TEST_CASE("topology.conf: what no tree can be is refused with both places") {
    const auto get = [](std::string_view text) { return read(format::slurm_topology, text); };
    check_error(get("SwitchName=a Nodes=n1\nSwitchName=a Nodes=n2\n"), "in.txt:2", "already defined at in.txt:1");
    check_error(get("SwitchName=a Switches=b\nSwitchName=b Switches=a\n"), "in.txt:1", "cycle");
    check_error(
        get("SwitchName=r Nodes=n1\nSwitchName=a Switches=b\nSwitchName=b Switches=c\nSwitchName=c Switches=a\n"),
        "in.txt:2", "cycle");
    check_error(get("SwitchName=a Switches=a\n"), "in.txt:1", "its own child");
    check_error(get("SwitchName=a Switches=c\nSwitchName=b Switches=c\nSwitchName=c Nodes=n1\n"), "in.txt:2",
                "at in.txt:1, of a");
    check_error(get("SwitchName=a Nodes=n1\nBlockName=b Nodes=n2\n"), "in.txt:2", "in.txt:1");
    check_error(get("SwitchName=a Nodes=n1 BlockSizes=4\n"), "in.txt:1", "blocksizes");
}

TEST_CASE("topology.conf: a node under two leaves keeps the first, as Slurm warns") {
    const std::string text = "SwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=n[2-4]\n";
    const auto got = read(format::slurm_topology, text);
    REQUIRE(got.has_value());
    CHECK(holds(got->notes, "in.txt:2: node n2 and 1 more node are under switch b and, at in.txt:1, under a"));
    CHECK(got->fabric->switches[1].nodes == std::vector<std::string>{"n4"});
    check_sound(*got->fabric);
    CHECK_FALSE(read(format::slurm_topology, text, true).has_value());
}

TEST_CASE("topology.conf: blocks, short ones too, and sizes") {
    const auto got = read(format::slurm_topology,
                          "BlockName=b1 Nodes=n[01-18]\nBlockName=b2 Nodes=n[19-32]\n#BlockName=b3 Nodes=n[33-40]\n"
                          "BlockSizes=18,36\n");
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->fabric->form == fabric_form::block);
    REQUIRE(got->fabric->switches.size() == 2);
    CHECK(got->fabric->switches[1].nodes.size() == 14);
    CHECK(got->fabric->block_sizes == std::vector<std::uint32_t>{18, 36});
    CHECK(holds(got->notes, "in.txt:3: a commented-out line was seen and not read: BlockName=b3"));
    CHECK(warnings(got->notes) == 0);
    check_error(read(format::slurm_topology, "BlockName=b Nodes=n1\nBlockSizes=4,x\n"), "in.txt:2:14", "'x'");
    check_error(read(format::slurm_topology, "BlockName=b Nodes=n1\nBlockSizes=-4\n"), "in.txt:2:12", "'-4'");
    check_error(read(format::slurm_topology, "BlockName=b Nodes=n1\nBlockSizes=4,8,6\n"), "in.txt:2:16",
                "6 does not follow 8");
    check_error(read(format::slurm_topology, "BlockName=b Nodes=n1\nBlockSizes=4,6\n"), "in.txt:2:14",
                "6 does not follow 4");
    check_error(read(format::slurm_topology, "BlockName=b Nodes=n1\nBlockSizes=4\nBlockSizes=8\n"), "in.txt:3",
                "in.txt:2");
}

TEST_CASE("topology.conf: an include is not followed and said so") {
    const auto got = read(format::slurm_topology, "Include more.conf\nSwitchName=a Nodes=n1\n");
    REQUIRE(got.has_value());
    CHECK(holds(got->notes, "in.txt:1: Include more.conf was not followed"));
}

TEST_CASE("topology.conf: broken lines get line and column") {
    const auto get = [](std::string_view text) { return read(format::slurm_topology, text); };
    check_error(get("SwitchName=a Nodes=n[1-\n"), "in.txt:1:21", "never closed");
    check_error(get("SwitchName=a Nodes=n1,,n2\n"), "in.txt:1:23", "empty item");
    check_error(get("SwitchName=a Nodes=n1 oops\n"), "in.txt:1:23", "oops");
    check_error(get("SwitchName=a Nodes=\"n1\n"), "in.txt:1:20", "never closed");
    check_error(get("SwitchName=a Nodes=n1 nodes=n2\n"), "in.txt:1:23", "twice");
    check_error(get("SwitchName=a[1-2] Nodes=n1\n"), "in.txt:1:12", "not one name");
    check_error(get("SwitchName=a Color=red\n"), "in.txt:1", "color");
    check_error(get("# only a comment, SwitchName\n\n"), "in.txt", "no SwitchName");
    check_error(get("SwitchName={{ name }} Nodes=n1\n"), "in.txt:1:12", "template");
}

TEST_CASE("topology.conf: many long ranges meet a limit, not the memory") {
    std::string text;
    for (int i = 0; i < 64; ++i)
        text += "SwitchName=s" + std::to_string(i) + " Nodes=n" + std::to_string(i) + "x[0-99999]\n";
    const auto got = read(format::slurm_topology, text);
    REQUIRE_FALSE(got.has_value());
    CHECK(got.failure().code == errc::limit);
    CHECK(got.failure().where == "in.txt:11");
}

TEST_CASE("topology.conf: a chain of 50,000 switches is read without recursion") {
    std::string text;
    const int n = 50'000;
    for (int i = 0; i < n; ++i)
        text += "SwitchName=s" + std::to_string(i) + " Switches=s" + std::to_string(i + 1) + "\n";
    text += "SwitchName=s" + std::to_string(n) + " Nodes=n1\n";
    const auto got = read(format::slurm_topology, text);
    REQUIRE(got.has_value());
    CHECK(got->fabric->switches.size() == n + 1);
}

TEST_CASE("topology.conf: cut at every byte") {
    read_cut(format::slurm_topology,
             "SwitchName=root Switches=leaf[1-2] LinkSpeed=1\nSwitchName=leaf1 Nodes=\"g[01-03]\" # x\nBlockSizes=4\n");
}

TEST_CASE("topology.conf is found by its content, slurm.conf is not taken for it") {
    CHECK(detect_format("# c\n switchname = a Nodes=n1\n") == format::slurm_topology);
    CHECK(detect_format("BlockName=a Nodes=n1\n") == format::slurm_topology);
    CHECK(detect_format("# SwitchName=a\n") == format::automatic);
    CHECK(detect_format("SlurmctldHost=a\nNodeName=n[1-4] CPUs=8 Gres=gpu:8\n") == format::automatic);
}

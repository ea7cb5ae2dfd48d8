// SPDX-License-Identifier: Apache-2.0
// show: terminal, pipe and object.
#include <doctest/doctest.h>

#include "atoll_run.hpp"

using namespace cli_test;

TEST_CASE("piped output is plain; --color always paints; NO_COLOR does not win over it") {
    const std::string file = example("a100-pcie-bridges.yaml");
    const ran plain = run_atoll({"show", file});
    CHECK(plain.code == 0);
    CHECK_FALSE(contains(plain.out, "\x1b"));
    CHECK(contains(plain.out, "GPU to GPU, ce, GB/s"));
    CHECK(contains(plain.out, "ESTIMATED"));
    CHECK(contains(plain.out, "Fabric  tree, 16 nodes"));
    CHECK(contains(plain.out, "{0,2}"));
    const ran painted = run_atoll({"show", file, "--color", "always"}, "", {"NO_COLOR=1"});
    CHECK(contains(painted.out, "\x1b[38;5;"));
}

TEST_CASE("on a terminal there are colours unless NO_COLOR is set") {
    REQUIRE(installed("script"));
    const std::string command =
        std::string(ATOLL_BIN) + " show " + example("a100-pcie-bridges.yaml") + " --what bandwidth";
    const ran coloured = program({"script", "-qec", command, "/dev/null"}, "", {"TERM=xterm-256color"});
    CHECK(contains(coloured.out, "\x1b[38;5;"));
    CHECK_FALSE(contains(
        program({"script", "-qec", command, "/dev/null"}, "", {"TERM=xterm-256color", "NO_COLOR=1"}).out, "\x1b["));
    CHECK_FALSE(contains(program({"script", "-qec", command, "/dev/null"}, "", {"TERM=dumb"}).out, "\x1b["));
}

TEST_CASE("parts can be asked for, and what is not there is named") {
    const ran links = run_atoll({"show", example("a100-pcie-bridges.yaml"), "--what", "links"});
    CHECK(contains(links.out, "NV12"));
    CHECK_FALSE(contains(links.out, "GB/s"));
    const ran latency = run_atoll({"show", simulated_node(), "--what", "latency", "--engine", "sm-copy"});
    CHECK(contains(latency.out, "sm-copy, us"));
    const ran none = run_atoll({"show", example("a100-pcie-bridges.yaml"), "--engine", "sm-load"});
    CHECK(none.code == 2);
    CHECK(contains(none.err, "its engines are"));
    const ran no_class = run_atoll({"show", example("dgx-h100-64.yaml"), "--class", "nope"});
    CHECK(no_class.code == 2);
    CHECK(contains(no_class.err, "dgx-h100"));
}

TEST_CASE("the object holds every matrix, with null where there is no cost") {
    const ran r = run_atoll({"show", simulated_node(), "--json"});
    CHECK(r.code == 0);
    const auto h = r.json()["classes"][0];
    CHECK(h["gpus"].size() == 8);
    CHECK(h["made_by"]["time"].is_number());
    const auto imported = run_atoll({"show", example("a100-pcie-bridges.txt"), "--json"}).json();
    CHECK(imported["classes"][0]["made_by"]["time"].is_null());  // unknown
    CHECK(h["islands"] == nlohmann::json({{0, 1, 2, 3, 4, 5, 6, 7}}));
    bool seen = false;
    for (const auto& layer : h["layers"]) {
        if (layer["from"] != "gpu" || layer["to"] != "gpu") continue;
        seen = true;
        CHECK(layer["gb_per_s"][0][0].is_null());
        CHECK(layer["gb_per_s"][0][1].get<double>() > 100);
        CHECK(layer["source"][0][1] == "simulated");
    }
    CHECK(seen);
}

TEST_CASE("a bare fabric is shown with its levels") {
    const ran r = run_atoll({"show", example("dgx-h100-64.topology.conf")});
    CHECK(r.code == 0);
    CHECK(contains(r.out, "leaf"));
    CHECK(contains(r.out, "64 nodes"));
    CHECK(run_atoll({"show", example("gb200-nvl72.topology.conf"), "--json"}).json()["fabric"]["form"] == "block");
}

TEST_CASE("names cannot command the terminal") {
    const std::string evil = "SwitchName=\x1b[2J\x1b]0;pwned\x07 Nodes=n[1-2]\n";
    for (const ran& r : {run_atoll({"show", "-", "--color", "never"}, evil), run_atoll({"validate", "-"}, evil)}) {
        CHECK_FALSE(contains(r.out, "\x1b"));
        CHECK_FALSE(contains(r.err, "\x1b"));
        CHECK_FALSE(contains(r.err, "\x07"));
    }
}

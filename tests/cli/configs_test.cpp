// SPDX-License-Identifier: Apache-2.0
// Every example cluster of configs/ is valid, can be shown and places jobs; what is said of each form is in its words.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

// File, GPUs a node, and words that `show` must use for its fabric.
struct sample {
    std::string file;
    std::string gpus;
    std::vector<std::string> words;
};

const std::vector<sample> samples = {
    {"a100-pcie-bridges.yaml", "8", {"tree", "leaf", "spine"}},
    {"dgx-h100-64.yaml", "8", {"tree", "leaf", "spine"}},
    {"fat-tree-tapered.yaml", "8", {"tree", "leaf", "spine", "core", "800", "1600"}},
    {"rail-optimised.yaml", "8", {"rail-optimised", "unit", "spine"}},
    {"gb200-nvl72.yaml", "4", {"block"}},
    {"dragonfly.yaml", "8", {"dragonfly", "router", "group", "global", "400"}},
    {"torus3d.yaml", "8", {"torus", "4 x 4 x 4", "6 hops at most", "2 hops", "8 boxes of 8 nodes"}},
    {"hypercube.yaml", "8", {"hypercube", "2 x 2 x 2 x 2", "4 hops at most"}},
    {"two-fabrics.yaml", "8", {"tree", "2 fabrics that do not meet"}},
};

bool holds(const std::string& text, const std::string& word) { return text.find(word) != std::string::npos; }

}  // namespace

TEST_CASE("every example is valid, shown in the words of its form, and places jobs") {
    for (const sample& s : samples) {
        INFO(s.file);
        const ran valid = run_atoll({"validate", example(s.file), "--json"});
        CHECK(valid.code == 0);
        CHECK(valid.json()["valid"] == true);
        const ran shown = run_atoll({"show", example(s.file)});
        CHECK(shown.code == 0);
        const std::string fabric = shown.out.substr(std::min(shown.out.find("Fabric  "), shown.out.size()));
        for (const auto& word : s.words) CHECK_MESSAGE(holds(fabric, word), word);
        for (const std::string nodes : {"1", "2", "6", "8"}) {
            const ran placed =
                run_atoll({"place", example(s.file), "--nodes", nodes, "--gpus-per-node", s.gpus, "--json"});
            CHECK(placed.code == 0);
            std::set<std::string> names;
            const auto object = placed.json();
            for (const auto& n : object["nodes"]) names.insert(n["name"]);
            CHECK(names.size() == std::stoul(nodes));
        }
    }
}

TEST_CASE("a grid tells hops, not leaves") {
    const ran shown = run_atoll({"show", example("torus3d.yaml")});
    const std::string fabric = shown.out.substr(shown.out.find("Fabric  "));
    CHECK(!holds(fabric, "leaf"));
    CHECK(!holds(fabric, "spine"));
    const auto object = run_atoll({"show", example("torus3d.yaml"), "--json"}).json()["fabric"];
    CHECK(object["dims"] == nlohmann::json({4, 4, 4}));
    CHECK(object["hops"].size() == 6);
    CHECK(object["hops"][2]["hops_least"] == 3);
    CHECK(object["hops"][2]["alpha_us"] == 2.4);
    CHECK(object["levels"][0]["gb_per_s"].is_null());
    const ran placed = run_atoll({"place", example("torus3d.yaml"), "--nodes", "8", "--gpus-per-node", "1"});
    CHECK(placed.code == 0);
    CHECK(holds(placed.out, "1 hop,"));
    CHECK(!holds(placed.out, "LEAF"));
    const ran page = run_atoll({"show", example("hypercube.yaml"), "--html", "-"});
    CHECK(page.code == 0);
    CHECK(holds(page.out, "4 hops at most"));
}

TEST_CASE("no job spans the two fabrics") {
    const ran r = run_atoll({"place", example("two-fabrics.yaml"), "--nodes", "20", "--gpus-per-node", "8", "--json"});
    CHECK(r.code == 1);
    CHECK(r.json()["outcome"] == "unreachable");
}

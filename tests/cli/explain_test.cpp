// SPDX-License-Identifier: Apache-2.0
// explain: the sentences, the object that scripts read, and the page.
#include <doctest/doctest.h>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

const std::string bridges = example("a100-pcie-bridges.txt");  // 0-2, 1-3, 4-6, 5-7

const nlohmann::json* option(const nlohmann::json& object, const std::string& kind) {
    for (const auto& o : object["options"])
        if (o["kind"] == kind) return &o;
    return nullptr;
}

}  // namespace

TEST_CASE("busy GPUs: sentences name the pair that would be best and who is taken") {
    const ran r = run_atoll({"explain", bridges, "--gpus", "2", "--free", "0,1,4,5"});
    REQUIRE(r.code == 0);
    CHECK(contains(r.out, "Busy GPUs held it back"));
    CHECK(contains(r.out, "GPUs 0,2 would be best, of them 2 is taken by others"));
    CHECK(contains(r.out, "What limits it now: rank 0"));
    CHECK(contains(r.out, "if all were free"));
    CHECK(contains(r.out, "4 of 8 GPUs free; nodes with 2 GPUs or more free: 1 of 1"));
}

TEST_CASE("the object: options with their terms, what held back, the supply") {
    const ran r = run_atoll({"explain", example("dgx-h100-64.yaml"), "--nodes", "4", "--gpus-per-node", "8", "--free",
                             example("dgx-h100-64.free.yaml"), "--json"});
    REQUIRE(r.code == 0);
    const auto object = r.json();
    CHECK(object["outcome"] == "placed");
    CHECK(object["held_back_by"] == "nothing");
    CHECK(object["supply"]["gpus"] == 512);
    CHECK(object["supply"]["gpus_free"] == 278);
    REQUIRE(object["options"].size() >= 4);
    CHECK(object["options"][0]["kind"] == "taken");
    const double own = object["options"][0]["predicted"]["step_us"];
    for (const char* kind : {"runner_up", "by_index", "all_free"}) {
        CAPTURE(kind);
        REQUIRE(option(object, kind) != nullptr);
        CHECK((*option(object, kind))["nodes"].size() == 4);
    }
    CHECK((*option(object, "by_index"))["predicted"]["step_us"].get<double>() >= own * 0.98);
    CHECK(object["reasons"].size() >= 3);
    CHECK(object["nodes"].size() == 4);
    CHECK(object["levels"][0]["groups_taken"] == 1);
    // The same nodes and time that place gives.
    const auto placed = run_atoll({"place", example("dgx-h100-64.yaml"), "--nodes", "4", "--gpus-per-node", "8",
                                   "--free", example("dgx-h100-64.free.yaml"), "--json"})
                            .json();
    CHECK(placed["predicted"]["step_us"] == own);
    for (std::size_t i = 0; i < 4; ++i) CHECK(placed["nodes"][i]["name"] == object["options"][0]["nodes"][i]["name"]);
}

TEST_CASE("what does not fit: exit code 1, how much is free, what to do") {
    const ran r = run_atoll({"explain", bridges, "--gpus", "6", "--free", "0,1,4,5"});
    CHECK(r.code == 1);
    CHECK(contains(r.out, "It does not fit now: 4 of 8 GPUs are free"));
    CHECK(contains(r.out, "Wait for jobs to end, or ask for less"));
    const ran o = run_atoll({"explain", bridges, "--gpus", "6", "--free", "0,1,4,5", "--json"});
    CHECK(o.code == 1);
    CHECK(o.json()["held_back_by"] == "no_room");
    CHECK(o.json()["options"].empty());
    CHECK(run_atoll({"explain", bridges}).code == 2);
    CHECK(run_atoll({"explain", bridges, "--gpus", "8", "--tp", "3"}).code == 2);
    CHECK(run_atoll({"explain", "no-such-file", "--gpus", "8"}).code == 2);
}

TEST_CASE("the page shows every choice, the terms as bars, and needs nothing from outside") {
    const scratch dir;
    const ran r = run_atoll(
        {"explain", example("dgx-h100-64.yaml"), "--gpus", "128", "--halo", "8x4x4", "--html", dir.file("why.html")});
    REQUIRE(r.code == 0);
    CHECK(contains(r.out, "Ranks are mapped to where they talk"));
    const std::string page = read_all(dir.file("why.html"));
    for (const char* forbidden : {"<script", "http://", "https://", "src=", "@import", "url(", "<link", "<img"})
        CHECK_FALSE(contains(page, forbidden));
    for (const char* there : {"<b>SIMULATED</b>", "ranks in order", "runner-up", "first free by index",
                              "Step time by term", "<svg", "leaf1"})
        CHECK(contains(page, there));
    CHECK(run_atoll({"explain", bridges, "--gpus", "2", "--html", "-", "--json"}).code == 2);
    CHECK(contains(run_atoll({"explain", bridges, "--gpus", "2", "--html", "-"}).out, "<!DOCTYPE html>"));
}

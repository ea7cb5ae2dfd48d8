// SPDX-License-Identifier: Apache-2.0
// simulate: the object, the page, the same answer twice, and what is asked wrongly.
#include <doctest/doctest.h>

#include <csignal>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

const std::string dgx = example("dgx-h100-64.yaml");

// A trace of four jobs: two fill the cluster, the third waits for the first, the fourth for all.
const std::string four_jobs = "timestamp,duration,num_gpus\n0,100,256\n0,200,256\n10,50,256\n20,10,512\n";

}  // namespace

TEST_CASE("a trace by hand: who waits, for how long, under every policy") {
    const scratch here;
    const ran r =
        run_atoll({"simulate", dgx, here.write("four.csv", four_jobs), "--policy", "atoll", "--policy", "linear",
                   "--policy", "slurm-tree", "--policy", "slurm-block", "--policy", "kueue-bestfit", "--json"});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    const auto object = r.json();
    CHECK(object["complete"] == true);
    CHECK(object["trace"]["jobs"] == 4);
    REQUIRE(object["policies"].size() == 5);
    for (const auto& p : object["policies"]) {
        CHECK(p["started"] == 4);
        // The third starts at 100, the fourth at 200: (0 + 0 + 90 + 180) / 4.
        CHECK(p["wait_mean_s"].get<double>() == doctest::Approx(67.5));
        CHECK(p["makespan_s"].get<double>() == doctest::Approx(210));
        CHECK(p["simulated"] == true);
    }
}

TEST_CASE("the same seed gives the same figures, another one others") {
    const auto figures = [](const std::string& seed) {
        auto object = run_atoll({"simulate", dgx, "mix:llm", "--jobs", "200", "--seed", seed, "--json"}).json();
        std::string out;
        for (auto& p : object["policies"]) out += p["all"].dump() + p["fragmentation"].dump() + p["wait_mean_s"].dump();
        return out;
    };
    const std::string first = figures("7");
    CHECK(!first.empty());
    CHECK(first == figures("7"));
    CHECK(first != figures("8"));
}

TEST_CASE("text, page and slow links") {
    const scratch here;
    const std::string page = here.file("page.html");
    const ran r =
        run_atoll({"simulate", dgx, "mix:pow2", "--jobs", "100", "--degrade", "5%", "--blind", "--html", page});
    REQUIRE_MESSAGE(r.code == 0, r.err);
    CHECK(contains(r.out, "atoll-blind"));
    CHECK(contains(r.out, "unusable for 64 GPUs"));
    const std::string text = read_all(page);
    CHECK(contains(text, "<svg"));
    CHECK(!contains(text, "http://"));
}

TEST_CASE("what is asked wrongly is named") {
    const scratch here;
    const auto refused = [](const std::vector<std::string>& words, const std::string& part) {
        const ran r = run_atoll(words);
        CHECK(r.code == 2);
        CHECK_MESSAGE(contains(r.err, part), r.err);
    };
    refused({"simulate", dgx, "mix:nothing"}, "mix:nothing");
    refused({"simulate", dgx, "/nowhere.csv"}, "/nowhere.csv");
    refused({"simulate", dgx, here.write("bad.csv", "timestamp,duration,num_gpus\n0,ten,8\n")}, "bad.csv:2");
    refused({"simulate", dgx, here.write("other.csv", "a,b,c\n1,2,3\n")}, "other.csv");
    refused({"simulate", dgx, "mix:llm", "--policy", "magic"}, "magic");
    refused({"simulate", dgx, "mix:llm", "--degrade", "500%"}, "500%");
}

TEST_CASE("Ctrl-C ends it with what was replayed so far, and says so") {
    // On a busy machine the jobs may not be made yet after a while: a signal before the first replay just ends it.
    ran r;
    for (int wait = 1500; wait <= 24000 && r.out.empty(); wait *= 2)
        r = atoll_interrupted({"simulate", dgx, "mix:llm", "--jobs", "3000000", "--json"}, wait, SIGINT);
    REQUIRE_MESSAGE((r.code == 130 || r.code == 3 || r.code == 0), r.code);
    const auto object = r.json();
    REQUIRE(object.is_object());
    CHECK(object["complete"] == false);
}

// SPDX-License-Identifier: Apache-2.0
// status: the counters in their three forms, and files that are none.
#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "atoll_run.hpp"
#include "topo/plugin_stats.hpp"

using namespace cli_test;
namespace stats = topo::stats;

namespace {

std::string file_text(std::uint64_t pid) {
    std::vector<std::uint64_t> w(stats::file_words, 0);
    w[stats::at_magic] = stats::magic;
    w[stats::at_version] = stats::version;
    w[stats::at_pid] = pid;
    w[stats::at_started] = 1700000000;
    w[stats::at_state] = 2;
    w[stats::at_steps] = 90;
    w[stats::at_steps + 5] = 10;
    w[stats::at_histograms + stats::bucket_of(2000)] = 90;
    w[stats::at_sums] = 180000;
    std::memcpy(&w[stats::at_reasons], "says \"no\"", 9);
    w[stats::at_reasons + 7] = 10;
    return {reinterpret_cast<const char*>(w.data()), w.size() * 8};
}

}  // namespace

TEST_CASE("text, object and Prometheus say the same") {
    const scratch here;
    const std::string file = here.write("slurm.stats", file_text(static_cast<std::uint64_t>(::getpid())));
    const ran text = run_atoll({"status", file});
    CHECK(text.code == 0);
    CHECK(contains(text.out, "SIMULATED"));
    CHECK(contains(text.out, "2023-11-14 22:13:20 UTC"));
    CHECK(contains(text.out, "last decision never"));
    const auto object = run_atoll({"status", file, "--json"}).json();
    CHECK(object["state"] == "simulated");
    CHECK(object["decisions"]["all"] == 100);
    CHECK(object["decisions"]["placed"] == 90);
    CHECK(object["last_decision"].is_null());
    CHECK(object["left_to_slurm"][0]["reason"] == "says \"no\"");
    CHECK(object["times_us"]["decision"]["mean"] == 2.0);
    const ran metrics = run_atoll({"status", file, "--prometheus"});
    CHECK(contains(metrics.out, "atoll_slurm_up 1\n"));
    CHECK(contains(metrics.out, "atoll_slurm_decisions_total{end=\"placed\"} 90\n"));
    CHECK(contains(metrics.out, "atoll_slurm_left_total{reason=\"says \\\"no\\\"\"} 10\n"));
    CHECK(contains(metrics.out, "atoll_slurm_decision_seconds_sum 0.00018\n"));
    const std::string to = here.file("atoll.prom");
    CHECK(run_atoll({"status", file, "--prometheus", "-o", to}).code == 0);
    CHECK(read_all(to) == metrics.out);
}

TEST_CASE("a process that is gone is shown as stopped") {
    const scratch here;
    const std::string file = here.write("slurm.stats", file_text(0xffffffffffull));
    CHECK(run_atoll({"status", file, "--json"}).json()["state"] == "stopped");
    CHECK(contains(run_atoll({"status", file, "--prometheus"}).out, "atoll_slurm_up 0\n"));
}

TEST_CASE("what is no file of counters is refused, and nothing waits") {
    const scratch here;
    const auto refused = [](const std::vector<std::string>& words, const std::string& said) {
        const ran r = run_atoll(words);
        CHECK_MESSAGE(r.code == 2, r.err);
        CHECK(r.out.empty());
        CHECK_MESSAGE(contains(r.err, said), r.err);
    };
    const std::string whole = file_text(1);
    refused({"status", here.file("none")}, "stats_file");
    refused({"status", here.path()}, "counters");
    refused({"status", "/dev/zero"}, "counters");
    refused({"status", here.write("empty", "")}, "counters");
    refused({"status", here.write("cut", whole.substr(0, 4096))}, "counters");
    refused({"status", here.write("other", std::string(whole.size(), 'x'))}, "counters");
    std::string newer = whole;
    newer[8] = 9;
    refused({"status", here.write("newer", newer)}, "version is 9");
    REQUIRE(::mkfifo(here.file("pipe").c_str(), 0600) == 0);
    refused({"status", here.file("pipe")}, "counters");
    refused({"status", here.write("good", whole), "--json", "--prometheus"}, "one of the two");
}

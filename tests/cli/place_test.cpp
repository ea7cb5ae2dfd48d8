// SPDX-License-Identifier: Apache-2.0
// place: the object that scripts read, and the questions people ask.
#include <doctest/doctest.h>

#include <map>
#include <set>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

const std::string bridges = example("a100-pcie-bridges.txt");  // 0-2, 1-3, 4-6, 5-7

std::string fixture(const std::string& name) { return std::string(ATOLL_FIXTURES) + "/" + name; }

}  // namespace

TEST_CASE("the object has nodes, ranks, prediction and runner-up") {
    const ran r = run_atoll({"place", example("dgx-h100-64.yaml"), "--nodes", "4", "--gpus-per-node", "8", "--free",
                             example("dgx-h100-64.free.yaml"), "--message", "128M", "--json"});
    REQUIRE(r.code == 0);
    const auto object = r.json();
    CHECK(object["outcome"] == "placed");
    CHECK(object["request"]["message_bytes"] == 128000000);
    REQUIRE(object["nodes"].size() == 4);
    std::set<std::string> leaves;
    for (const auto& n : object["nodes"]) {
        CHECK(n["gpus"] == nlohmann::json({0, 1, 2, 3, 4, 5, 6, 7}));
        CHECK(n["nics"].size() == 8);
        leaves.insert(n["leaf"]);
    }
    CHECK(leaves == std::set<std::string>{"leaf2"});  // four whole nodes there; leaf4 stays whole
    REQUIRE(object["ranks"].size() == 32);
    std::set<std::pair<std::string, int>> places;
    for (std::size_t i = 0; i < 32; ++i) {
        const auto& rank = object["ranks"][i];
        CHECK(rank["rank"] == i);
        CHECK(rank["node"] == object["nodes"][i / 8]["name"]);
        CHECK(rank["nic"].is_string());
        CHECK(rank["numa"] == (rank["gpu"].get<int>() < 4 ? 0 : 1));
        places.emplace(rank["node"], rank["gpu"].get<int>());
    }
    CHECK(places.size() == 32);
    const auto& p = object["predicted"];
    CHECK(p["step_us"].get<double>() ==
          doctest::Approx(p["terms"]["latency_us"].get<double>() + p["terms"]["transfer_us"].get<double>()));
    CHECK(p["simulated"] == true);
    CHECK(object["runner_up"]["nodes"].size() == 4);
    CHECK(object["runner_up"]["predicted"]["step_us"].get<double>() >= p["step_us"].get<double>() * 0.98);
}

TEST_CASE("a single node: two GPUs of a bridge, and only free ones") {
    const auto gpus = [](const std::string& free) {
        return run_atoll({"place", bridges, "--gpus", "2", "--free", free, "--json"}).json()["nodes"][0]["gpus"];
    };
    CHECK(gpus("0,1,4,6") == nlohmann::json({4, 6}));
    CHECK(gpus("1-3,5") == nlohmann::json({1, 3}));
    CHECK(gpus("0-7") == nlohmann::json({0, 2}));
    const auto from_calibration =
        run_atoll({"place", simulated_node(), "--gpus", "2", "--free", "0,1,4,5", "--json"}).json();
    const auto got = from_calibration["nodes"][0]["gpus"];
    CHECK((got == nlohmann::json({0, 1}) || got == nlohmann::json({4, 5})));
    CHECK(from_calibration["ranks"][0]["nic"].is_string());
}

TEST_CASE("a job that does not fit gives exit code 1 and says so in the object too") {
    const ran r = run_atoll({"place", bridges, "--gpus", "3", "--free", "0,1", "--json"});
    CHECK(r.code == 1);
    CHECK(contains(r.err, "error:"));
    CHECK(r.json()["outcome"] == "too_few_gpus");
    CHECK(r.json()["nodes"].empty());
    CHECK(r.json()["runner_up"].is_null());
    CHECK(run_atoll({"place", example("dgx-h100-64.yaml"), "--nodes", "65", "--gpus-per-node", "8"}).code == 1);
}

TEST_CASE("GPUs of several NUMA nodes: the CPU node with most of them comes first") {
    // 1 GPU on node 0, 2 on node 1 (the case of a pod with all three whose CPUs came from node 0).
    const std::string three =
        "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\n"
        "GPU0\t X \tSYS\tSYS\t0-15\t0\nGPU1\tSYS\t X \tNODE\t16-31\t1\nGPU2\tSYS\tNODE\t X \t16-31\t1\n";
    const ran r = run_atoll({"place", "-", "--gpus", "3", "--json"}, three);
    REQUIRE(r.code == 0);
    CHECK(r.json()["nodes"][0]["cpu_numa"] == 1);
    CHECK(r.json()["nodes"][0]["numa"] == nlohmann::json({1, 0}));
}

TEST_CASE("unknown locality is null and said, never node 0") {
    const std::string text =
        "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tPHB\t\tN/A\nGPU1\tPHB\t X \t\tN/A\n";
    const ran r = run_atoll({"place", "-", "--gpus", "2", "--json"}, text);
    REQUIRE(r.code == 0);
    CHECK(r.json()["ranks"][0]["numa"].is_null());
    CHECK(r.json()["nodes"][0]["cpu_numa"].is_null());
    CHECK(contains(r.json()["notes"].dump(), "no NUMA node"));
    CHECK(contains(run_atoll({"place", "-", "--gpus", "2"}, text).out, "unknown"));
}

TEST_CASE("what is asked wrongly is named") {
    const std::string cluster = example("dgx-h100-64.yaml");
    const scratch dir;
    for (const std::vector<std::string>& words : {std::vector<std::string>{"place", cluster},
                                                  {"place", cluster, "--nodes", "2"},
                                                  {"place", cluster, "--gpus", "8", "--gpus-per-node", "8"},
                                                  {"place", cluster, "--gpus", "2", "--nodes", "4"},
                                                  {"place", cluster, "--gpus", "8", "--free", "0-3"},
                                                  {"place", bridges, "--gpus", "2", "--free", "0-8"},
                                                  {"place", bridges, "--gpus", "2", "--free", "nothing-there"},
                                                  {"place", bridges, "--gpus", "2", "--message", "64X"},
                                                  {"place", bridges, "--gpus", "2", "--message", "-1"},
                                                  {"place", bridges, "--gpus", "2", "--message", "nan"},
                                                  {"place", example("dgx-h100-64.topology.conf"), "--gpus", "1"},
                                                  {"place", bridges, "--gpus", "2", "--json", "--html", "-"}}) {
        const ran r = run_atoll(words);
        CAPTURE(r.err);
        CHECK(r.code == 2);
        CHECK(r.out.empty());
        CHECK(contains(r.err, "error:"));
        CHECK(contains(r.err, ";"));  // a remedy
    }
    const std::string bad_free = dir.write("free.yaml", "\"dgx[01-04]\": 0-7\nnobody: 0-7\n");
    const ran r = run_atoll({"place", cluster, "--gpus", "8", "--free", bad_free});
    CHECK(r.code == 2);
    CHECK(contains(r.err, "free.yaml:2"));
}

TEST_CASE("a larger message takes longer, and the text names the parts") {
    const auto step = [](const char* message) {
        return run_atoll({"place", bridges, "--gpus", "4", "--message", message, "--json"})
            .json()["predicted"]["step_us"]
            .get<double>();
    };
    CHECK(step("1G") > 9 * step("100M"));
    CHECK(step("64Mi") > step("64M"));
    const ran r = run_atoll({"place", bridges, "--gpus", "2"});
    for (const char* part : {"RANKS", "latency", "transfer", "Runner-up", "estimated"}) CHECK(contains(r.out, part));
}

TEST_CASE("a layout of a model: a part for each way to be parallel, and they add up") {
    const ran r =
        run_atoll({"place", example("dgx-h100-64.yaml"), "--gpus", "64", "--tp", "8", "--pp", "2", "--model-params",
                   "70B", "--microbatches", "8", "--compute-ms", "400", "--overlap", "0.5", "--json"});
    REQUIRE(r.code == 0);
    const auto object = r.json();
    CHECK(object["request"]["pattern"] == "composite");
    CHECK(object["request"]["parallel"]["dp_bytes"] == 8.75e9);
    double sum = 0;
    std::vector<std::string> parts;
    for (const auto& part : object["predicted"]["parts"]) {
        parts.push_back(part["what"]);
        sum += part["step_us"].get<double>();
    }
    CHECK(parts == std::vector<std::string>{"compute", "tensor", "pipeline", "data"});
    CHECK(object["predicted"]["step_us"].get<double>() == doctest::Approx(sum));
    CHECK(object["predicted"]["parts"][3]["hidden_us"].get<double>() > 0);
    const ran text = run_atoll({"place", example("dgx-h100-64.yaml"), "--gpus", "64", "--tp", "8", "--pp", "2"});
    CHECK(text.out.find("composite tp 8 pp 2 dp 4") != std::string::npos);
    CHECK(text.out.find("tensor") != std::string::npos);
}

TEST_CASE("all-reduce names the exchange that won; every pattern has a prediction") {
    for (const std::string name : {"ring", "tree", "hierarchical", "allreduce", "fsdp", "all-to-all", "p2p", "pp", "tp",
                                   "dp", "ep", "composite", "halo"}) {
        const ran r = run_atoll(
            {"place", example("dgx-h100-64.yaml"), "--gpus", "16", "--pattern", name, "--message", "1k", "--json"});
        REQUIRE_MESSAGE(r.code == 0, name);
        CHECK_MESSAGE(r.json()["predicted"]["step_us"].get<double>() > 0, name);
    }
    const ran r =
        run_atoll({"place", example("dgx-h100-64.yaml"), "--gpus", "64", "--pattern", "allreduce", "--message", "8"});
    CHECK(r.out.find("tree_allreduce") != std::string::npos);
}

TEST_CASE("a traffic matrix in three forms gives one time; what does not fit is named") {
    std::set<double> times;
    for (const std::string file : {"ring.csv", "ring.mtx", "square.csv"}) {
        const ran r = run_atoll({"place", bridges, "--gpus", "4", "--traffic", fixture("traffic/" + file), "--json"});
        REQUIRE_MESSAGE(r.code == 0, r.err);
        times.insert(r.json()["predicted"]["step_us"].get<double>());
    }
    CHECK(times.size() == 1);
    const auto refused = [](std::vector<std::string> more, const std::string& word) {
        std::vector<std::string> all = {"place", example("dgx-h100-64.yaml"), "--gpus", "16"};
        all.insert(all.end(), more.begin(), more.end());
        const ran r = run_atoll(all);
        CHECK(r.code == 2);
        CHECK_MESSAGE(r.err.find(word) != std::string::npos, r.err);
    };
    refused({"--traffic", fixture("traffic/ring.csv")}, "one row for each GPU");
    refused({"--traffic", fixture("files/node.json")}, "node.json");
    refused({"--traffic", "/nowhere.csv"}, "/nowhere.csv");
    refused({"--pattern", "traffic_matrix"}, "needs a traffic matrix");
    refused({"--pattern", "wibble"}, "ring_allreduce");
    refused({"--tp", "3"}, "must divide");
    refused({"--halo", "4x5"}, "extents");
    refused({"--halo", "4xx4"}, "4xx4");
    refused({"--halo", "4x4x1x1"}, "4x4x1x1");
    refused({"--model-params", "many"}, "70B");
    refused({"--model-params", "70B", "--precision", "int3"}, "int3");
    refused({"--overlap", "2"}, "overlap");
}

TEST_CASE("segments and ranges of nodes") {
    const std::string racks = example("gb200-nvl72.yaml");
    const auto domains = [](const nlohmann::json& object) {
        std::map<std::string, int> out;
        for (const auto& n : object["nodes"]) ++out[n["leaf"]];
        return out;
    };
    ran r = run_atoll({"place", racks, "--nodes", "20", "--gpus-per-node", "4", "--segment", "10", "--json"});
    REQUIRE(r.code == 0);
    CHECK(domains(r.json()) == std::map<std::string, int>{{"rack1", 10}, {"rack2", 10}});
    CHECK(r.json()["request"]["segment_nodes"] == 10);
    r = run_atoll({"place", racks, "--nodes", "36", "--gpus-per-node", "4", "--segment", "12", "--json"});
    CHECK(r.code == 1);
    CHECK(r.json()["outcome"] == "no_segments");
    CHECK(r.err.find("segments") != std::string::npos);
    r = run_atoll({"place", racks, "--nodes", "20", "--gpus-per-node", "4", "--segment", "8"});
    CHECK(r.code == 2);
    CHECK(r.err.find("--segment") != std::string::npos);
    r = run_atoll({"place", racks, "--nodes", "2", "--max-nodes", "30", "--gpus-per-node", "4", "--json"});
    REQUIRE(r.code == 0);
    CHECK(r.json()["nodes"].size() == 30);
    r = run_atoll({"place", racks, "--nodes", "4", "--max-nodes", "3", "--gpus-per-node", "4"});
    CHECK(r.code == 2);
    CHECK(r.err.find("--max-nodes") != std::string::npos);
}

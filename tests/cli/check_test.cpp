// SPDX-License-Identifier: Apache-2.0
// check: exit codes, names, the object for scripts, taking over and the way back.
#include <doctest/doctest.h>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

std::string calibrated(const scratch& dir, const std::string& model = "dgx-h100") {
    const std::string file = dir.file("node.json");
    REQUIRE(run_atoll({"calibrate", "--simulate", model, "-o", file}).code == 0);
    return file;
}

}  // namespace

TEST_CASE("as stored: exit code 0; changed: 1, with the name and what to do") {
    const scratch dir;
    const std::string file = calibrated(dir);
    const ran same = run_atoll({"check", file, "--simulate", "dgx-h100", "--seed", "2"});
    CHECK(same.code == 0);
    CHECK(contains(same.out, "as stored: 64 of 528 stored costs"));
    CHECK(contains(same.err, "SIMULATED"));
    const ran slow =
        run_atoll({"check", file, "--simulate", "dgx-h100", "--seed", "2", "--fault", "nic-slow:mlx5_3:0.8"});
    CHECK(slow.code == 1);
    CHECK(contains(slow.err, "mlx5_3: slow_rail"));
    CHECK(contains(slow.out, "take it over with --accept"));
    CHECK(contains(slow.out, "mlx5_3, rdma-write"));
}

TEST_CASE("facts in one line, for a health check") {
    const scratch dir;
    const std::string file = calibrated(dir);
    const ran r = run_atoll({"check", file, "--tier", "facts", "--brief", "--simulate", "dgx-h100", "--fault",
                             "nvlink-lost:GPU1-GPU2:3", "--fault", "pcie-half:GPU4"});
    CHECK(r.code == 1);
    CHECK(r.out == "atoll: degraded_nvlink GPU1-GPU2; pcie_width GPU4\n");
    CHECK(r.err.empty());
    const ran well = run_atoll({"check", file, "--tier", "facts", "--brief", "--simulate", "dgx-h100"});
    CHECK(well.code == 0);
    CHECK(well.out.empty());
    CHECK(well.err.empty());
}

TEST_CASE("taking over, the way back, and quiet afterwards") {
    const scratch dir;
    const std::string file = calibrated(dir);
    const std::string before = read_all(file);
    const std::vector<std::string> fault{"--fault", "link-slow:GPU1-GPU2:0.8"};
    std::vector<std::string> words{"check", file, "--simulate", "dgx-h100", "--tier", "full", "--accept"};
    words.insert(words.end(), fault.begin(), fault.end());
    const ran taken = run_atoll(words);
    CHECK(taken.code == 0);
    CHECK(contains(taken.out, "what it held before is in"));
    CHECK(read_all(file + ".before") == before);
    CHECK(read_all(file) != before);
    CHECK(run_atoll({"validate", file}).code == 0);
    words = {"check", file, "--simulate", "dgx-h100", "--seed", "9", "--tier", "full", "--json"};
    words.insert(words.end(), fault.begin(), fault.end());
    const ran quiet = run_atoll(words);
    CHECK(quiet.code == 0);
    const auto object = quiet.json();
    CHECK(object["changed"] == false);
    CHECK(object["costs_checked"] == 528);
    CHECK(object["costs"].size() == 528);
    // Nothing changed: nothing is written.
    const std::string now = read_all(file);
    CHECK(run_atoll({"check", file, "--simulate", "dgx-h100", "--seed", "4", "--accept", "--tier", "facts"}).code == 0);
    CHECK(read_all(file) == now);
}

TEST_CASE("a cluster file says what the class has") {
    const scratch dir;
    const std::string good = calibrated(dir);
    const std::string cluster = dir.file("cluster.yaml");
    const auto host = run_atoll({"show", good, "--json"}).json()["name"].get<std::string>();
    REQUIRE(run_atoll({"merge", "--hosts", host + "=" + good, "-o", cluster}).code == 0);
    const std::string bad = dir.file("bad.json");
    REQUIRE(run_atoll({"calibrate", "--simulate", "dgx-h100", "--fault", "link-slow:GPU0-GPU1:0.7", "-o", bad}).code ==
            0);
    const ran r =
        run_atoll({"check", bad, "--simulate", "dgx-h100", "--seed", "3", "--tier", "full", "--cluster", cluster});
    CHECK(r.code == 0);
    CHECK(contains(r.err, "as_class"));
    CHECK(run_atoll({"check", bad, "--simulate", "dgx-h100", "--seed", "3", "--tier", "full"}).code == 1);
    CHECK(run_atoll({"check", bad, "--simulate", "dgx-h100", "--cluster", example("dgx-h100-64.yaml")}).code == 2);
}

TEST_CASE("what cannot be checked is refused with a remedy") {
    const scratch dir;
    const std::string file = calibrated(dir);
    CHECK(run_atoll({"check", file}).code == 3);
    CHECK(run_atoll({"check", dir.file("absent.json"), "--simulate", "dgx-h100"}).code == 2);
    CHECK(run_atoll({"check", example("dgx-h100-64.yaml"), "--simulate", "dgx-h100"}).code == 2);
    CHECK(run_atoll({"check", dir.write("junk.json", "{\"kind\": 3"), "--simulate", "dgx-h100"}).code == 2);
    CHECK(run_atoll({"check", file, "--simulate", "dgx-h100", "--fault", "dies:GPU3:20"}).code == 3);
    CHECK(run_atoll({"check", file, "--simulate", "dgx-h100", "--fault", "busy:GPU3"}).code != 0);
    const ran other = run_atoll({"check", file, "--simulate", "gb200-nvl72-tray", "--accept"});
    CHECK(other.code == 2);
    CHECK(contains(other.err, "calibrate the node anew"));
}

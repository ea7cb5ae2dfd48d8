// SPDX-License-Identifier: Apache-2.0
// ranks: the order in every format, from each way to name a job, and everything that is refused.
#include <doctest/doctest.h>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

const std::string dgx = example("dgx-h100-64.yaml");  // leaves of eight: dgx[01-08] …

std::string lines(const std::vector<std::string>& each) {
    std::string out;
    for (const auto& line : each) out += line + "\n";
    return out;
}

ran ranks(std::vector<std::string> words, const std::vector<std::string>& environment = {}) {
    words.insert(words.begin(), {"ranks", dgx});
    return run_atoll(words, {}, environment);
}

std::string text(std::vector<std::string> words) {
    const ran r = ranks(std::move(words));
    CHECK_MESSAGE(r.code == 0, r.err);
    return r.out;
}

}  // namespace

TEST_CASE("nodes stand by the fabric whatever the order they are named in") {
    const std::string wanted = lines({"dgx02", "dgx02", "dgx07", "dgx07", "dgx09", "dgx09"});
    CHECK(text({"--nodes", "dgx[09,02,07]", "--gpus", "0-1", "--format", "slurm"}) == wanted);
    CHECK(text({"--nodes", "dgx07,dgx02,dgx09", "--gpus", "4,6", "--format", "slurm"}) == wanted);
}

TEST_CASE("the formats") {
    const std::vector<std::string> job = {"--nodes", "dgx[01-02]", "--gpus", "0-3"};
    const auto as = [&](const std::string& format) {
        auto words = job;
        words.insert(words.end(), {"--format", format});
        return text(words);
    };
    CHECK(as("mpich") == lines({"dgx01:4", "dgx02:4"}));
    CHECK(as("deepspeed") == lines({"dgx01 slots=4", "dgx02 slots=4"}));
    CHECK(as("torchrun") ==
          lines({"dgx01 --nnodes=2 --nproc-per-node=4 --node-rank=0 --master-addr=dgx01 --master-port=29500",
                 "dgx02 --nnodes=2 --nproc-per-node=4 --node-rank=1 --master-addr=dgx01 --master-port=29500"}));
    CHECK(text({"--nodes", "dgx[01-02]", "--format", "torchrun", "--here", "dgx02"}) ==
          "--nnodes=2 --nproc-per-node=8 --node-rank=1 --master-addr=dgx01 --master-port=29500\n");
    // Cores of the GPUs' NUMA node in even parts, no two ranks of a node on one core.
    const std::string file = as("openmpi");
    CHECK(contains(file, "rank 0=dgx01 slot=0-"));
    std::vector<std::string> slots;
    for (std::size_t at = 0; (at = file.find("slot=", at)) != std::string::npos; ++at)
        slots.push_back(file.substr(at, file.find('\n', at) - at));
    REQUIRE(slots.size() == 8);
    for (std::size_t i = 0; i < 4; ++i)
        for (std::size_t k = i + 1; k < 4; ++k) CHECK(slots[i] != slots[k]);
}

TEST_CASE("the object has the ranks in the order of the text, and the predicted time of the pattern") {
    const ran r = ranks({"--nodes", "dgx[01-02]", "--tp", "8", "--pp", "2", "--format", "slurm", "--json"});
    REQUIRE(r.code == 0);
    const auto object = r.json();
    REQUIRE(object["ranks"].size() == 16);
    std::string hosts;
    for (const auto& rank : object["ranks"]) hosts += rank["node"].get<std::string>() + "\n";
    CHECK(object["text"] == hosts);
    CHECK(object["request"]["pattern"] == "composite");
    CHECK(object["predicted"]["step_us"].get<double>() > 0);
    CHECK_FALSE(object.contains("runner_up"));
}

TEST_CASE("an allocation with other GPUs on each node; torchrun refuses unequal nodes, the hostfile does not") {
    const scratch here;
    const std::string file = here.write("allocation.yaml", "dgx03: 0-1\ndgx01: [4, 5, 6]\n");
    CHECK(text({"--allocation", file, "--format", "slurm"}) == lines({"dgx01", "dgx01", "dgx01", "dgx03", "dgx03"}));
    const ran r = ranks({"--allocation", file, "--format", "torchrun"});
    CHECK(r.code == 2);
    CHECK(contains(r.err, "equal numbers"));
}

TEST_CASE("inside a job: one node's GPUs by variable, whole nodes by what each has") {
    const ran one =
        ranks({"--format", "mpich"}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=dgx05", "SLURM_JOB_GPUS=2,3,6"});
    CHECK(one.out == "dgx05:3\n");
    const ran whole = ranks({"--format", "mpich"}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=dgx[05-06]",
                                                    "SLURM_GPUS_PER_NODE=h100:8", "SLURM_JOB_GPUS=0,1,2,3,4,5,6,7"});
    CHECK(whole.out == "dgx05:8\ndgx06:8\n");
    const ran step = ranks({"--format", "mpich"}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=dgx05", "SLURM_STEP_GPUS=1"});
    CHECK(step.out == "dgx05:1\n");
}

TEST_CASE("hostile input is refused with a word on it") {
    const auto refused = [](const std::vector<std::string>& words, const std::vector<std::string>& environment,
                            const std::string& said) {
        const ran r = ranks(words, environment);
        CHECK_MESSAGE(r.code == 2, r.err);
        CHECK(r.out.empty());
        CHECK_MESSAGE(contains(r.err, said), r.err);
    };
    refused({}, {}, "not inside a Slurm job");
    refused({}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=dgx[05"}, "dgx[05");
    refused({}, {"SLURM_JOB_ID=seven", "SLURM_JOB_NODELIST=dgx05"}, "seven");
    refused({}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=dgx05", "SLURM_JOB_GPUS=0,64"}, "0,64");
    refused({}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=dgx05", "SLURM_JOB_GPUS=-1"}, "-1");
    refused({}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=dgx05", "SLURM_JOB_GPUS="}, "no GPU");
    refused({}, {"SLURM_JOB_ID=7", "SLURM_JOB_NODELIST=nowhere", "SLURM_JOB_GPUS=0"}, "nowhere");
    refused({"--nodes", "dgx01", "--gpus", "8"}, {}, "does not know");
    refused({"--nodes", "dgx01,dgx01"}, {}, "twice");
    refused({"--nodes", "dgx01", "--job", "4"}, {}, "use one of them");
    refused({"--gpus", "4"}, {}, "--nodes");
    refused({"--nodes", "dgx01", "--tp", "3"}, {}, "tp");
    refused({"--nodes", "dgx01", "--here", "dgx01"}, {}, "torchrun");
    refused({"--nodes", "dgx01", "--here", "dgx", "--format", "torchrun"}, {}, "no node of the job");
}

// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "topo/export/slurm_cores.hpp"

using namespace topo;

namespace {

id_set set(std::string_view text) { return *id_set::parse(text); }

node_class machine(int cores, int threads, std::vector<std::string> numa, std::vector<std::string> gpus) {
    node_class c;
    c.name = std::string("m");  // gcc 12 warns falsely of overlap at -O2 otherwise (its bug 105651)
    c.cores = cores;
    c.threads_per_core = threads;
    for (std::size_t i = 0; i < numa.size(); ++i) c.numa.push_back({static_cast<int>(i), set(numa[i])});
    for (const auto& g : gpus) {
        gpu device;
        device.cpus = set(g);
        c.gpus.push_back(device);
    }
    return c;
}

std::string cores(const node_class& c, std::string_view cpus) {
    std::string why;
    const auto n = core_numbering::of(c, why);
    return n ? n->cores(set(cpus)).text() : "? " + why;
}

}  // namespace

TEST_CASE("cores: siblings in the upper half are dropped") {
    const auto c = machine(112, 2, {"0-55,112-167", "56-111,168-223"}, {"0-55,112-167"});
    CHECK(cores(c, "0-55,112-167") == "0-55");
    CHECK(cores(c, "56-111,168-223") == "56-111");
    CHECK(cores(c, "168") == "56");
}

TEST_CASE("cores: one thread a core is the same number") {
    CHECK(cores(machine(64, 1, {"0-31", "32-63"}, {"16-31"}), "16-31") == "16-31");
    CHECK(cores(machine(0, 1, {}, {"16-31"}), "16-31") == "16-31");
}

TEST_CASE("cores: threads of a core side by side") {
    const auto c = machine(32, 4, {"0-63", "64-127"}, {"64-127"});
    CHECK(cores(c, "64-127") == "16-31");
    CHECK(cores(c, "0-63") == "0-15");
}

TEST_CASE("cores: CPU numbers dealt to sockets in turn are put in Slurm's order") {
    // 2 sockets of 4 cores, 2 threads: even CPUs on socket 0, siblings 8 apart.
    const auto c = machine(8, 2, {"0,2,4,6,8,10,12,14", "1,3,5,7,9,11,13,15"}, {});
    CHECK(cores(c, "0,2,4,6,8,10,12,14") == "0-3");
    CHECK(cores(c, "1,3,5,7,9,11,13,15") == "4-7");
}

TEST_CASE("cores: counts that are unknown come from two equal halves, or not at all") {
    CHECK(cores(machine(0, 0, {}, {"48-63,176-191", "16-31,144-159"}), "16-31,144-159") == "16-31");
    CHECK(cores(machine(0, 0, {}, {"0-15", "16-31"}), "0-15").starts_with("? the numbers of cores"));
    CHECK(cores(machine(0, 0, {}, {"0-15,64-79", "16-31,90-105"}), "0-15").starts_with("?"));
    CHECK(cores(machine(0, 0, {}, {}), "0-15").starts_with("?"));
}

TEST_CASE("cores: one NUMA node of everything leaves the judgement to the GPUs") {
    CHECK(cores(machine(32, 2, {"0-63"}, {"0-63"}), "0-63") == "0-31");
    CHECK(cores(machine(32, 2, {"0-63"}, {"8-15,40-47"}), "8-15,40-47") == "8-15");
    CHECK(cores(machine(32, 2, {"0-63"}, {"16-31"}), "16-31") == "8-15");
}

TEST_CASE("cores: finer than a socket is fine, clipped GPU sets too") {
    const auto c = machine(64, 2, {"0-31,64-95", "32-63,96-127"}, {"0-15"});
    CHECK(cores(c, "0-15") == "0-15");
}

TEST_CASE("cores: contradictions say nothing") {
    CHECK(cores(machine(32, 2, {"0-31"}, {"0-300"}), "0-15").starts_with("? CPU 300 is beyond"));
    CHECK(cores(machine(32, 2, {"0-10,20-31"}, {}), "0-10").starts_with("? the CPU sets do not tell"));
    CHECK(cores(machine(2'000'000'000, 2, {}, {"0-7"}), "0").starts_with("? 2000000000 cores"));
    CHECK(cores(machine(8, 2'000'000'000, {}, {"0-7"}), "0").ends_with("is no machine"));
    CHECK(cores(machine(-5, -1, {}, {}), "0").starts_with("?"));
}

TEST_CASE("sibling distance") {
    CHECK(sibling_distance(set("0-55,112-167")) == 112);
    CHECK(sibling_distance(set("0-3,8-11,32-35,40-43")) == 32);
    CHECK_FALSE(sibling_distance(set("0,2")));
    CHECK_FALSE(sibling_distance(set("0-7")));
    CHECK_FALSE(sibling_distance(set("0-7,16-22")));
    CHECK_FALSE(sibling_distance(set("0-3,5-8,10-13")));
    CHECK_FALSE(sibling_distance(set("")));
}

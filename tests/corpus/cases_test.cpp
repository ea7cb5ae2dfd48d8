// SPDX-License-Identifier: Apache-2.0
// The given cases that concern reading one node. The files and figures come from the corpus itself.
#include <doctest/doctest.h>

#include <algorithm>
#include <sstream>

#include "tests/corpus/folder.hpp"
#include "topo/node_class.hpp"

using topo::endpoint;
using topo::engine;
using topo::link_class;
using topo::severity;

namespace {

bool says(const topo::findings& notes, std::string_view words, severity at_least = severity::info) {
    return std::any_of(notes.begin(), notes.end(), [&](const topo::finding& f) {
        return f.level >= at_least && f.message().find(words) != std::string::npos;
    });
}

topo::import_output read(const std::string& path) {
    auto got = corpus::import(path);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    return std::move(*got);
}

topo::node_class hardware(const std::string& path) { return read(path).nodes.at(0).hardware; }

}  // namespace

TEST_CASE("case 01: the four bridged pairs, and only they, are islands and the best pairs") {
    if (!corpus::present()) return;
    const auto c = hardware("nvidia-smi-topo/a100-pcie-8gpu-crossed-bridges.txt");
    CHECK(topo::islands(c) == std::vector<topo::gpu_mask>{0b00000101, 0b00001010, 0b00110000, 0b11000000});
    const auto* costs = c.best_layer(endpoint::gpu, endpoint::gpu);
    REQUIRE(costs != nullptr);
    for (std::size_t a = 0; a < 8; ++a)
        for (std::size_t b = 0; b < 8; ++b) {
            if (a == b) continue;
            const bool bridged = c.gpu_links(a, b).kind == link_class::nvlink;
            CHECK((costs->cells(a, b).gb_per_s > 100) == bridged);
        }
    CHECK(c.gpu_links(0, 2).count == 12);
}

TEST_CASE("case 08: every pair reads SYS, the NUMA nodes tell them apart") {
    if (!corpus::present()) return;
    const auto c = hardware("nvidia-smi-topo/rtx4090-8gpu-all-sys.txt");
    for (std::size_t a = 0; a < 8; ++a) {
        CHECK(c.gpus[a].numa == (a < 4 ? 0 : 1));
        for (std::size_t b = 0; b < 8; ++b)
            if (a != b) CHECK(c.gpu_links(a, b).kind == link_class::sys);
    }
    CHECK(c.numa_of(0b00001111) == std::vector<int>{0});
    CHECK(c.numa_of(0b00011000).size() == 2);
}

TEST_CASE("case 18: of 34 NUMA nodes only the two with CPUs are reported") {
    if (!corpus::present()) return;
    const auto c = hardware("nvidia-smi-topo/gb200-nvl72-tray-4gpu-8nic-34numa.txt");
    CHECK(c.numa.size() == 34);
    CHECK(std::count_if(c.numa.begin(), c.numa.end(), [](const auto& n) { return !n.cpus.empty(); }) == 2);
    CHECK(c.gpus[0].numa == 0);
    CHECK(c.gpus[2].numa == 1);
    CHECK(c.numa_of(0b1111) == std::vector<int>{0, 1});
    CHECK(c.numa[0].cpus.text() == "0-71");
    CHECK(c.numa[1].cpus.text() == "72-143");
}

TEST_CASE("case 23: a vendor file without arch, class and GPUs is read; what is missing is said") {
    if (!corpus::present()) return;
    const auto got = read("nccl-xml/aws-p5.48xl-topo.xml");
    CHECK(says(got.notes, "0 GPUs in file"));
    CHECK(says(got.notes, "32 NICs in file"));
    const auto& c = got.nodes.at(0).hardware;
    CHECK(std::count_if(c.nics.begin(), c.nics.end(), [](const auto& n) { return n.numa == 0; }) == 16);
    CHECK(topo::check(c).empty());
}

TEST_CASE("case 25: a flat guest is labelled, a machine whose file looks flat but has sockets is not") {
    if (!corpus::present()) return;
    const auto got = read("nvidia-smi-topo/vm-5gpu-all-phb.txt");
    CHECK_FALSE(got.nodes.at(0).hardware.locality_trusted);
    CHECK(says(got.notes, "virtual, locality not trusted", severity::warning));
    CHECK(hardware("nvidia-smi-topo/rtx4090-8gpu-all-sys.txt").locality_trusted);
    CHECK(hardware("nvidia-smi-topo/k80-4gpu-node.txt").locality_trusted);
}

TEST_CASE("case 31: NICs of a guest without link speed stay, with unknown speed and the reason") {
    if (!corpus::present()) return;
    const auto got = read("nccl-xml/azure-ndv4-topo.xml");
    const auto& c = got.nodes.at(0).hardware;
    REQUIRE(c.nics.size() == 8);
    for (const auto& n : c.nics) {
        CHECK_FALSE(n.gb_per_s.has_value());
        CHECK(n.compute);
    }
    CHECK(says(got.notes, "the port speed of 8 NICs is unknown"));
    const auto near = topo::nearest_nics(c);
    CHECK(std::count(near.begin(), near.end(), -1) == 0);
}

TEST_CASE("case 38: the driver's NUMA affinity counts, the GPU's own memory node does not") {
    if (!corpus::present()) return;
    const auto c = hardware("nvidia-smi-topo/gh200-1gpu-2nic.txt");
    CHECK(c.gpus.at(0).numa == 0);
    CHECK(c.numa_has_cpus(0));
    CHECK_FALSE(c.numa_has_cpus(1));
}

TEST_CASE("case 61: a node that came up without its NVLinks differs from the matrix before") {
    if (!corpus::present()) return;
    const std::string path = "nvidia-smi-topo/azure-nc80-h100nvl-nvlink-inactive.txt";
    const auto now = hardware(path);
    CHECK(now.gpu_links(0, 1).kind == link_class::sys);
    std::string healthy = corpus::text(path);
    for (std::size_t at = 0; at < 2; ++at) {
        const std::size_t row = healthy.find(at == 0 ? "GPU0     X      SYS" : "GPU1    SYS");
        REQUIRE(row != std::string::npos);
        healthy.replace(healthy.find("SYS", row), 3, "NV12");
    }
    const auto before = topo::import_text(healthy, path, topo::format::automatic, {});
    REQUIRE(before.has_value());
    const auto& c = before->nodes.at(0).hardware;
    CHECK(c.gpu_links(0, 1).count == 12);
    CHECK(topo::islands(c).size() == 1);
    CHECK(topo::islands(now).size() == 2);
    const auto gb_per_s = [](const topo::node_class& x) {
        return x.best_layer(endpoint::gpu, endpoint::gpu)->cells(0, 1).gb_per_s;
    };
    CHECK(gb_per_s(now) < gb_per_s(c) / 5);
}

TEST_CASE("case 65: implausible cells of one run are flagged, the others are not") {
    if (!corpus::present()) return;
    const auto got = read("bench/busgrind-8gpu-host.txt");
    CHECK(std::count_if(got.notes.begin(), got.notes.end(),
                        [](const auto& f) { return f.level == severity::warning; }) == 3);
    for (const char* words : {"column 5: 43.62", "column 6: 7.25", "column 7: 9.71"})
        CHECK(says(got.notes, words, severity::warning));
}

TEST_CASE("case 67: host to GPU and GPU to host are two matrices, cell by cell as printed") {
    if (!corpus::present()) return;
    const auto c = hardware("bench/nvbandwidth-8xh100-sm-host.txt");
    const auto* down = c.layer(endpoint::host, endpoint::gpu, engine::sm_copy);
    const auto* up = c.layer(endpoint::gpu, endpoint::host, engine::sm_copy);
    REQUIRE(down != nullptr);
    REQUIRE(up != nullptr);
    CHECK(down->cells(0, 3).gb_per_s == 35.03);
    CHECK(up->cells(3, 0).gb_per_s == 52.78);
    CHECK(down->cells(0, 3).from == topo::source::imported);
    CHECK(down->cells(0, 3).alpha_from == topo::source::estimated);
}

TEST_CASE("case 69: glued columns are refused with row and both counts") {
    if (!corpus::present()) return;
    const auto got = corpus::import("nvidia-smi-topo/dgx-h100-8gpu-12nic-glued-columns.txt");
    REQUIRE_FALSE(got.has_value());
    CHECK(got.failure().where == "nvidia-smi-topo/dgx-h100-8gpu-12nic-glued-columns.txt:6");
    CHECK(got.failure().what.find("row GPU4 has 19 link cells, 20 expected") != std::string::npos);
    CHECK(got.failure().what.find("NIC8NIC9") != std::string::npos);
}

TEST_CASE("case 71: a topology file without NIC entries says so") {
    if (!corpus::present()) return;
    std::string text = corpus::text("nccl-xml/azure-ndv4-topo.xml");
    std::istringstream lines(text);
    std::string without;
    for (std::string line; std::getline(lines, line);)
        if (line.find("0x020700") == std::string::npos) without += line + "\n";
    REQUIRE(without.size() < text.size());
    const auto got = topo::import_text(without, "nd.xml", topo::format::automatic, {});
    REQUIRE(got.has_value());
    CHECK(says(got->notes, "8 GPUs in file"));
    CHECK(says(got->notes, "0 NICs in file"));
}

TEST_CASE("case 73: 144 GPUs and 34 NIC columns are read") {
    if (!corpus::present()) return;
    std::string text;
    for (int i = 0; i < 144; ++i) text += "\tGPU" + std::to_string(i);
    for (int i = 0; i < 34; ++i) text += "\tNIC" + std::to_string(i);
    text += "\n";
    for (int i = 0; i < 144; ++i) {
        text += "GPU" + std::to_string(i);
        for (int k = 0; k < 178; ++k) text += k == i ? "\t X " : k < 144 ? "\tNV18" : "\tSYS";
        text += "\n";
    }
    const auto got = topo::import_text(text, "rack.txt", topo::format::automatic, {});
    REQUIRE(got.has_value());
    CHECK(got->nodes.at(0).hardware.gpus.size() == 144);
    CHECK(got->nodes.at(0).hardware.nics.size() == 34);
    CHECK(says(got->notes, "placement takes nodes of at most 64", severity::warning));
}

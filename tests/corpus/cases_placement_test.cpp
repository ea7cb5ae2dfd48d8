// SPDX-License-Identifier: Apache-2.0
// The given cases about choosing, from the corpus itself (ATOLL_CORPUS): imported, then placed.
#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "placement/placer.hpp"
#include "placement/subset_table.hpp"
#include "tests/corpus/folder.hpp"
#include "topo/cluster.hpp"
#include "topo/link_table.hpp"

using placement::outcome;
using topo::gpu_mask;

namespace {

topo::node_class hardware_of(const std::string& path) {
    auto got = corpus::import(path);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    REQUIRE(!got->nodes.empty());
    return got->nodes.front().hardware;
}

placement::subset_table table_of(const topo::node_class& hardware) {
    auto built = placement::subset_table::build(hardware, {});
    REQUIRE_MESSAGE(built.has_value(), built.failure().message());
    return std::move(*built);
}

std::string case_file(const std::string& folder, const std::string& name) {
    return corpus::text("cases/" + folder + "/" + name);
}

unsigned whole(gpu_mask set, const std::vector<gpu_mask>& pairs) {
    return static_cast<unsigned>(std::count_if(pairs.begin(), pairs.end(), [&](gpu_mask p) { return (set & p) == p; }));
}

topo::cluster cluster_of(const topo::fabric_description& fabric) {
    topo::cluster_description d;
    d.name = "case";
    auto& hardware = d.classes.emplace_back();
    hardware.name = "k";
    for (int g = 0; g < 4; ++g) hardware.gpus.emplace_back().name = "GPU" + std::to_string(g);
    hardware.gpu_links = topo::matrix<topo::link>(4, 4, {topo::link_class::nvlink, 12});
    for (std::size_t g = 0; g < 4; ++g) hardware.gpu_links(g, g) = {topo::link_class::self, 0};
    topo::fill_estimates(hardware);
    d.nodes = {{"k", {}}};
    for (const auto& s : fabric.switches)
        d.nodes[0].nodes.insert(d.nodes[0].nodes.end(), s.nodes.begin(), s.nodes.end());
    d.fabric = fabric;
    auto built = topo::cluster::build(std::move(d));
    REQUIRE_MESSAGE(built.has_value(), built.failure().message());
    return std::move(*built);
}

topo::cluster imported_cluster(const std::string& path) {
    auto got = corpus::import(path);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    REQUIRE(got->fabric.has_value());
    return cluster_of(*got->fabric);
}

outcome place(const placement::placer& p, std::uint32_t nodes, placement::answer& a) {
    placement::request r;
    r.nodes = nodes;
    r.gpus_per_node = 4;
    return p.choose(r, {}, a);
}

}  // namespace

TEST_CASE("case 01: with all free, two GPUs are one of the four bridged pairs") {
    if (!corpus::present()) return;
    const std::string wanted = case_file("01-nvlink-pairs-crossed", "request.txt");
    REQUIRE(wanted.find("{0,2}|{1,3}|{4,5}|{6,7}") != std::string::npos);
    const std::vector<gpu_mask> pairs = {0b101, 0b1010, 0b110000, 0b11000000};
    const auto table = table_of(hardware_of("nvidia-smi-topo/a100-pcie-8gpu-crossed-bridges.txt"));
    gpu_mask free = 255;
    for (int job = 0; job < 4; ++job) {
        const auto two = table.best(free, 2);
        REQUIRE(two);
        CHECK(whole(two->gpus, pairs) == 1);
        free &= ~two->gpus;
    }
    for (free = 1; free < 256; ++free)
        if (whole(free, pairs) > 0) CHECK(whole(table.best(free, 2)->gpus, pairs) == 1);
}

TEST_CASE("case 03: four one-GPU jobs on bridged pairs leave two whole pairs") {
    if (!corpus::present()) return;
    const auto hardware = hardware_of("nvidia-smi-topo/a100-pcie-8gpu-crossed-bridges.txt");
    const std::vector<gpu_mask> pairs = {0b101, 0b1010, 0b110000, 0b11000000};
    const auto table = table_of(hardware);
    gpu_mask free = 255;
    for (int job = 0; job < 4; ++job) free &= ~table.best(free, 1)->gpus;
    CHECK(whole(free, pairs) == 2);
}

TEST_CASE("case 08: every pair SYS: the sockets decide") {
    if (!corpus::present()) return;
    const auto table = table_of(hardware_of("nvidia-smi-topo/rtx4090-8gpu-all-sys.txt"));
    const gpu_mask two = table.best(255, 2)->gpus;
    CHECK(((two & 0x0f) == two || (two & 0xf0) == two));
    const gpu_mask four = table.best(255, 4)->gpus;
    CHECK((four == 0x0f || four == 0xf0));
}

TEST_CASE("every machine of the corpus: each size of each free set is answered exactly (case 07)") {
    if (!corpus::present()) return;
    std::size_t machines = 0;
    for (const auto& name : corpus::files("nvidia-smi-topo")) {
        const auto got = corpus::import("nvidia-smi-topo/" + name);
        if (!got) continue;
        for (const auto& node : got->nodes) {
            const auto built = placement::subset_table::build(node.hardware, {});
            if (!built || built->gpus() == 0 || built->gpus() > 16) continue;
            ++machines;
            const gpu_mask end = gpu_mask{1} << built->gpus();
            for (gpu_mask free = 1; free<end; free += end> 4096 ? 61 : 1)
                for (unsigned k = 1; k <= topo::count(free); ++k) {
                    const auto best = built->best(free, k);
                    REQUIRE(best);
                    REQUIRE(topo::count(best->gpus) == k);
                    REQUIRE((best->gpus & ~free) == 0);
                }
        }
    }
    MESSAGE(machines << " machines");
    CHECK(machines > 5);
}

TEST_CASE("case 48: two fabrics stay two, and no job gets nodes of both") {
    if (!corpus::present()) return;
    const auto c = imported_cluster("cases/48-one-root-for-two-fabrics/topology.conf");
    REQUIRE(c.nodes().size() == 12);
    auto p = placement::placer::make(c);
    REQUIRE(p);
    placement::answer a;
    REQUIRE(place(*p, 8, a) == outcome::placed);
    for (const auto& n : a.nodes) CHECK(c.nodes()[n.node.value].name[0] == 'n');
    CHECK(place(*p, 9, a) == outcome::unreachable);
    REQUIRE(place(*p, 4, a) == outcome::placed);
    const char fabric = c.nodes()[a.nodes[0].node.value].name[0];
    for (const auto& n : a.nodes) CHECK(c.nodes()[n.node.value].name[0] == fabric);
}

TEST_CASE("case 52: an 18-node job does not fit the short block") {
    if (!corpus::present()) return;
    // The file hides its short block behind a comment sign, as the thread's users had to.
    std::string text = corpus::text("slurm/azure-cc-slurm_illegal_block_topology_2.conf");
    const std::size_t hidden = text.find("#BlockName");
    REQUIRE(hidden != std::string::npos);
    text.erase(hidden, 1);
    const auto got = topo::import_text(text, "blocks.conf", topo::format::automatic, {});
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    REQUIRE(got->fabric.has_value());
    const auto c = cluster_of(*got->fabric);
    CHECK(c.nodes().size() == 3 * 18 + 14);  // no node was made up
    auto p = placement::placer::make(c);
    REQUIRE(p);
    const auto& net = c.network();
    std::uint32_t shortest = 0;
    for (std::uint32_t g = 0; g < net.groups(0); ++g)
        if (net.nodes(0, topo::group_id(g)).size() < net.nodes(0, topo::group_id(shortest)).size()) shortest = g;
    const auto nodes = net.nodes(0, topo::group_id(shortest));
    REQUIRE(nodes.size() == 14);
    placement::answer a;
    REQUIRE(place(*p, 18, a) == outcome::placed);
    for (const auto& n : a.nodes) CHECK(net.group_of(n.node, 0).value != shortest);
    REQUIRE(place(*p, 14, a) == outcome::placed);
    for (const auto& n : a.nodes) CHECK(net.group_of(n.node, 0).value == shortest);
    // With nothing else free, eighteen do not fit it.
    for (std::uint32_t n = 0; n < c.nodes().size(); ++n) p->set_free(topo::node_id(n), 0);
    for (const auto n : nodes) p->set_free(n, 15);
    CHECK(place(*p, 18, a) == outcome::too_few_gpus);
    REQUIRE(place(*p, 14, a) == outcome::placed);
}

TEST_CASE("case 67: measured matrices stay directed in the rings") {
    if (!corpus::present()) return;
    auto hardware = hardware_of("nvidia-smi-topo/a100-pcie-8gpu-crossed-bridges.txt");
    for (auto& layer : hardware.layers)
        if (layer.from == topo::endpoint::gpu && layer.to == topo::endpoint::gpu) layer.cells(0, 2).gb_per_s = 1;
    const auto table = table_of(hardware);
    CHECK(table.ring(0b101).gb_per_s == 1);
    CHECK(table.best(255, 2)->gpus != 0b101);
}

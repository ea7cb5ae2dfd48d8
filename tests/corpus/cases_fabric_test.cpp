// SPDX-License-Identifier: Apache-2.0
// The given cases about fabrics, gres and sysfs, from the corpus itself (ATOLL_CORPUS).
#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/corpus/folder.hpp"
#include "tests/topo/fake_sysfs.hpp"
#include "tests/topo/import_help.hpp"
#include "topo/cluster.hpp"
#include "topo/export/export.hpp"
#include "topo/import/switch_rules.hpp"

using namespace topo;
using namespace topo::test;

namespace {

std::vector<std::vector<std::string>> rows(const std::string& text) {
    std::vector<std::vector<std::string>> out;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        std::istringstream in(line);
        std::vector<std::string> words;
        for (std::string w; in >> w;) words.push_back(w);
        if (!words.empty()) out.push_back(std::move(words));
    }
    return out;
}

// A machine with a GPU at each address of "ADDRESS numa_node N" lines.
node_description machine_of(const std::string& text) {
    fake_sysfs s;
    s.numa(0, "0-31");
    s.numa(1, "32-63");
    for (const auto& row : rows(text)) {
        REQUIRE(row.size() == 3);
        s.pci("pci0000:00/" + row[0], "0x030200", "0x10de", std::stoi(row[2]));
    }
    auto got = discover(s.options());
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    return std::move(*got);
}

cluster cluster_of(const fabric_description& fabric, std::vector<node_class> classes = {}) {
    cluster_description d;
    d.name = "c";
    if (classes.empty()) classes.emplace_back().name = "k";
    d.classes = std::move(classes);
    d.nodes = {{d.classes[0].name, {}}};
    for (const auto& s : fabric.switches)
        d.nodes[0].nodes.insert(d.nodes[0].nodes.end(), s.nodes.begin(), s.nodes.end());
    if (d.nodes[0].nodes.empty()) d.nodes[0].nodes = {"n1"};
    d.fabric = fabric;
    auto built = cluster::build(std::move(d));
    REQUIRE_MESSAGE(built.has_value(), built.failure().message());
    return std::move(*built);
}

}  // namespace

TEST_CASE("case 20: GPUs on NUMA 0, 1, 1: the CPU node with most of them is 1") {
    if (!corpus::present()) return;
    const auto n = machine_of(corpus::text("cases/20-three-gpus-one-plus-two/sysfs.txt"));
    REQUIRE(n.hardware.gpus.size() == 3);
    CHECK(n.hardware.numa_of(0b111) == std::vector<int>{1, 0});
}

TEST_CASE("case 21: numa_node -1 is unknown") {
    if (!corpus::present()) return;
    const auto n = machine_of(corpus::text("cases/21-numa-minus-one/sysfs.txt"));
    REQUIRE(n.hardware.gpus.size() == 2);
    CHECK(n.hardware.gpus[0].numa == unknown_numa);
    CHECK(n.hardware.numa_of(0b11).empty());
    CHECK(holds(n.notes, "locality unknown"));
}

TEST_CASE("case 31: a NIC whose link speed is missing stays, with unknown speed and a reason") {
    if (!corpus::present()) return;
    const std::string text = corpus::text("cases/31-nic-without-link-speed/sysfs.txt");
    REQUIRE(text.find("max_link_speed: (missing)") != std::string::npos);
    const std::string address = rows(text)[0][0];
    fake_sysfs s;
    s.pci("pci0000:00/0000:00:04.0", "0x030200", "0x10de", 0);
    s.file("sys/devices/pci0000:00/" + address + "/class", "0x020000\n");
    s.link("sys/bus/pci/devices/" + address, "../../../devices/pci0000:00/" + address);
    s.verbs("mlx5_0", "pci0000:00/" + address, "");
    const auto n = discover(s.options());
    REQUIRE(n.has_value());
    REQUIRE(n->hardware.nics.size() == 1);
    CHECK(n->hardware.nics[0].pci->text() == address);
    CHECK_FALSE(n->hardware.nics[0].gb_per_s.has_value());
    CHECK(n->hardware.nics[0].compute);
    CHECK(holds(n->notes, "mlx5_0: the speed or width of its PCIe link cannot be read"));
    const auto* layer = n->hardware.best_layer(endpoint::gpu, endpoint::nic);
    REQUIRE(layer != nullptr);
    CHECK(layer->cells(0, 0).gb_per_s > 0);
}

TEST_CASE("case 35: VMD domains of 32 bits are kept apart, and ignored without GPU or NIC") {
    if (!corpus::present()) return;
    fake_sysfs s;
    std::set<pci_address> addresses;
    const auto lines = rows(corpus::text("cases/35-vmd-32-bit-pci-domain/lspci.txt"));
    for (const auto& row : lines) {
        const auto address = pci_address::parse(row[0]);
        REQUIRE(address.has_value());
        CHECK(address->text() == row[0]);
        addresses.insert(*address);
        s.pci("pci" + row[0].substr(0, row[0].rfind(':')) + "/" + row[0], "0x060400", "0x8086", 0);
    }
    CHECK(addresses.size() == lines.size());
    CHECK(addresses.rbegin()->domain == 0x10001);
    const auto n = discover(s.options());
    REQUIRE(n.has_value());
    CHECK(n->hardware.gpus.empty());
    CHECK(n->hardware.nics.empty());
}

TEST_CASE("case 38: of nine NUMA nodes one has CPUs") {
    if (!corpus::present()) return;
    const std::string text = corpus::text("cases/38-grace-cpuset-from-pci/lscpu.txt");
    REQUIRE(text.find("NUMA node0 CPU(s): 0-71") != std::string::npos);
    REQUIRE(text.find("expect usable NUMA nodes: 1") != std::string::npos);
    fake_sysfs s;
    s.numa(0, "0-71", "10 80 80 80 80 80 80 80 80");
    for (int id = 1; id <= 8; ++id) s.numa(id, "");
    s.pci("pci0009:00/0009:00:00.0/0009:01:00.0", "0x030200", "0x10de", 0);
    const auto n = discover(s.options());
    REQUIRE(n.has_value());
    const auto& numa = n->hardware.numa;
    CHECK(numa.size() == 9);
    CHECK(std::count_if(numa.begin(), numa.end(), [](const numa_node& x) { return !x.cpus.empty(); }) == 1);
    CHECK(n->hardware.gpus.at(0).cpus.text() == "0-71");
}

TEST_CASE("case 42: CPUs= with siblings is explained, and written again as Cores=") {
    if (!corpus::present()) return;
    const auto got = read(format::automatic, corpus::text("cases/42-gres-cpus-hyperthreads/gres.conf"));
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->kind == format::slurm_gres);
    const auto& n = got->nodes.at(0);
    CHECK(holds(n.notes, "in.txt:1: CPUs=48-63,176-191 names both hardware threads"));
    CHECK(holds(n.notes, "write Cores=48-63"));
    CHECK(holds(n.notes, "write Cores=80-95"));
    const auto out = to_slurm_gres(cluster_of({}, {n.hardware}));
    REQUIRE_MESSAGE(out.has_value(), out.failure().message());
    CHECK(out->text.find("File=/dev/nvidia0 Cores=48-63\n") != std::string::npos);
    CHECK(out->text.find("File=/dev/nvidia5 Cores=112-127\n") != std::string::npos);
}

TEST_CASE("case 43: a double comma in Links has its place; zeros everywhere are doubted") {
    if (!corpus::present()) return;
    std::string text = corpus::text("cases/43-gres-links-typo-and-zeros/gres.conf");
    check_error(read(format::automatic, text), "in.txt:3:53", "empty number");
    text.erase(text.find(",,"), 1);
    check_error(read(format::automatic, text, true), "in.txt:1", "no pair is joined by NVLink");
    const auto got = read(format::automatic, text);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(holds(got->nodes.at(0).notes, "if the machine has NVLink"));
    text.erase(text.rfind(",0,0"), 2);
    check_error(read(format::automatic, text), "in.txt:8:46", "7 numbers, the node has 8");
}

TEST_CASE("case 45: an affinity finer than the socket is legal both ways") {
    if (!corpus::present()) return;
    REQUIRE(
        corpus::text("cases/45-gres-cores-not-socket/reason.txt").find("core affinity 0-15, socket 0 is cores 0-31") !=
        std::string::npos);
    const auto got = read(format::slurm_gres, "Name=gpu File=/dev/nvidia0 Cores=0-15\n", true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    node_class c = got->nodes.at(0).hardware;
    c.cores = 32;
    c.threads_per_core = 1;
    c.numa = {{0, *id_set::parse("0-31")}};
    CHECK(c.numa[0].cpus.overlap(c.gpus[0].cpus) == 16);
    const auto out = to_slurm_gres(cluster_of({}, {c}));
    REQUIRE(out.has_value());
    CHECK(out->text.find("Cores=0-15") != std::string::npos);
}

TEST_CASE("case 48: two fabrics stay two, and come out as they went in") {
    if (!corpus::present()) return;
    const std::string text = corpus::text("cases/48-one-root-for-two-fabrics/topology.conf");
    const auto got = read(format::automatic, text, true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    const auto c = cluster_of(*got->fabric);
    CHECK(c.network().level_of(*c.find("n1"), *c.find("m1")) == unreachable_level);
    CHECK(c.network().level_of(*c.find("n1"), *c.find("n8")) == 1);
    const auto out = to_slurm_topology(c);
    REQUIRE(out.has_value());
    CHECK(*read(format::slurm_topology, out->text)->fabric == *got->fabric);
    CHECK(out->text.find("SwitchName=fabA Switches=a[1-2]\n") != std::string::npos);
}

TEST_CASE("case 50: a child switch without a line is named with its switch and line") {
    if (!corpus::present()) return;
    const std::string text = corpus::text("cases/50-switch-with-missing-child/topology.conf");
    const auto got = read(format::automatic, text);
    REQUIRE(got.has_value());
    CHECK(holds(got->notes, "in.txt:1: switch root names child leaf3, which has no line"));
    const auto c = cluster_of(*got->fabric);
    CHECK(c.network().level_of(*c.find("n1"), *c.find("n4")) == 1);
    check_error(read(format::automatic, text, true), "in.txt:1", "leaf3");
}

TEST_CASE("case 52: a block of 14 beside blocks of 18 is legal, without fake nodes") {
    if (!corpus::present()) return;
    std::string text = corpus::text("slurm/azure-cc-slurm_illegal_block_topology_2.conf");
    const auto hidden = read(format::automatic, text);
    REQUIRE(hidden.has_value());
    CHECK(hidden->fabric->switches.size() == 3);
    CHECK(holds(hidden->notes, "in.txt:13: a commented-out line was seen and not read: BlockName=block4"));
    text.erase(text.find("#BlockName"), 1);
    const auto got = read(format::automatic, text, true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    REQUIRE(got->fabric->switches.size() == 4);
    CHECK(got->fabric->switches[3].nodes.size() == 14);
    CHECK(got->fabric->block_sizes == std::vector<std::uint32_t>{18});
    const auto out = to_slurm_topology(cluster_of(*got->fabric));
    REQUIRE(out.has_value());
    CHECK(*read(format::slurm_topology, out->text)->fabric == *got->fabric);
}

TEST_CASE("case 59: a cluster UUID of zeros is no domain") {
    if (!corpus::present()) return;
    std::size_t seen = 0;
    for (const auto& row : rows(corpus::text("cases/59-zero-cluster-uuid/fabric.txt")))
        for (const auto& word : row)
            if (word.starts_with("uuid=")) {
                CHECK(domain_id(word.substr(5)).empty());
                ++seen;
            }
    CHECK(seen == 2);
    CHECK(domain_id("00000000-0000-0000-0000-00000000723c") == "00000000-0000-0000-0000-00000000723c");
}

TEST_CASE("the SuperPOD's InfiniBand fabric: 31 leaves are 8 units under one group of 9 spines") {
    if (!corpus::present()) return;
    const auto got = read(format::automatic, corpus::text("ib/dgx-h100-superpod-ibnetdiscover.out"));
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    const auto& f = *got->fabric;
    CHECK(f.form == fabric_form::rail_optimised);
    REQUIRE(f.switches.size() == 9);
    CHECK(f.switches[0].switches.size() == 8);
    check_sound(f);
    std::set<std::string> hosts;
    std::size_t named = 0;
    for (const auto& s : f.switches)
        for (const auto& n : s.nodes) {
            CHECK(hosts.insert(n).second);
            named += n.starts_with("node") ? 1 : 0;
        }
    CHECK(hosts.size() == named + 69);
    const auto c = cluster_of(f);
    CHECK(c.network().levels() == 2);
    CHECK(c.network().level_of(*c.find("node0001"), *c.find("node0017")) == 0);
    CHECK(c.network().level_of(*c.find("node0001"), *c.find("node0028")) == 1);
}

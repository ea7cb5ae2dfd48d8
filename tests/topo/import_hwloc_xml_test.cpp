// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <random>

#include "tests/topo/import_text.hpp"

using import_test::hardware;
using import_test::has;
using import_test::read;
using import_test::refusal;
using import_test::says;
using topo::format;
using topo::link_class;

namespace {

// v2: NUMA nodes beside the packages' children; ports listed one by one.
constexpr std::string_view v2 = R"(<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine" os_index="0" cpuset="0x000000ff" nodeset="0x00000007">
    <info name="HostName" value="node7"/>
    <object type="Package" os_index="0" cpuset="0x0000000f" nodeset="0x00000005">
      <object type="NUMANode" os_index="0" cpuset="0x0000000f" nodeset="0x00000001"/>
      <object type="NUMANode" os_index="2" cpuset="0x0" nodeset="0x00000004"/>
      <object type="Core"><object type="PU" os_index="0"/><object type="PU" os_index="1"/></object>
      <object type="Core"><object type="PU" os_index="2"/><object type="PU" os_index="3"/></object>
      <object type="Bridge" bridge_type="0-1">
        <object type="Bridge" bridge_type="1-1" pci_busid="0000:00:01.0">
          <object type="Bridge" bridge_type="1-1" pci_busid="0000:01:00.0">
            <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:00.0">
              <object type="PCIDev" gp_index="40" pci_busid="0000:03:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1">
                <object type="OSDev" gp_index="41" name="nvml1" osdev_type="5">
                  <info name="GPUModel" value="NVIDIA A100-SXM4-80GB"/><info name="NVIDIAUUID" value="GPU-b"/>
                </object>
              </object>
            </object>
            <object type="Bridge" bridge_type="1-1" pci_busid="0000:02:01.0">
              <object type="PCIDev" pci_busid="0000:04:00.0" pci_type="0207 [15b3:101b] [15b3:0007] 00">
                <object type="OSDev" name="ib0" osdev_type="2"/>
                <object type="OSDev" name="mlx5_0" osdev_type="3"><info name="NodeGUID" value="a0:1"/></object>
              </object>
            </object>
          </object>
        </object>
        <object type="PCIDev" pci_busid="0000:00:1f.0" pci_type="0200 [8086:1521] [0000:0000] 00">
          <object type="OSDev" name="eth0" osdev_type="2"/>
        </object>
        <object type="PCIDev" pci_busid="0000:00:1e.0" pci_type="0300 [1a03:2000] [0000:0000] 00">
          <object type="OSDev" name="card0" osdev_type="1"/>
        </object>
      </object>
      <object type="Bridge" bridge_type="0-1">
        <object type="PCIDev" gp_index="44" pci_busid="10000:e1:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1">
          <object type="OSDev" gp_index="45" name="nvml0" osdev_type="5"/>
        </object>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x000000f0" nodeset="0x00000002">
      <object type="NUMANode" os_index="1" cpuset="0x000000f0" nodeset="0x00000002"/>
      <object type="Bridge" bridge_type="0-1">
        <object type="PCIDev" pci_busid="0000:80:00.0" pci_type="0200 [1d0f:efa1] [1d0f:efa1] 00"/>
        <object type="PCIDev" gp_index="46" pci_busid="0000:81:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1">
          <object type="OSDev" gp_index="47" name="nvml2" osdev_type="5"/>
        </object>
      </object>
    </object>
  </object>
  <distances2hetero nbobjs="3" kind="25" name="NVLinkBandwidth">
    <indexes length="27">OSDev:41 OSDev:45 </indexes>
    <indexes length="9">OSDev:47 </indexes>
    <u64values length="15">0 300000 0 </u64values>
    <u64values length="15">300000 0 0 </u64values>
    <u64values length="6">0 0 0 </u64values>
  </distances2hetero>
</topology>
)";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string out(text);
    for (std::size_t at = out.find(from); at != std::string::npos; at = out.find(from, at + to.size()))
        out.replace(at, from.size(), to);
    REQUIRE(out != text);
    return out;
}

}  // namespace

TEST_CASE("hwloc XML v2: GPUs in NVML's order, NUMA with CPUs, links, NICs that carry verbs") {
    const auto got = read(v2);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->nodes.front().host == "node7");
    const auto c = hardware(v2);
    REQUIRE(c.gpus.size() == 3);
    CHECK(c.gpus[0].pci->text() == "10000:e1:00.0");
    CHECK(c.gpus[1].model == "NVIDIA A100-SXM4-80GB");
    CHECK(c.gpus[1].uuid == "GPU-b");
    CHECK(c.gpus[1].numa == 0);  // its package also holds a memory-only node
    CHECK(c.gpus[1].cpus.text() == "0-3");
    CHECK(c.gpus[2].numa == 1);
    CHECK_FALSE(c.numa_has_cpus(2));
    CHECK(c.cores == 2);
    CHECK(c.threads_per_core == 2);
    CHECK(c.gpu_links(0, 1) == topo::link{link_class::nvlink, 12});
    CHECK(c.gpu_links(0, 2).kind == link_class::sys);
    REQUIRE(c.nics.size() == 2);  // neither eth0 nor the board's display
    CHECK(c.nics[0].name == "mlx5_0");
    CHECK(c.nics[0].guid == "a0:1");
    CHECK(c.nics[1].name == "nic-0000:80:00.0");
    CHECK(c.nic_links(1, 0).kind == link_class::pix);
    CHECK(c.nic_links(0, 0).kind == link_class::node);
    CHECK(c.nic_links(2, 1).kind == link_class::phb);
    CHECK(says(got->notes, "port speeds"));
}

TEST_CASE("hwloc XML v1 has NUMA nodes as parents and no version") {
    const auto c = hardware(R"(<topology><object type="Machine" nodeset="0x3" cpuset="0xff">
      <object type="NUMANode" os_index="8" nodeset="0x00000100" cpuset="0x0000000f">
        <object type="Socket" nodeset="0x00000100" cpuset="0x0000000f">
        <object type="Bridge" bridge_type="0-1"><object type="PCIDev" name="GV100GL" pci_busid="0004:04:00.0" pci_type="0302 [10de:1db1] [10de:1212] a1"/></object>
        </object></object>
      <object type="NUMANode" os_index="252" nodeset="0x10000000,,,,,,,0x0" cpuset="0x0"/>
      </object></topology>)");
    REQUIRE(c.gpus.size() == 1);
    CHECK(c.gpus[0].numa == 8);
    CHECK(c.gpus[0].model == "GV100GL");
    CHECK(c.numa.size() == 2);
    CHECK_FALSE(c.numa_has_cpus(252));
}

TEST_CASE("hwloc XML v3 numbers OS devices by bits; newer versions are refused by name") {
    auto v3 = replaced(v2, "version=\"2.0\"", "version=\"3.0\"");
    v3 = replaced(v3, "name=\"mlx5_0\" osdev_type=\"3\"", "name=\"mlx5_0\" osdev_type=\"48\"");
    v3 = replaced(v3, "name=\"ib0\" osdev_type=\"2\"", "name=\"ib0\" osdev_type=\"16\"");
    CHECK(hardware(v3).nics == hardware(v2).nics);
    const auto newer = read(replaced(v2, "version=\"2.0\"", "version=\"4.1\""));
    REQUIRE_FALSE(newer.has_value());
    CHECK(newer.failure().code == topo::errc::unsupported_version);
    CHECK(has(newer.failure().message(), "lstopo --export-xml-flags v2"));
    CHECK(has(refusal(replaced(v2, "version=\"2.0\"", "version=\"two\"")), "'two' is no version"));
}

TEST_CASE("devices of an unknown place have no NUMA node") {
    const auto c = hardware(R"(<topology version="2.0"><object type="Machine" nodeset="0x3" cpuset="0xff">
      <object type="NUMANode" os_index="0" nodeset="0x1" cpuset="0x0f"/><object type="NUMANode" os_index="1" nodeset="0x2" cpuset="0xf0"/>
      <object type="Bridge" bridge_type="0-1">
        <object type="PCIDev" pci_busid="0000:07:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1"/>
        <object type="PCIDev" pci_busid="0000:08:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1"/>
        <object type="PCIDev" pci_busid="0000:09:00.0" pci_type="0302 [10de:20b2] [10de:1463] a1"/></object></object></topology>)");
    CHECK(c.gpus[0].numa == topo::unknown_numa);
    CHECK(c.gpus[0].cpus.empty());
    CHECK_FALSE(c.locality_trusted);
}

TEST_CASE("displays of server boards, VMD bridges and storage are no devices of ours") {
    const auto got = read(R"(<topology version="2.0"><object type="Machine" nodeset="0x1" cpuset="0xf">
      <object type="NUMANode" os_index="0" nodeset="0x1" cpuset="0xf"/>
      <object type="Bridge" bridge_type="0-1" bridge_pci="10000:[00-02]">
        <object type="Bridge" bridge_type="1-1" pci_busid="10000:00:02.0" pci_type="0604 [8086:2030] [0000:0000] 04"/>
        <object type="PCIDev" pci_busid="10001:00:00.0" pci_type="0108 [8086:0a54] [0000:0000] 00"/></object>
      <object type="Bridge" bridge_type="0-1">
        <object type="PCIDev" pci_busid="0000:01:00.0" pci_type="0300 [1002:515e] [0014:0019] 02"><object type="OSDev" name="card0" osdev_type="1"/></object>
        <object type="PCIDev" pci_busid="0000:02:00.0" pci_type="0300 [1002:6860] [1002:0c35] 01"><object type="OSDev" name="renderD128" osdev_type="1"/></object>
        </object></object></topology>)");
    REQUIRE(got.has_value());
    CHECK(got->nodes.front().hardware.gpus.size() == 1);
    CHECK(says(got->notes, "0 NICs in file"));
}

TEST_CASE("a distance matrix that is not square is left out with its line") {
    const auto got = read(replaced(v2, "<u64values length=\"6\">0 0 0 </u64values>", ""));
    REQUIRE(got.has_value());
    CHECK(says(got->notes, "NVLinkBandwidth matrix is not square", topo::severity::warning));
    CHECK(got->nodes.front().hardware.gpu_links(0, 1).kind == link_class::node);
    const auto words = read(replaced(v2, "0 300000 0 ", "0 -3 x "));
    REQUIRE(words.has_value());
    CHECK(says(words->notes, "holds no numbers", topo::severity::warning));
}

TEST_CASE("NVSwitches: GPUs of one group of switches are joined by the smaller side") {
    auto text = replaced(v2, "OSDev:47 ", "PCIDev:90 PCIDev:91 ");
    text = replaced(text, "0 300000 0 ", "0 0 25000 25000 0 0 0 50000 ");
    text = replaced(text, "300000 0 0 ", "25000 0 0 100 ");
    text = replaced(text, ">0 0 0 <", ">25000 50000 100 0 <");
    const auto c = hardware(text);
    CHECK(c.gpu_links(0, 1) == topo::link{link_class::nvlink, 2});
}

TEST_CASE("duplicates, bad addresses and every truncation are errors, never a crash") {
    CHECK(has(refusal(replaced(v2, "10000:e1:00.0", "0000:03:00.0")), "PCI device 0000:03:00.0 stands twice"));
    CHECK(has(refusal(replaced(v2, "10000:e1:00.0", "e1")), "'e1' is not a PCI address"));
    CHECK(has(refusal("<topology><object/>", format::hwloc_xml), "not well-formed XML"));
    CHECK(has(refusal("<other/>", format::hwloc_xml), "<other>, not <topology>"));
    for (std::size_t n = 0; n < v2.rfind("</"); n += 7) CHECK_FALSE(read(v2.substr(0, n), format::hwloc_xml));
    std::mt19937 random(3);
    for (int i = 0; i < 500; ++i) {
        std::string text(v2);
        for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 256);
        const auto got = read(text, format::hwloc_xml);
        if (got)
            CHECK(topo::check(got->nodes.front().hardware).empty());
        else
            CHECK(got.failure().where.starts_with("in.txt"));
    }
}

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

constexpr std::string_view two_sockets = R"(<system version="1">
  <cpu numaid="0" affinity="0000000f" arch="x86_64" vendor="GenuineIntel">
    <pci busid="0000:10:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:11:00.0" class="0x030200" vendor="0x10de" link_speed="16.0 GT/s PCIe" link_width="16">
        <gpu dev="1" sm="80" rank="1" gdr="1">
          <nvlink target="0000:21:00.0" count="4" tclass="0x030200"/>
        </gpu>
      </pci>
      <pci busid="0000:12:00.0" class="0x020700" link_speed="" link_width="0">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1" guid="0xa0"/></nic>
      </pci>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="000000f0">
    <pci busid="10001:21:00.0" class="0x030200" link_speed="unknown">
      <gpu dev="2" sm="80"/>
    </pci>
    <pci busid="0000:21:00.0" class="0x030200">
      <gpu dev="0" sm="80"><nvlink target="0000:11:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
    <nic><net name="eth0" dev="1" speed="0"/></nic>
  </cpu>
</system>
)";

}  // namespace

TEST_CASE("NCCL XML: devices in NCCL's order, links from tree and NVLink, speeds, 32-bit domains") {
    const auto c = hardware(two_sockets);
    REQUIRE(c.gpus.size() == 3);
    CHECK(c.gpus[0].pci->text() == "0000:21:00.0");
    CHECK(c.gpus[1].pci->text() == "0000:11:00.0");
    CHECK(c.gpus[2].pci->domain == 0x10001);
    CHECK(c.gpus[1].numa == 0);
    CHECK(c.gpus[1].cpus.text() == "0-3");
    CHECK(c.gpu_links(0, 1) == topo::link{link_class::nvlink, 4});
    CHECK(c.gpu_links(0, 2).kind == link_class::phb);
    CHECK(c.gpu_links(1, 2).kind == link_class::sys);
    REQUIRE(c.nics.size() == 2);
    CHECK(c.nics[0].name == "mlx5_0");
    CHECK(c.nics[0].guid == "0xa0");
    CHECK(c.nics[0].gb_per_s == doctest::Approx(25));
    CHECK_FALSE(c.nics[1].gb_per_s.has_value());
    CHECK(c.nic_links(1, 0).kind == link_class::pix);
    CHECK(c.nic_links(0, 1).kind == link_class::phb);
    CHECK(c.nics[0].compute);
    CHECK_FALSE(c.nics[1].compute);
    const auto* nic = c.best_layer(topo::endpoint::gpu, topo::endpoint::nic);
    REQUIRE(nic != nullptr);
    CHECK(nic->cells(1, 0).gb_per_s == doctest::Approx(25));  // the port caps what PCIe would carry
}

TEST_CASE("a skeleton without arch, class and GPUs is read; what is missing is said") {
    const auto got = read(R"(<system version="1"><cpu numaid="0">
      <pci busid="0000:45:00.0"><pci busid="0000:4f:00.0"/><pci busid="0000:50:00.0" link_speed="32 GT/s PCIe/s"/></pci>
    </cpu></system>)");
    REQUIRE(got.has_value());
    const auto& c = got->nodes.front().hardware;
    CHECK(c.gpus.empty());
    REQUIRE(c.nics.size() == 2);
    CHECK(c.nics[0].numa == 0);
    CHECK_FALSE(c.nics[0].gb_per_s.has_value());
    CHECK(says(got->notes, "0 GPUs in file"));
    CHECK(says(got->notes, "2 PCI devices without class are taken as NICs"));
    CHECK(says(got->notes, "without affinity"));
}

TEST_CASE("GPUs and NICs by class alone") {
    const auto got = read(R"(<system><cpu numaid="0" affinity="f">
      <pci busid="ffff:ff:01.0" class="0x060400"><pci busid="0:1:0.0" class="0x030200"/><pci busid="0:2:0.0" class="0x120000"/></pci>
      <pci busid="0:3:0.0" class="0x010802"/><pci busid="0:4:0.0" class="0x068000"/><pci busid="0:5:0.0"/>
      </cpu></system>)");
    REQUIRE(got.has_value());
    const auto& c = got->nodes.front().hardware;
    CHECK(c.gpus.size() == 2);
    CHECK(c.gpu_links(0, 1).kind == link_class::pix);
    CHECK(says(got->notes, "0 NICs in file"));
    CHECK(says(got->notes, "0:5:0.0 has no class and is left out", topo::severity::warning));
}

TEST_CASE("NVLinks: through switches, to oneself, to absent devices, one-way") {
    const auto gpus = [](const char* a, const char* b) {
        return std::string(R"(<system><cpu numaid="0">)") +
               R"(<pci busid="0:1:0.0" class="0x030200"><gpu dev="0" sm="90">)" + a +
               R"(</gpu></pci><pci busid="0:2:0.0" class="0x030200"><gpu dev="1" sm="90">)" + b +
               "</gpu></pci></cpu></system>";
    };
    SUBCASE("NVSwitches: the smaller side's sum") {
        const auto c = hardware(gpus(
            R"(<nvlink target="0:9:0.0" count="9" tclass="0x068000"/><nvlink target="0:a:0.0" count="9" tclass="0x068000"/>)",
            R"(<nvlink target="ffffffff:ffff:ff" count="17" tclass="0x068000"/>)"));
        CHECK(c.gpu_links(0, 1) == topo::link{link_class::nvlink, 17});
        CHECK(c.gpu_links(1, 0) == topo::link{link_class::nvlink, 17});
    }
    SUBCASE("to itself") {
        const auto got = read(gpus(R"(<nvlink target="0:1:0.0" count="12" tclass="0x030200"/>)", ""));
        REQUIRE(got.has_value());
        CHECK(says(got->notes, "link of GPU0 leads to itself", topo::severity::warning));
        CHECK(got->nodes.front().hardware.gpu_links(0, 1).kind == link_class::phb);
    }
    SUBCASE("to a device that is absent") {
        const auto got = read(gpus(R"(<nvlink target="0:7:0.0" count="12" tclass="0x030200"/>)", ""));
        REQUIRE(got.has_value());
        CHECK(says(got->notes, "leads to 0:7:0.0, which is not in the file", topo::severity::warning));
    }
    SUBCASE("named by one side only: kept one way") {
        const auto got = read(gpus(R"(<nvlink target="0:2:0.0" count="2" tclass="0x030200"/>)", ""));
        REQUIRE(got.has_value());
        CHECK(says(got->notes, "GPU0 → GPU1 is NV2, the way back PHB", topo::severity::warning));
        CHECK(got->nodes.front().hardware.gpu_links(0, 1).kind == link_class::nvlink);
        CHECK(got->nodes.front().hardware.gpu_links(1, 0).kind == link_class::phb);
    }
    SUBCASE("counts that are none") {
        for (const char* count : {"-3", "0", "99999", "nan", ""}) {
            const auto got = read(gpus(
                (R"(<nvlink target="0:2:0.0" tclass="0x030200" count=")" + std::string(count) + "\"/>").c_str(), ""));
            REQUIRE(got.has_value());
            CHECK(says(got->notes, "of a link is left out", topo::severity::warning));
        }
    }
}

TEST_CASE("unknown NUMA nodes stay unknown") {
    for (const char* id : {"-1", "", "x", "99999999999999999999"}) {
        const auto c = hardware(
            R"(<system><cpu numaid=")" + std::string(id) +
            R"("><pci busid="0:1:0.0" class="0x030200"/></cpu><cpu numaid="-1"><pci busid="0:2:0.0" class="0x030200"/></cpu></system>)");
        CHECK(c.gpus[0].numa == topo::unknown_numa);
        CHECK(c.gpu_links(0, 1).kind == link_class::unknown);
    }
}

TEST_CASE("broken XML names line and column; hostile XML is refused") {
    CHECK(has(refusal("<system>\n  <cpu numaid=\"0\">\n", format::nccl_xml), "in.txt:"));
    CHECK(has(refusal("<graphs/>", format::nccl_xml), "<graphs>"));
    CHECK(has(refusal("<system><cpu numaid=\"0\"><pci busid=\"zz\" class=\"0x030200\"/></cpu></system>"),
              "'zz' is not a PCI address"));
    CHECK(has(
        refusal(
            R"(<system><cpu numaid="0"><pci busid="0:1:0.0" class="0x030200"/><pci busid="0:1:0.0" class="0x030200"/></cpu></system>)"),
        "GPU 0000:01:00.0 stands twice"));
    std::string deep = "<system><cpu numaid=\"0\">";
    for (int i = 0; i < 200000; ++i) deep += "<pci busid=\"0:1:0.0\">";
    CHECK(read(deep, format::nccl_xml).has_value() == false);
    for (int i = 0; i < 200000; ++i) deep += "</pci>";
    deep += "</cpu></system>";
    const auto nested = read(deep, format::nccl_xml);
    REQUIRE_FALSE(nested.has_value());
    CHECK(nested.failure().code == topo::errc::limit);
    // Entities of a DTD are not expanded.
    const auto bomb = read(
        "<!DOCTYPE s [<!ENTITY a \"aaaaaaaaaa\"><!ENTITY b \"&a;&a;&a;&a;\">]><system><cpu numaid=\"&b;\"/></system>",
        format::nccl_xml);
    if (bomb) CHECK(bomb->nodes.front().hardware.gpus.empty());
    std::string many = "<system><cpu numaid=\"0\">";
    for (int i = 0; i < 2000; ++i) many += "<pci busid=\"" + std::to_string(i) + ":1:0.0\" class=\"0x030200\"/>";
    const auto large = read(many + "</cpu></system>");
    REQUIRE_FALSE(large.has_value());
    CHECK(large.failure().code == topo::errc::limit);
}

TEST_CASE("every truncation and flipped byte of NCCL XML gives a node or an error") {
    for (std::size_t n = 0; n < two_sockets.rfind("</"); n += 5)
        CHECK_FALSE(read(two_sockets.substr(0, n), format::nccl_xml));
    std::mt19937 random(11);
    for (int i = 0; i < 500; ++i) {
        std::string text(two_sockets);
        for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 256);
        const auto got = read(text, format::nccl_xml);
        if (got)
            CHECK(topo::check(got->nodes.front().hardware).empty());
        else
            CHECK(got.failure().where.starts_with("in.txt"));
    }
}

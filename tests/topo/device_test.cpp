// SPDX-License-Identifier: Apache-2.0
#include "topo/device.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace topo;

TEST_CASE("PCI addresses, also with domains of 32 bits") {
    CHECK(*pci_address::parse("0000:4f:00.0") == pci_address{0, 0x4f, 0, 0});
    CHECK(*pci_address::parse("4F:1f.7") == pci_address{0, 0x4f, 0x1f, 7});
    CHECK(*pci_address::parse("10001:00:02.0") == pci_address{0x10001, 0, 2, 0});
    CHECK(*pci_address::parse("00000000:1B:00") == pci_address{0, 0x1b, 0, 0});
    for (const char* text : {"0000:4f:00.0", "10001:00:02.0", "ffffffff:ff:1f.7"})
        CHECK(pci_address::parse(text)->text() == text);
    for (const char* text :
         {"", ":", "4f", "4f:", ":00.0", "4f:20.0", "4f:00.8", "4f:00.", "100:00.0", "100000000:00:00.0",
          "0000:4f:00.0 ", "g0:00.0", "-1:00.0", "0x4f:00.0", "a:b:c:d", "+4f:00.0"}) {
        CAPTURE(std::string(text));
        const auto got = pci_address::parse(text);
        REQUIRE_FALSE(got);
        CHECK_FALSE(got.failure().remedy.empty());
    }
    CHECK(pci_address::parse(std::string(100000, 'f')).failure().what.size() < 200);
}

TEST_CASE("links in the words of nvidia-smi") {
    for (const link l :
         {link{link_class::self, 0}, link{link_class::nvlink, 1}, link{link_class::nvlink, 999},
          link{link_class::xgmi, 4}, link{link_class::c2c, 0}, link{link_class::pix, 0}, link{link_class::pxb, 0},
          link{link_class::phb, 0}, link{link_class::node, 0}, link{link_class::sys, 0}, link{link_class::unknown, 0}})
        CHECK(link_named(text_of(l)) == l);
    CHECK(link_named("SOC") == link{link_class::sys, 0});
    for (const char* text :
         {"", "NV", "NV0", "NV1000", "NV-1", "NV1 ", "nv1", "XGMI", "XGMI0", "PIX1", "x", "NV99999999999"}) {
        CAPTURE(std::string(text));
        CHECK_FALSE(link_named(text));
    }
}

// SPDX-License-Identifier: Apache-2.0
// Private to topo/discover: the PCI devices of /sys/bus/pci and how two of them are joined.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "topo/device.hpp"

namespace topo {

struct pci_device {
    pci_address address;
    std::string folder;         // below /sys/bus/pci/devices
    unsigned device_class = 0;  // 24 bits, 0x030200
    unsigned vendor = 0;
    unsigned device = 0;
    std::optional<int> numa;           // as the kernel says it; empty for -1, absent or unreadable
    bool virtual_function = false;     // has a physfn
    std::string root;                  // host bridge, "pci0000:16"; empty when the place is unknown
    std::vector<pci_address> bridges;  // from the root port down to the device, itself not included
};

using pci_tree = std::map<pci_address, pci_device>;

// Every device with a readable class. A folder that is no address, or whose class is garbage, is left
// out. O(devices).
[[nodiscard]] pci_tree read_pci_tree(const std::string& sysfs_root);

// The PCI address that a path below /sys/devices leads to: its last component that is one.
[[nodiscard]] std::optional<pci_address> pci_address_in(const std::string& path);

// As nvidia-smi topo names it: PIX below one switch or bridge, PXB over several, PHB through the host
// bridge, NODE between host bridges of one NUMA node, SYS between NUMA nodes; unknown when the place or, for
// two host bridges, a NUMA node is not known. O(depth).
[[nodiscard]] link_class pci_link(const pci_device& a, const pci_device& b) noexcept;

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// The devices of a node: GPUs, NICs, NUMA nodes, and how two devices are joined.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "topo/id_set.hpp"
#include "topo/result.hpp"

namespace topo {

// A PCI address. Domains are 32 bits wide: Intel VMD uses 0x10000 and up.
struct pci_address {
    std::uint32_t domain = 0;
    std::uint8_t bus = 0;
    std::uint8_t device = 0;    // 0 … 31
    std::uint8_t function = 0;  // 0 … 7

    // Reads "0000:4f:00.0", "10001:00:02.0" and, without a domain, "4f:00.0" (hexadecimal, any
    // case; the ".function" may be missing). Fails with bad_input, no place.
    [[nodiscard]] static result<pci_address> parse(std::string_view text);
    [[nodiscard]] std::string text() const;  // "0000:4f:00.0"; more than four domain digits if needed
    friend auto operator<=>(const pci_address&, const pci_address&) = default;
};

// A NUMA node number that is not known; never to be read as node 0.
inline constexpr int unknown_numa = -1;

struct numa_node {
    int id = 0;
    id_set cpus;  // empty: a memory-only or empty node (GPU memory of Grace systems); never reported as CPU locality
    friend bool operator==(const numa_node&, const numa_node&) = default;
};

struct gpu {
    std::string name;   // "GPU0"; unique in its node
    std::string model;  // "NVIDIA H100 80GB HBM3"; empty: unknown
    std::string uuid;   // empty: unknown; only in node files, classes carry none
    std::optional<pci_address> pci;
    int numa = unknown_numa;  // CPU-bearing NUMA node nearest to it
    id_set cpus;              // affinity as the driver reports it; empty: unknown
    friend bool operator==(const gpu&, const gpu&) = default;
};

struct nic {
    std::string name;  // verbs name ("mlx5_0") or net name; may differ between nodes of one class
    std::string model;
    std::string guid;  // empty: unknown; only in node files
    std::optional<pci_address> pci;
    int numa = unknown_numa;
    int rail = -1;                   // position shared by the NICs of one rail; -1: none assigned
    std::optional<double> gb_per_s;  // port speed; empty: unknown, which is not 0
    bool compute = true;             // false: storage, management or NVSwitch function
    friend bool operator==(const nic&, const nic&) = default;
};

// How two devices are joined, nearest first, in the words of `nvidia-smi topo -m` and NCCL.
enum class link_class : std::uint8_t { self, nvlink, xgmi, c2c, pix, pxb, phb, node, sys, unknown };

struct link {
    link_class kind = link_class::unknown;
    std::uint16_t count = 0;  // bonded NVLinks or xGMI links; 0 for the PCIe classes
    friend bool operator==(const link&, const link&) = default;
};

// "X", "NV12", "XGMI1", "C2C", "PIX", "PXB", "PHB", "NODE", "SYS", "?", and back ("SOC" reads as SYS,
// "NV#" needs a count of 1 … 999). Unknown text gives an empty optional.
[[nodiscard]] std::string text_of(link l);
[[nodiscard]] std::optional<link> link_named(std::string_view text) noexcept;

}  // namespace topo

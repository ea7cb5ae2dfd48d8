// SPDX-License-Identifier: Apache-2.0
// Private to topo/discover: the steps that fill a node_description, in the order they run.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topo/discover/discover.hpp"
#include "topo/discover/pci_tree.hpp"
#include "topo/finding.hpp"
#include "topo/node_class.hpp"

namespace topo::parts {

struct core_counts {
    int cores = 0;
    int threads = 0;  // of a core
};

// NUMA nodes by id with their CPUs (empty for memory alone). O(nodes).
[[nodiscard]] std::vector<numa_node> read_numa(const std::string& sysfs_root);
// Distinct thread_siblings lists of the CPUs; empty when none can be read. O(CPUs).
[[nodiscard]] std::optional<core_counts> read_cores(const std::string& sysfs_root);
// The same through hwloc, of the running machine whatever this process may use; empty when hwloc fails.
[[nodiscard]] std::optional<core_counts> hwloc_cores();
// The CPU-bearing node nearest to `numa` (by the kernel's distances; itself when it has CPUs);
// unknown_numa when it is unknown, or two are equally near.
[[nodiscard]] int cpu_node_of(std::optional<int> numa, const node_class& hardware, const std::string& sysfs_root);

struct found_gpu {
    gpu device;
    pci_address at;
    std::optional<long> minor;  // N of /dev/nvidiaN
};
// GPUs in order of device minor where all are known, else of PCI address.
[[nodiscard]] std::vector<found_gpu> find_gpus(const pci_tree& tree, const discover_options& options,
                                               const node_class& hardware, findings& notes);

struct found_nic {
    nic device;
    std::optional<pci_address> at;
};
// RDMA devices first, by name; then network interfaces on a PCI device that has none of the RDMA devices.
[[nodiscard]] std::vector<found_nic> find_nics(const pci_tree& tree, const discover_options& options,
                                               const node_class& hardware, findings& notes);

// A finding when the device's PCIe link has fewer lanes than both ends could use, or cannot be told.
void check_lanes(const pci_device& d, const std::string& name, findings& notes);

}  // namespace topo::parts

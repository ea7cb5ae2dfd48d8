// SPDX-License-Identifier: Apache-2.0
// What this host has, through hwloc and sysfs. No driver is loaded, nothing is measured, nothing hangs
// on a device: every cost that comes out is `estimated`.
#pragma once

#include <string>

#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace topo {

struct discover_options {
    std::string sysfs_root = "/sys";  // another folder with the same layout in tests
    std::string proc_root = "/proc";
    bool use_hwloc = true;  // false: sysfs alone (tests of captured trees)
};

// GPUs and NICs by PCI class and vendor, NUMA nodes with CPUs, cores, links from the PCI tree. A node
// with no GPU is a valid answer with a note that says so. numa_node -1 is unknown. A missing or
// unreadable attribute is a note, not a failure. Fails only when sysfs_root cannot be read.
[[nodiscard]] result<node_description> discover(const discover_options& options);

}  // namespace topo

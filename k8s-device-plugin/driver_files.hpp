// SPDX-License-Identifier: Apache-2.0
// Which files under /dev belong to a device, as sysfs and /proc tell. Read when devices are loaded, never on a call.
#pragma once

#include <optional>
#include <string>

#include "topo/device.hpp"

namespace kube {

// "uverbs3" of the RDMA device `nic` ("mlx5_0"); empty: none, or its name is no plain file name.
[[nodiscard]] std::optional<std::string> verbs_file(const std::string& sysfs_root, const std::string& nic);

// N of /dev/nvidiaN: what the driver says of that PCI address; empty when it does not tell.
[[nodiscard]] std::optional<unsigned> gpu_minor(const std::string& proc_root, const topo::pci_address& at);

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// Device files of a GPU, and the CDI specification (container device interface, version 0.5.0) that names them.
#pragma once

#include <string>
#include <vector>

#include "k8s-device-plugin/inventory.hpp"
#include "k8s-device-plugin/settings.hpp"
#include "topo/result.hpp"

namespace kube {

// Paths as the container sees them.
[[nodiscard]] std::vector<std::string> gpu_files(const gpu_parts& gpu);   // "/dev/nvidia0"
[[nodiscard]] std::vector<std::string> control_files(const settings& s);  // /dev/nvidiactl … that this host has
[[nodiscard]] std::string host_path(const settings& s, const std::string& container_path);

// One specification with every GPU that is here: kind = the resource name, device = cdi_name(). JSON.
[[nodiscard]] std::string cdi_spec(const inventory& node, const settings& s);

// Writes cdi_dir/<resource>.json, atomically; a no-op unless a CDI strategy is set. Fails with io.
[[nodiscard]] topo::result<topo::done> write_cdi(const inventory& node, const settings& s);

}  // namespace kube

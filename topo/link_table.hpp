// SPDX-License-Identifier: Apache-2.0
// The labelled fallback: what a link class is worth when nobody has measured it. Every cost made
// here is marked `estimated`. docs/cost-model.md lists each figure with its source.
#pragma once

#include <optional>
#include <string_view>

#include "topo/cost.hpp"
#include "topo/device.hpp"

namespace topo {

// Which generation of links a machine has, as far as its GPU model tells. Unknown models get the
// figures of `pcie4_nvlink3`.
enum class link_generation { pcie3_nvlink2, pcie4_nvlink3, pcie5_nvlink4, pcie5_nvlink5, amd_xgmi };
[[nodiscard]] link_generation generation_of(std::string_view gpu_model) noexcept;

// GPU ↔ GPU over that link, one direction. NVLink and xGMI scale with l.count. Never called for `self`.
[[nodiscard]] cost estimated_gpu_cost(link l, link_generation g) noexcept;

// GPU ↔ NIC over that link; the port speed caps the bandwidth when it is known.
[[nodiscard]] cost estimated_nic_cost(link l, link_generation g, std::optional<double> port_gb_per_s) noexcept;

// Fills layers that are absent from the links: gpu→gpu (engine copy_engine), gpu→nic and nic→gpu
// (engine rdma_write). Layers that exist are left alone. O(gpus × (gpus + nics)).
struct node_class;
void fill_estimates(node_class& hardware);

}  // namespace topo

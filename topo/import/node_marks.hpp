// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: what every reader of one node does once the devices and links are known.
#pragma once

#include <cstddef>
#include <string>

#include "topo/import/import.hpp"
#include "topo/node_class.hpp"

namespace topo {

// A reader refuses more columns, devices or objects of one kind than this: a broken file, not a machine.
inline constexpr std::size_t max_devices_read = 1024;

// Completes `hardware` and makes it the only node of `out`:
//   name (file stem), model from the options where the file tells none, NIC roles and rails, NUMA nodes of NICs
//   from the GPUs near them, flat guest topologies, device counts as notes, estimates for every layer
//   the links allow. The notes are copied to the node. O(gpus × (gpus + nics)).
void finish_node(import_output& out, node_class hardware, const std::string& file, const import_options& options);

// compute = false for NICs that no GPU reaches without a host bridge, when other NICs are so near;
// all true when none is. Then rails: the compute NICs in the order of the first GPU each is nearest to.
void mark_nics(node_class& hardware);

// ≥ 3 GPUs, every pair and every NIC PHB, at most one known NUMA node: what guests are shown.
[[nodiscard]] bool flat_guest(const node_class& hardware) noexcept;

// Printable ASCII of a name from a file; the rest becomes '_', cut at 64 characters.
[[nodiscard]] std::string clean_name(std::string_view name);

}  // namespace topo

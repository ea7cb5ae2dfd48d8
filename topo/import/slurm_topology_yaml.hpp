// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: topology.yaml of Slurm 25.05 and later.
#pragma once

#include <string>
#include <string_view>

#include "topo/import/import.hpp"
#include "topo/result.hpp"

namespace topo {

// The topology marked cluster_default (else the first), when it is a tree, blocks or flat; the others of
// the file are noted. Fails with bad_input on two defaults, on ring and torus3d, and where readers of
// topology.conf fail.
[[nodiscard]] result<import_output> read_slurm_topology_yaml(std::string_view text, const std::string& file);

}  // namespace topo

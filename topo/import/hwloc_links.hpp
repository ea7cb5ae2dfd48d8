// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: the NVLinkBandwidth and XGMIBandwidth matrices of hwloc's XML (v2 and later).
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "topo/device.hpp"
#include "topo/finding.hpp"
#include "topo/import/xml_text.hpp"
#include "topo/matrix.hpp"

namespace topo {

// Overwrites the cells of GPU pairs that the matrices join. `gpu_of` maps the gp_index of a GPU's OS
// or PCI object to its number. hwloc writes links × 25,000 MB/s, so the count is the value over that;
// through NVSwitches that reach one another it is the smaller of both GPUs' sums into them. A matrix
// that is not square or holds no numbers is left out with a warning. O(cells).
void apply_hwloc_links(const xml_text& xml, const std::map<std::uint64_t, std::size_t>& gpu_of, matrix<link>& links,
                       findings& notes);

}  // namespace topo

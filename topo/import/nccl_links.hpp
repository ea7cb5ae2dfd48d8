// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: the <nvlink> and <xgmi> elements of NCCL's XML.
#pragma once

#include <pugixml.hpp>

#include <optional>
#include <span>

#include "topo/device.hpp"
#include "topo/finding.hpp"
#include "topo/import/xml_text.hpp"
#include "topo/matrix.hpp"

namespace topo {

struct nccl_gpu {
    std::optional<pci_address> pci;
    pugi::xml_node element;  // <gpu>; null when the file only has its PCI device
};

// Overwrites the cells of GPU pairs that have direct links (as many as the element counts) or that
// meet in NVSwitches (the smaller of both sides' counts). A link to the GPU itself, or to a device
// that is not in the file, is left out with a warning; one that only one side names is kept one-way,
// with a warning. O(links + gpus²).
void apply_nccl_links(std::span<const nccl_gpu> gpus, const xml_text& xml, matrix<link>& links, findings& notes);

}  // namespace topo

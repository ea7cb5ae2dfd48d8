// SPDX-License-Identifier: Apache-2.0
// A node class and a fabric as text for a terminal or a pipe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "cli/render/heat.hpp"
#include "cli/render/style.hpp"
#include "topo/fabric.hpp"
#include "topo/node_class.hpp"

namespace cli::render {

struct class_view {
    std::string title;  // "dgx-h100"
    std::string hosts;  // "g[1-64]", "" for a single unnamed one
    std::size_t host_count = 1;
    std::optional<topo::engine> engine;  // only layers of this one
    std::optional<quantity> only;        // only this quantity; all when empty
    bool every_layer = false;            // also those that placement does not use
};

// Heading, remarks, matrices (the layers placement uses, or those asked for), GPU and NIC tables,
// islands, legend of sources. O(cells).
[[nodiscard]] std::string class_text(const topo::node_class& hardware, const class_view& view, const style& s);

// Remarks as lines with their badge.
[[nodiscard]] std::string remarks_text(const topo::node_class& hardware, const style& s);

// Levels, groups, capacities and costs of a fabric over `nodes` nodes. O(levels + groups).
[[nodiscard]] std::string fabric_text(const topo::fabric& f, std::size_t nodes, const style& s);

// Placement asks for the best layer from GPU to GPU and from GPU to NIC, and for no other.
[[nodiscard]] bool used_by_placement(const topo::node_class& hardware, const topo::cost_layer& layer);

// The layers a view asks for, in file order. O(layers).
[[nodiscard]] std::vector<const topo::cost_layer*> layers_of(const topo::node_class& hardware, const class_view& view);

}  // namespace cli::render

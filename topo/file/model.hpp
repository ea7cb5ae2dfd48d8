// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: the model as document trees and back. Readers put the first fault into `out`.
#pragma once

#include <string>

#include "topo/cluster.hpp"
#include "topo/fabric.hpp"
#include "topo/file/fields.hpp"
#include "topo/file/value.hpp"
#include "topo/node_class.hpp"

namespace topo::file {

// A node class: devices, links and costs.
[[nodiscard]] value from_class(const node_class& c, bool with_made_by);
// Runs check() as well: its faults get the line of the class.
[[nodiscard]] node_class to_class(const value& v, faults& out);

[[nodiscard]] value from_provenance(const provenance& p);
[[nodiscard]] provenance to_provenance(const value& v, faults& out);

[[nodiscard]] value from_layers(const node_class& c);
void to_layers(const value& v, node_class& c, faults& out);  // after the devices of `c` are known

[[nodiscard]] value from_fabric(const fabric_description& f);
// Switches get their "file:line"; fatal faults of the fabric are faults, a missing child is not (build_fabric
// decides on it).
[[nodiscard]] fabric_description to_fabric(const value& v, faults& out);

// One cost as a map, for fabric levels.
[[nodiscard]] value from_cost(const cost& c);
[[nodiscard]] cost to_cost(const value& v, const std::string& title, faults& out);

// A source by name, anything but "none".
[[nodiscard]] source as_source(const value& v, std::string_view title, faults& out);

}  // namespace topo::file

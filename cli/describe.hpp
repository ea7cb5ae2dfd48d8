// SPDX-License-Identifier: Apache-2.0
// Parts of --json objects that several verbs share. Names and order of keys are stable (docs/cli.md).
#pragma once

#include <optional>
#include <string>

#include "cli/console.hpp"
#include "topo/cluster.hpp"
#include "topo/fabric.hpp"
#include "topo/node_class.hpp"

namespace cli {

// {name, gpus[], nics[], numa[], cores, islands[], locality_trusted, sources{}, made_by{}, links?, layers[]}
// Unknown NUMA and speed are null, absent costs are null. With `engine` only its layers. O(cells).
[[nodiscard]] json to_json(const topo::node_class& hardware, std::optional<topo::engine> engine = {});

// The node file as an object: the same keys as the file.
[[nodiscard]] json node_file_json(const topo::node_description& n);

// {form, switches[], block_sizes[], level_costs[]} as the file has it.
[[nodiscard]] json to_json(const topo::fabric_description& f);

// {form, levels[{level, name, groups, nodes_least, nodes_most, uplink_gb_per_s…, gb_per_s, alpha_us, source}]}
[[nodiscard]] json to_json(const topo::fabric& f);

// {class, hosts, count} for every class of a cluster.
[[nodiscard]] json nodes_json(const topo::cluster_description& c);

// GPU indices of a mask, ascending.
[[nodiscard]] json gpus_json(topo::gpu_mask mask);

// A number, or null when it is unknown (negative).
[[nodiscard]] json known_or_null(int value);

}  // namespace cli

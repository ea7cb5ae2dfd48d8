// SPDX-License-Identifier: Apache-2.0
// Which GPUs of which nodes are free now. Plain data; placement keeps its own indices beside it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/cluster.hpp"
#include "topo/ids.hpp"
#include "topo/result.hpp"

namespace topo {

struct free_state {
    std::vector<gpu_mask> free;  // [node_id]: GPUs neither allocated nor lost; 0 for a node that takes no job
    [[nodiscard]] static free_state all_free(const cluster& c);
};

// Reads a free file: a YAML (or JSON) map from host lists to GPU lists,
//     "g[001-004]": 0-7
//     g005: [4, 5]
// A node that is not named has no free GPU; a later line replaces an earlier one for the same node.
// Unknown nodes, GPUs the class lacks, and anything else: bad_input with file, line and remedy.
[[nodiscard]] result<free_state> parse_free(std::string_view text, const std::string& file, const cluster& c);

}  // namespace topo

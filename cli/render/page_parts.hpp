// SPDX-License-Identifier: Apache-2.0
// Pieces of the HTML pages. All return markup whose texts are escaped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/render/heat.hpp"
#include "topo/fabric.hpp"
#include "topo/finding.hpp"
#include "topo/node_class.hpp"

namespace cli::render {

// The whole document around `body` (markup).
[[nodiscard]] std::string page(std::string_view title, std::string_view subtitle, std::string_view body);

// Simulated, estimated, virtual … as boxes that cannot be overlooked.
[[nodiscard]] std::string remark_boxes(const topo::node_class& hardware);

// Findings by severity; a sentence when there are none.
[[nodiscard]] std::string findings_list(const topo::findings& notes);

struct tile {
    std::string label;
    std::string value;
    std::string detail;
};
[[nodiscard]] std::string tiles(const std::vector<tile>& all);

// A table with headers; cells are text.
[[nodiscard]] std::string data_table(std::string_view caption, const std::vector<std::string>& headers,
                                     const std::vector<std::vector<std::string>>& rows);

// One heat map: values as text, colour by goodness, a read-out on hover. layer may be null (links).
[[nodiscard]] std::string heat_map(const topo::node_class& hardware, const topo::cost_layer* layer,
                                   const heat_table& t);

// What a picture of a node shows of a job.
struct node_marks {
    bool job = false;  // a job is shown: taken and busy count
    topo::gpu_mask taken = 0;
    topo::gpu_mask free = ~topo::gpu_mask{0};
    std::vector<std::string> labels;  // [gpu] "rank 3", may be short
};
// SVG: NUMA nodes, GPUs, NICs, islands, who is nearest to whom.
[[nodiscard]] std::string node_picture(const topo::node_class& hardware, const node_marks& marks);

// SVG: the tree, leaves at the bottom; leaves of `used` nodes are marked. At most 24 leaves are drawn.
[[nodiscard]] std::string fabric_picture(const topo::fabric& f, const std::vector<std::string>& node_names,
                                         const std::vector<topo::node_id>& used);

}  // namespace cli::render

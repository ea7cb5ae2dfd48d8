// SPDX-License-Identifier: Apache-2.0
// A cost layer or link matrix as a table of coloured cells, the same for terminal and page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "cli/render/style.hpp"
#include "topo/finding.hpp"
#include "topo/matrix.hpp"
#include "topo/node_class.hpp"

namespace cli::render {

enum class quantity { bandwidth, latency, links };

struct heat_cell {
    std::string text;     // "-" where there is no cost
    double goodness = 0;  // 0 slowest … 1 fastest of the table
    bool present = false;
    bool odd = false;  // clearly worse than the cells of the same link class
    double usual = 0;  // median of those cells where odd
};

struct heat_table {
    std::string title;   // "GPU to GPU, sm-copy, GB/s"
    std::string corner;  // "from \ to"
    std::vector<std::string> rows;
    std::vector<std::string> columns;
    topo::matrix<heat_cell> cells;
    std::string worst;  // text of the slowest and fastest cell, for the scale
    std::string best;
    std::size_t odd = 0;
};

// Scale: logarithmic from the slowest to the fastest cell, over a factor of two at least, so that the
// noise of a healthy machine does not look like a fault. Odd: bandwidth below 0.9 × (latency above
// 1.5 ×) the median of its link class, where the class has 4 cells or more. O(cells log cells).
[[nodiscard]] heat_table heat_of(const topo::node_class& hardware, const topo::cost_layer& layer, quantity what);

// Links from GPU to GPU and, when there are NICs, GPU to NIC. Only for a class with gpu_links.
[[nodiscard]] heat_table heat_of_links(const topo::node_class& hardware);

// "GPU to GPU, sm-copy" (", loaded" when all pairs were busy).
[[nodiscard]] std::string title_of(const topo::cost_layer& layer);

// "GPU0 → GPU1: 371 GB/s, 2.10 µs, NV18; measured, 45 samples, ±1.2 %". Only for a present cell.
[[nodiscard]] std::string tip_of(const topo::node_class& hardware, const topo::cost_layer& layer, std::size_t from,
                                 std::size_t to);

// A warning for each pair whose bandwidth is odd in a layer that placement uses, at most `odd_listed`, and one
// that counts the rest. A slow cable shows here even when nobody compares this node with others. O(cells log cells).
inline constexpr std::size_t odd_listed = 8;
[[nodiscard]] topo::findings odd_pairs(const topo::node_class& hardware, const std::string& title);

// Names of the rows or columns of a layer.
[[nodiscard]] std::vector<std::string> names_of(const topo::node_class& hardware, topo::endpoint kind);

// For a terminal; columns are split into blocks where it is too narrow. `odd` cells end in "!".
[[nodiscard]] std::string text_of(const heat_table& t, const style& s);

}  // namespace cli::render

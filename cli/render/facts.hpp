// SPDX-License-Identifier: Apache-2.0
// Sentences about a node class and a fabric that terminal and page share.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "topo/fabric.hpp"
#include "topo/node_class.hpp"

namespace cli::render {

enum class weight { plain, caution, loud };

// What a reader must know before trusting the figures.
struct remark {
    weight how = weight::plain;
    std::string label;  // "SIMULATED"
    std::string text;   // one sentence and what to do
};

// Simulated and estimated costs, untrusted or unknown locality, no NICs. Empty: all is measured. O(cells).
[[nodiscard]] std::vector<remark> remarks_on(const topo::node_class& hardware);

// "8 GPUs (NVIDIA H100 80GB HBM3), 8 NICs, 2 NUMA nodes with CPUs, 112 cores".
[[nodiscard]] std::string hardware_line(const topo::node_class& hardware);

// "made by atoll 0.1.0 calibrate on g001, 2026-11-30 09:41 UTC, driver 550.54"; "" when nothing is known.
[[nodiscard]] std::string provenance_line(const topo::provenance& p);

// How many cells of all layers come from each source, "56 measured, 16 estimated"; "" with no layer.
[[nodiscard]] std::string sources_line(const topo::node_class& hardware);
// One sentence on what each source word means.
[[nodiscard]] std::string_view meaning_of(topo::source s) noexcept;
[[nodiscard]] bool uses(const topo::node_class& hardware, topo::source s) noexcept;

// "0-3,6" of a mask of GPUs.
[[nodiscard]] std::string gpus_text(topo::gpu_mask mask);
// "unknown" or the number.
[[nodiscard]] std::string numa_text(int numa);

// One level of a fabric in numbers.
struct level_row {
    int level = 0;
    std::uint32_t groups = 0;
    std::size_t least_nodes = 0;
    std::size_t most_nodes = 0;
    double least_uplink = 0;  // GB/s; infinity: unknown
    double most_uplink = 0;
    topo::cost across;  // one node to another whose lowest common level this is; none in a grid (hops_of)
};
[[nodiscard]] std::vector<level_row> levels_of(const topo::fabric& f);
// "leaf", "spine", "level 3"; "domain", "block", "unit", "router", "group", "global", "box" where the form has such.
[[nodiscard]] std::string level_name(int level, const topo::fabric& f);
// "5 leaves", "1 box" of level 0.
[[nodiscard]] std::string counted_leaves(std::size_t n, const topo::fabric& f);
// "1 hop", "3 hops" in a grid, the level's name elsewhere.
[[nodiscard]] std::string separation_name(int separation, const topo::fabric& f);

// What it costs to reach a node so many hops away, in a torus or hypercube; runs of equal costs are one row. Empty for
// other forms.
struct hop_row {
    int least = 1;
    int most = 1;
    topo::cost each;
};
[[nodiscard]] std::vector<hop_row> hops_of(const topo::fabric& f);
[[nodiscard]] bool is_grid(const topo::fabric& f) noexcept;
// "4 x 4 x 2, every dimension wraps around; 5 hops at most".
[[nodiscard]] std::string grid_line(const topo::fabric& f);
// "16" or "12 to 16".
[[nodiscard]] std::string range_text(std::size_t least, std::size_t most);
[[nodiscard]] std::string uplink_text(double least, double most);  // GB/s, "unknown" for infinity

}  // namespace cli::render

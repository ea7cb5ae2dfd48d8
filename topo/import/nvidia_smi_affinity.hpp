// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: the columns right of the matrix of nvidia-smi topo -m — CPU Affinity, NUMA
// Affinity, GPU NUMA ID — any of which may be absent, empty or cut.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "topo/finding.hpp"
#include "topo/id_set.hpp"
#include "topo/node_class.hpp"

namespace topo {

// Where the header has each title (byte offset); npos: absent. `start` is the first of them, or npos.
struct affinity_columns {
    std::size_t start = std::string_view::npos;
    std::size_t cpu = std::string_view::npos;
    std::size_t numa = std::string_view::npos;
    std::size_t gpu_numa = std::string_view::npos;
};
[[nodiscard]] affinity_columns find_affinity_columns(std::string_view header) noexcept;

struct affinity {
    id_set cpus;                  // CPU Affinity; empty: none given
    id_set numa;                  // NUMA Affinity; empty: none given
    int gpu_numa = unknown_numa;  // GPU NUMA ID: the GPU's own memory, never a place of CPUs
};

// True for what may stand right of the links: a list of numbers or "N/A".
[[nodiscard]] bool affinity_like(std::string_view word) noexcept;

// Reads the right part of one row. `cells` are the row's cells without its name (with tabs: empty ones
// too), the first `links` of them are links; `body` is the whole line, `rest` what follows the name.
// A value that is no list is left out with a warning.
[[nodiscard]] affinity read_affinity(std::string_view body, std::string_view rest,
                                     const std::vector<std::string_view>& cells, std::size_t links,
                                     const affinity_columns& titles, const std::string& where, findings& notes);

// Sets gpu::numa and node_class::numa. With a list of NUMA nodes, only the one with CPUs is taken: on
// systems that show GPU memory as NUMA nodes that is the lowest; elsewhere a list is ambiguous and
// stays unknown. Memory-only nodes are kept with no CPUs.
void place_gpus(node_class& c, const std::vector<affinity>& near, const std::string& file, findings& notes);

}  // namespace topo

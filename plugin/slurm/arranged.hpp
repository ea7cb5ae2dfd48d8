// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster file in the order of Slurm's node table, with a placer over it: node_id i is Slurm's node i,
// so that Slurm's bitmaps are the placer's node filters.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "placement/placer.hpp"
#include "plugin/slurm/glue.h"
#include "plugin/slurm/shapes.hpp"
#include "topo/cluster.hpp"
#include "topo/result.hpp"

namespace slurm_plugin {

struct arranged {
    std::unique_ptr<topo::cluster> cluster;  // on the heap: the placer keeps its address
    std::unique_ptr<placement::placer> placer;
    std::vector<std::uint8_t> known;               // [node]: the cluster file names it
    std::vector<std::uint32_t> gpus;               // [node]: GPUs of its class; 0 when unknown
    std::vector<std::uint32_t> slurm_sockets;      // [node]
    std::vector<std::uint32_t> cpus;               // [node]
    std::vector<std::vector<std::int8_t>> socket;  // [class][gpu]: CPU-bearing NUMA nodes counted upwards; -1 unknown
    std::vector<std::uint32_t> numa_nodes;         // [class]: how many of them bear CPUs
    node_limits limits;
    std::uint64_t nodes_known = 0;
    std::uint64_t nodes_unknown = 0;     // in Slurm, not in the file
    std::vector<std::string> unslurmed;  // in the file, not in Slurm: up to 5 names
    std::uint64_t unslurmed_count = 0;
};

// Nodes that only Slurm knows get the first class and stay without a free GPU; those only the file knows
// are left out and counted. Fails as cluster::build and placer::make do, or when no node is common to both.
[[nodiscard]] topo::result<arranged> arrange(const topo::cluster_description& file, const atoll_node_info* nodes,
                                             std::uint32_t count, const placement::placer_options& options);

}  // namespace slurm_plugin

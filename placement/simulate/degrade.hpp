// SPDX-License-Identifier: Apache-2.0
// A copy of a cluster in which some links are slow, to ask what knowing them is worth. All of it is simulated and
// marked so.
#pragma once

#include <cstdint>

#include "topo/cluster.hpp"

namespace placement::simulate {

struct degrade_options {
    double share = 0.05;     // of the links, 0 … 1; each on its own
    double bandwidth = 0.5;  // of a degraded link, as a part of what it had; 0.01 … 1
    bool gpu_links = true;   // links among GPUs
    bool nic_links = true;   // rails: a NIC with its way to the GPUs
    std::uint64_t seed = 1;
};

struct degraded {
    topo::cluster_description cluster;  // the same nodes with the same ids
    std::uint64_t links = 0;            // in all
    std::uint64_t slow_links = 0;
    std::uint32_t slow_nodes = 0;  // with one slow link or more
};

// The links of a node: each NIC for compute traffic (its own port and all its GPU↔NIC costs), and among GPUs, where all
// pairs are alike (behind switches), the link of each GPU into the switches (all its costs to other GPUs), else each
// NVLink, xGMI or C2C pair, or, where links are unknown, each pair with at least half the best bandwidth. Latency
// stays. Nodes whose slow links are the same share a class "NAME ~ GPU1, mlx5_2 slow". O(nodes × links + classes ×
// cells).
[[nodiscard]] degraded degrade(const topo::cluster_description& healthy, const degrade_options& options);

}  // namespace placement::simulate

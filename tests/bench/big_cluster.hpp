// SPDX-License-Identifier: Apache-2.0
// Machines and clusters that the benchmarks share. Figures are round numbers, not measurements.
#pragma once

#include <chrono>
#include <cstddef>
#include <random>
#include <vector>

#include "topo/cluster.hpp"
#include "topo/node_class.hpp"

namespace bench {

using clock_type = std::chrono::steady_clock;

// n GPUs and as many NICs, each GPU nearest to its own. Equal links, or every pair with random costs.
[[nodiscard]] topo::node_class board(std::size_t n, bool irregular);

// Nodes of 8 GPUs under leaves of 32 nodes, spines of 16 leaves and one top. `nodes` is a multiple of 512. Built
// once for each size. Ends the program when it can't be built.
[[nodiscard]] const topo::cluster& shared_cluster(std::size_t nodes);

// The free GPUs of a node: none with probability `fill`, or else all; one in ten of the others is partly taken.
[[nodiscard]] topo::gpu_mask random_free(std::mt19937_64& random, double fill);

// Value at the share q of `sorted`, which holds at least one.
[[nodiscard]] double quantile(const std::vector<double>& sorted, double q);

}  // namespace bench

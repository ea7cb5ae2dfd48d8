// SPDX-License-Identifier: Apache-2.0
// Small models for tests of files, merging and the fabric.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/cluster.hpp"
#include "topo/node_class.hpp"

namespace sample {

// A board of `gpus` GPUs (8 by default) and as many NICs on two sockets, all joined by NVLink, every cost different.
topo::node_class board(const std::string& name, std::size_t gpus = 8);

// The same cost in every cell that should hold one.
topo::cost_layer flat_layer(const topo::node_class& c, topo::endpoint from, topo::endpoint to, topo::engine by,
                            double gb_per_s, double alpha_us, topo::source from_source = topo::source::measured);

// A tree of `leaves` leaf switches with `per_leaf` nodes "n0001 …" under one root.
topo::fabric_description two_levels(std::size_t leaves, std::size_t per_leaf);

// Three boards, a tree over 12 nodes, level costs.
topo::cluster_description cluster();

// `count` names: prefix and a number from 1, four digits wide.
std::vector<std::string> names(const std::string& prefix, std::size_t count, std::size_t first = 1);

}  // namespace sample

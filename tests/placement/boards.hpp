// SPDX-License-Identifier: Apache-2.0
// Small machines and clusters made in code, for tests of placement. Figures are round numbers, not measurements.
#pragma once

#include <doctest/doctest.h>

#include <functional>
#include <initializer_list>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "topo/cluster.hpp"
#include "topo/node_class.hpp"

namespace boards {

using topo::gpu_mask;

inline gpu_mask mask(std::initializer_list<unsigned> gpus) {
    gpu_mask m = 0;
    for (const auto g : gpus) m |= gpu_mask{1} << g;
    return m;
}

inline topo::cost cost(double alpha_us, double gb_per_s, topo::source from = topo::source::measured) {
    topo::cost c;
    c.alpha_us = alpha_us;
    c.gb_per_s = gb_per_s;
    c.from = c.alpha_from = from;
    return c;
}

// n GPUs, no NIC; cost_of(a, b) for every ordered pair; numa_of(g) or -1.
inline topo::node_class board(
    const std::string& name, std::size_t n, const std::function<topo::cost(std::size_t, std::size_t)>& cost_of,
    const std::function<int(std::size_t)>& numa_of = [](std::size_t) { return -1; }) {
    topo::node_class c;
    c.name = name;
    int most = -1;
    for (std::size_t g = 0; g < n; ++g) {
        topo::gpu one;
        one.name = "GPU" + std::to_string(g);
        one.numa = numa_of(g);
        most = std::max(most, one.numa);
        c.gpus.push_back(one);
    }
    for (int id = 0; id <= most; ++id) {
        topo::numa_node numa;
        numa.id = id;
        numa.cpus.insert(static_cast<std::uint32_t>(id));
        c.numa.push_back(numa);
    }
    if (n > 1) {
        topo::cost_layer layer;
        layer.by = topo::engine::sm_copy;
        layer.cells = topo::matrix<topo::cost>(n, n);
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b)
                if (a != b) layer.cells(a, b) = cost_of(a, b);
        c.layers.push_back(std::move(layer));
    }
    return c;
}

// NVLink pairs at 200 GB/s, everything else 20 GB/s; NUMA 0 holds the lower half.
inline topo::node_class paired(std::size_t n, const std::vector<std::pair<unsigned, unsigned>>& pairs) {
    const auto joined = [&](std::size_t a, std::size_t b) {
        for (const auto& [x, y] : pairs)
            if ((a == x && b == y) || (a == y && b == x)) return true;
        return false;
    };
    return board(
        "paired", n, [&](std::size_t a, std::size_t b) { return joined(a, b) ? cost(2, 200) : cost(6, 20); },
        [n](std::size_t g) { return g < n / 2 ? 0 : 1; });
}

// Every pair equal, as behind NVSwitch.
inline topo::node_class switched(const std::string& name, std::size_t n, double gb_per_s = 400, double alpha_us = 2) {
    return board(
        name, n, [=](std::size_t, std::size_t) { return cost(alpha_us, gb_per_s); },
        [n](std::size_t g) { return g < n / 2 ? 0 : 1; });
}

// Adds one NIC a GPU: the own one at gb_per_s, all others at half of it.
inline topo::node_class with_nics(topo::node_class c, double gb_per_s = 45, double alpha_us = 1) {
    const std::size_t n = c.gpus.size();
    for (std::size_t i = 0; i < n; ++i) {
        topo::nic one;
        one.name = "nic" + std::to_string(i);
        one.numa = c.gpus[i].numa;
        c.nics.push_back(one);
    }
    topo::cost_layer out;
    out.to = topo::endpoint::nic;
    out.by = topo::engine::rdma_write;
    out.cells = topo::matrix<topo::cost>(n, n);
    topo::cost_layer in = out;
    in.from = topo::endpoint::nic;
    in.to = topo::endpoint::gpu;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
            out.cells(a, b) = in.cells(a, b) = cost(alpha_us, a == b ? gb_per_s : gb_per_s / 2);
    c.layers.push_back(std::move(out));
    c.layers.push_back(std::move(in));
    return c;
}

inline std::string node_name(std::size_t i) { return "n" + std::to_string(1000 + i); }

// Leaves of the given sizes under as many spines as `spines` names children; one top over more than one spine.
struct tree {
    std::vector<std::size_t> leaves;
    std::vector<std::size_t> leaves_of_spine;  // empty: one spine over all leaves; {0}: leaves stay unconnected
    double spine_uplink = 0;                   // GB/s of a leaf upwards; 0: unknown
    bool joined = true;                        // false: no top over the spines
};

inline topo::fabric_description fabric_of(const tree& t) {
    topo::fabric_description f;
    f.form = topo::fabric_form::tree;
    std::size_t node = 0;
    for (std::size_t l = 0; l < t.leaves.size(); ++l) {
        topo::switch_description s;
        s.name = "leaf" + std::to_string(l);
        for (std::size_t i = 0; i < t.leaves[l]; ++i) s.nodes.push_back(node_name(node++));
        if (t.spine_uplink > 0) s.uplink_gb_per_s = t.spine_uplink;
        f.switches.push_back(std::move(s));
    }
    std::vector<std::size_t> spines = t.leaves_of_spine;
    if (spines.empty()) spines.push_back(t.leaves.size());
    if (spines.front() == 0) spines.clear();
    std::size_t leaf = 0;
    for (std::size_t s = 0; s < spines.size(); ++s) {
        topo::switch_description spine;
        spine.name = "spine" + std::to_string(s);
        for (std::size_t i = 0; i < spines[s]; ++i) spine.switches.push_back("leaf" + std::to_string(leaf++));
        f.switches.push_back(std::move(spine));
    }
    if (spines.size() > 1 && t.joined) {
        topo::switch_description top;
        top.name = "top";
        for (std::size_t s = 0; s < spines.size(); ++s) top.switches.push_back("spine" + std::to_string(s));
        f.switches.push_back(std::move(top));
    }
    f.level_costs = {cost(3, 50), cost(4, 50), cost(5, 50)};
    f.level_costs.resize(spines.empty() ? 1 : (spines.size() > 1 && t.joined ? 3 : 2));
    return f;
}

// class_of_node[i] is the class of node i (cut short: class 0). Nodes of one class must be contiguous in this order.
inline topo::cluster cluster(std::vector<topo::node_class> classes, const tree& t,
                             const std::vector<std::size_t>& class_of_node = {}) {
    topo::cluster_description d;
    d.name = "test";
    d.fabric = fabric_of(t);
    std::size_t nodes = 0;
    for (const auto n : t.leaves) nodes += n;
    for (std::size_t i = 0; i < nodes; ++i) {
        const std::size_t c = i < class_of_node.size() ? class_of_node[i] : 0;
        if (d.nodes.empty() || d.nodes.back().class_name != classes[c].name) d.nodes.push_back({classes[c].name, {}});
        d.nodes.back().nodes.push_back(node_name(i));
    }
    d.classes = std::move(classes);
    auto built = topo::cluster::build(std::move(d));
    if (!built) MESSAGE(built.failure().message());
    REQUIRE(built);
    return std::move(*built);
}

}  // namespace boards

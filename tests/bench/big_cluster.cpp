// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/big_cluster.hpp"

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <utility>

namespace bench {
namespace {

constexpr std::size_t nodes_of_leaf = 32;
constexpr std::size_t leaves_of_spine = 16;

topo::cost cost(double alpha_us, double gb_per_s) {
    topo::cost c;
    c.alpha_us = alpha_us;
    c.gb_per_s = gb_per_s;
    c.from = c.alpha_from = topo::source::measured;
    return c;
}

topo::cluster big_cluster(std::size_t nodes) {
    topo::cluster_description d;
    d.name = "bench";
    d.classes = {board(8, false)};
    d.nodes = {{"board", {}}};
    d.fabric.form = topo::fabric_form::tree;
    topo::switch_description top;
    top.name = "top";
    const std::size_t leaves = nodes / nodes_of_leaf;
    for (std::size_t l = 0; l < leaves; ++l) {
        topo::switch_description leaf;
        leaf.name = "leaf" + std::to_string(l);
        leaf.uplink_gb_per_s = 800;
        for (std::size_t i = 0; i < nodes_of_leaf; ++i) {
            leaf.nodes.push_back("g" + std::to_string(l * nodes_of_leaf + i));
            d.nodes[0].nodes.push_back(leaf.nodes.back());
        }
        d.fabric.switches.push_back(std::move(leaf));
    }
    for (std::size_t s = 0; s < leaves / leaves_of_spine; ++s) {
        topo::switch_description spine;
        spine.name = "spine" + std::to_string(s);
        for (std::size_t i = 0; i < leaves_of_spine; ++i)
            spine.switches.push_back("leaf" + std::to_string(s * leaves_of_spine + i));
        top.switches.push_back(spine.name);
        d.fabric.switches.push_back(std::move(spine));
    }
    d.fabric.switches.push_back(std::move(top));
    d.fabric.level_costs = {cost(3, 50), cost(4, 50), cost(5, 50)};
    auto built = topo::cluster::build(std::move(d));
    if (!built) {
        std::fprintf(stderr, "%s\n", built.failure().message().c_str());
        std::exit(2);
    }
    return std::move(*built);
}

}  // namespace

topo::node_class board(std::size_t n, bool irregular) {
    std::mt19937_64 random(n);
    std::uniform_real_distribution<double> unit(0, 1);
    topo::node_class c;
    c.name = "board";
    topo::cost_layer layer;
    layer.by = topo::engine::sm_copy;
    layer.cells = topo::matrix<topo::cost>(n, n);
    for (std::size_t a = 0; a < n; ++a) {
        topo::gpu g;
        g.name = "GPU" + std::to_string(a);
        g.numa = a < n / 2 ? 0 : 1;
        c.gpus.push_back(g);
        topo::nic i;
        i.name = "nic" + std::to_string(a);
        i.numa = g.numa;
        i.gb_per_s = 50;
        c.nics.push_back(i);
        for (std::size_t b = 0; b < n; ++b)
            if (a != b)
                layer.cells(a, b) = irregular ? cost(1 + 9 * unit(random), 5 + 395 * unit(random)) : cost(2, 380);
    }
    for (int id : {0, 1}) {
        topo::numa_node numa;
        numa.id = id;
        numa.cpus.insert(static_cast<std::uint32_t>(id));
        c.numa.push_back(numa);
    }
    c.layers.push_back(std::move(layer));
    topo::cost_layer out;
    out.to = topo::endpoint::nic;
    out.by = topo::engine::rdma_write;
    out.cells = topo::matrix<topo::cost>(n, n);
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) out.cells(a, b) = cost(1, a == b ? 48 : 24);
    c.layers.push_back(std::move(out));
    return c;
}

const topo::cluster& shared_cluster(std::size_t nodes) {
    static std::map<std::size_t, topo::cluster> built;
    const auto known = built.find(nodes);
    return known != built.end() ? known->second : built.emplace(nodes, big_cluster(nodes)).first->second;
}

topo::gpu_mask random_free(std::mt19937_64& random, double fill) {
    std::uniform_real_distribution<double> unit(0, 1);
    if (unit(random) < fill) return 0;
    return unit(random) < 0.1 ? random() % 255 : 255;
}

double quantile(const std::vector<double>& sorted, double q) {
    return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

}  // namespace bench

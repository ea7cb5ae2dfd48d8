// SPDX-License-Identifier: Apache-2.0
// Small toruses, hypercubes and dragonflies made in code, for tests of placement. Figures are round numbers, not
// measurements.
#pragma once

#include "boards.hpp"

namespace boards {

// Every position has a node: node i stands at position i. hop_costs[h] is that of h + 1 hops.
inline topo::cluster grid_cluster(topo::fabric_form form, std::vector<std::uint32_t> dims,
                                  std::vector<topo::cost> hop_costs, std::vector<topo::node_class> classes,
                                  double link_gb_per_s = 0, const std::vector<std::size_t>& class_of_node = {}) {
    topo::cluster_description d;
    d.name = "grid";
    d.fabric.form = form;
    std::size_t nodes = 1;
    for (const auto n : dims) nodes *= n;
    d.fabric.dims = std::move(dims);
    d.fabric.level_costs = std::move(hop_costs);
    if (link_gb_per_s > 0) d.fabric.link_gb_per_s = link_gb_per_s;
    topo::grid_run run;
    for (std::size_t i = 0; i < nodes; ++i) {
        const std::size_t c = i < class_of_node.size() ? class_of_node[i] : 0;
        if (d.nodes.empty() || d.nodes.back().class_name != classes[c].name) d.nodes.push_back({classes[c].name, {}});
        d.nodes.back().nodes.push_back(node_name(i));
        run.nodes.push_back(node_name(i));
    }
    d.fabric.grid = {run};
    d.classes = std::move(classes);
    auto built = topo::cluster::build(std::move(d));
    if (!built) MESSAGE(built.failure().message());
    REQUIRE(built);
    return std::move(*built);
}

// Groups of routers with some nodes each; every group has global links of this bandwidth in all.
inline topo::cluster dragonfly(std::size_t groups, std::size_t routers, std::size_t nodes_of_router, double global,
                               const topo::node_class& hardware) {
    topo::cluster_description d;
    d.name = "dragonfly";
    d.fabric.form = topo::fabric_form::dragonfly;
    d.classes = {hardware};
    d.nodes = {{hardware.name, {}}};
    std::size_t node = 0;
    for (std::size_t g = 0; g < groups; ++g) {
        topo::switch_description group;
        group.name = "group" + std::to_string(g);
        group.uplink_gb_per_s = global;
        for (std::size_t r = 0; r < routers; ++r) {
            topo::switch_description router;
            router.name = group.name + "r" + std::to_string(r);
            for (std::size_t i = 0; i < nodes_of_router; ++i) {
                router.nodes.push_back(node_name(node++));
                d.nodes[0].nodes.push_back(router.nodes.back());
            }
            group.switches.push_back(router.name);
            d.fabric.switches.push_back(std::move(router));
        }
        d.fabric.switches.push_back(std::move(group));
    }
    d.fabric.level_costs = {cost(2, 50), cost(3, 50), cost(4, 50)};
    auto built = topo::cluster::build(std::move(d));
    if (!built) MESSAGE(built.failure().message());
    REQUIRE(built);
    return std::move(*built);
}

}  // namespace boards

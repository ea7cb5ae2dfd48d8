// SPDX-License-Identifier: Apache-2.0
#include "tests/topo/sample_cluster.hpp"

#include <fmt/format.h>

#include <cstddef>

namespace sample {

using namespace topo;

namespace {

std::size_t endpoints(const node_class& c, endpoint e) {
    return e == endpoint::gpu ? c.gpus.size() : e == endpoint::nic ? c.nics.size() : c.numa.size();
}

// Costs that differ in every property of every cell.
cost_layer varied_layer(const node_class& c, endpoint from, endpoint to, engine by, double best) {
    cost_layer layer = flat_layer(c, from, to, by, best, 2);
    for (std::size_t r = 0; r < layer.cells.rows(); ++r)
        for (std::size_t k = 0; k < layer.cells.columns(); ++k) {
            cost& cell = layer.cells(r, k);
            if (!cell.present()) continue;
            const auto n = static_cast<double>((r * layer.cells.columns() + k) % 97);
            cell.gb_per_s = best - 0.1 * n;
            cell.alpha_us = 1.5 + 0.003 * n;
            cell.samples = static_cast<std::uint32_t>(9 + r + k);
            cell.spread = 0.001 * static_cast<double>(1 + (r + k) % 3);
            cell.time = 1796000000 + static_cast<std::int64_t>(n);
            cell.from = (r + k) % 2 == 0 ? source::measured : source::class_;
            cell.alpha_from = k % 3 == 0 ? source::estimated : cell.from;
        }
    return layer;
}

}  // namespace

cost_layer flat_layer(const node_class& c, endpoint from, endpoint to, engine by, double gb_per_s, double alpha_us,
                      source from_source) {
    cost_layer layer;
    layer.from = from;
    layer.to = to;
    layer.by = by;
    layer.cells = matrix<cost>(endpoints(c, from), endpoints(c, to));
    for (std::size_t r = 0; r < layer.cells.rows(); ++r)
        for (std::size_t k = 0; k < layer.cells.columns(); ++k) {
            if (from == to && r == k) continue;
            cost& cell = layer.cells(r, k);
            cell.alpha_us = alpha_us;
            cell.gb_per_s = gb_per_s;
            cell.from = cell.alpha_from = from_source;
        }
    return layer;
}

node_class board(const std::string& name, std::size_t gpus) {
    node_class c;
    c.name = name;
    c.cores = 112;
    c.threads_per_core = 2;
    for (int id = 0; id < 2; ++id) {
        numa_node n;
        n.id = id;
        n.cpus.insert_range(static_cast<std::uint32_t>(id * 56), static_cast<std::uint32_t>(id * 56 + 55));
        n.cpus.insert_range(static_cast<std::uint32_t>(112 + id * 56), static_cast<std::uint32_t>(112 + id * 56 + 55));
        c.numa.push_back(n);
    }
    for (std::size_t g = 0; g < gpus; ++g) {
        const int numa = g < (gpus + 1) / 2 ? 0 : 1;
        const auto bus = static_cast<std::uint8_t>(0x10 + 0x10 * (g % 12));
        const auto domain = static_cast<std::uint32_t>(g / 12);
        c.gpus.push_back({fmt::format("GPU{}", g), "NVIDIA H100 80GB HBM3", "", pci_address{domain, bus, 0, 0}, numa,
                          c.numa[static_cast<std::size_t>(numa)].cpus});
        nic n;
        n.name = fmt::format("mlx5_{}", g);
        n.model = "ConnectX-7";
        n.pci = pci_address{domain, bus, 1, 0};
        n.numa = numa;
        n.rail = static_cast<int>(g);
        n.gb_per_s = 50;
        c.nics.push_back(n);
    }
    c.gpu_links = matrix<topo::link>(gpus, gpus, topo::link{link_class::nvlink, 18});
    c.nic_links = matrix<topo::link>(gpus, gpus, topo::link{link_class::sys, 0});
    for (std::size_t g = 0; g < gpus; ++g) {
        c.gpu_links(g, g) = {link_class::self, 0};
        c.nic_links(g, g) = {link_class::pix, 0};
    }
    c.layers.push_back(varied_layer(c, endpoint::gpu, endpoint::gpu, engine::sm_copy, 371));
    c.layers.push_back(flat_layer(c, endpoint::gpu, endpoint::gpu, engine::copy_engine, 377.5, 2.25));
    cost_layer nics = flat_layer(c, endpoint::gpu, endpoint::nic, engine::rdma_write, 24, 4);
    for (std::size_t g = 0; g < gpus; ++g) nics.cells(g, g).gb_per_s = 48.25;
    c.layers.push_back(nics);
    c.layers.push_back(flat_layer(c, endpoint::host, endpoint::gpu, engine::host, 52.5, 8));
    c.made_by = {"atoll 0.1.0 calibrate", "570.86", "28.43.1014", "g0001", "", 1796000000};
    return c;
}

std::vector<std::string> names(const std::string& prefix, std::size_t count, std::size_t first) {
    std::vector<std::string> out;
    for (std::size_t i = 0; i < count; ++i) out.push_back(fmt::format("{}{:04}", prefix, first + i));
    return out;
}

fabric_description two_levels(std::size_t leaves, std::size_t per_leaf) {
    fabric_description d;
    d.form = fabric_form::tree;
    switch_description root;
    root.name = "root";
    for (std::size_t l = 0; l < leaves; ++l) {
        switch_description leaf;
        leaf.name = fmt::format("leaf{:03}", l + 1);
        leaf.nodes = names("n", per_leaf, l * per_leaf + 1);
        leaf.uplink_gb_per_s = 800;
        root.switches.push_back(leaf.name);
        d.switches.push_back(leaf);
    }
    d.switches.push_back(root);
    return d;
}

cluster_description cluster() {
    cluster_description c;
    c.name = "demo";
    c.classes = {board("dgx"), board("half", 4), board("degraded: \"odd\" name #1, ü")};
    c.classes[1].locality_trusted = false;
    c.classes[1].nics[0].compute = false;
    c.classes[1].nics[1].gb_per_s.reset();
    c.nodes = {{"dgx", names("n", 8)}, {c.classes[2].name, {"n0009"}}, {"half", {"n0010", "n0011", "n0012"}}};
    c.fabric = two_levels(3, 4);
    cost measured;
    measured.alpha_us = 2.41;
    measured.gb_per_s = 48.6;
    measured.from = source::measured;
    measured.alpha_from = source::estimated;
    measured.samples = 96;
    measured.spread = 0.012;
    measured.time = 1796000123;
    c.fabric.level_costs = {measured};
    return c;
}

}  // namespace sample

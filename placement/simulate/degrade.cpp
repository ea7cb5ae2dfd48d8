// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/degrade.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "placement/simulate/random.hpp"

namespace placement::simulate {
namespace {

using topo::endpoint;

struct link {
    enum class kind : std::uint8_t { nic, port, pair } what;
    std::size_t a = 0;  // NIC, or GPU
    std::size_t b = 0;  // the other GPU of a pair
};

bool is_island_link(topo::link_class k) noexcept {
    return k == topo::link_class::nvlink || k == topo::link_class::xgmi || k == topo::link_class::c2c;
}

std::vector<link> gpu_links_of(const topo::node_class& hardware) {
    const std::size_t n = hardware.gpus.size();
    const topo::cost_layer* costs = hardware.best_layer(endpoint::gpu, endpoint::gpu);
    double best = 0;
    double worst = std::numeric_limits<double>::infinity();
    if (costs != nullptr)
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b) {
                if (a == b) continue;
                best = std::max(best, costs->cells(a, b).gb_per_s);
                worst = std::min(worst, costs->cells(a, b).gb_per_s);
            }
    const auto joined = [&](std::size_t a, std::size_t b) {
        if (!hardware.gpu_links.empty()) return is_island_link(hardware.gpu_links(a, b).kind);
        return costs != nullptr && costs->cells(a, b).gb_per_s >= best / 2;
    };
    std::vector<link> pairs;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a + 1; b < n; ++b)
            if (joined(a, b)) pairs.push_back({link::kind::pair, a, b});
    const bool alike = n > 2 && pairs.size() == n * (n - 1) / 2 && worst >= 0.8 * best;
    if (!alike) return pairs;
    std::vector<link> ports;
    for (std::size_t g = 0; g < n; ++g) ports.push_back({link::kind::port, g, 0});
    return ports;
}

std::vector<link> links_of(const topo::node_class& hardware, const degrade_options& options) {
    std::vector<link> out;
    if (options.gpu_links) out = gpu_links_of(hardware);
    if (options.nic_links)
        for (std::size_t i = 0; i < hardware.nics.size(); ++i)
            if (hardware.nics[i].compute) out.push_back({link::kind::nic, i, 0});
    return out;
}

void slow(topo::cost& c, double factor) noexcept {
    if (!c.present()) return;
    c.gb_per_s *= factor;
    c.from = topo::source::simulated;
}

// Each cell once, though two slow links may meet in it.
void slow_gpu_cells(topo::node_class& hardware, const std::vector<link>& bad, double factor) {
    const std::size_t n = hardware.gpus.size();
    for (auto& layer : hardware.layers) {
        if (layer.from != endpoint::gpu || layer.to != endpoint::gpu) continue;
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b) {
                const bool hit = a != b && std::any_of(bad.begin(), bad.end(), [&](const link& l) {
                                     if (l.what == link::kind::port) return l.a == a || l.a == b;
                                     return l.what == link::kind::pair && std::minmax(a, b) == std::minmax(l.a, l.b);
                                 });
                if (hit) slow(layer.cells(a, b), factor);
            }
    }
}

void slow_nic(topo::node_class& hardware, std::size_t nic, double factor) {
    if (auto& port = hardware.nics[nic].gb_per_s; port) *port *= factor;
    for (auto& layer : hardware.layers) {
        if (layer.from == endpoint::gpu && layer.to == endpoint::nic)
            for (std::size_t g = 0; g < layer.cells.rows(); ++g) slow(layer.cells(g, nic), factor);
        if (layer.from == endpoint::nic && layer.to == endpoint::gpu)
            for (std::size_t g = 0; g < layer.cells.columns(); ++g) slow(layer.cells(nic, g), factor);
    }
}

std::string name_of(const topo::node_class& hardware, const link& l) {
    if (l.what == link::kind::nic) return hardware.nics[l.a].name;
    if (l.what == link::kind::port) return hardware.gpus[l.a].name;
    return hardware.gpus[l.a].name + "-" + hardware.gpus[l.b].name;
}

topo::node_class slowed(topo::node_class hardware, const std::vector<link>& bad, double factor) {
    std::string names;
    for (const auto& l : bad) names += (names.empty() ? "" : ", ") + name_of(hardware, l);
    hardware.name += " ~ " + names + " slow";
    hardware.made_by.input = "simulated: a copy with slow links (" + names + ")";
    slow_gpu_cells(hardware, bad, factor);
    for (const auto& l : bad)
        if (l.what == link::kind::nic) slow_nic(hardware, l.a, factor);
    return hardware;
}

}  // namespace

degraded degrade(const topo::cluster_description& healthy, const degrade_options& options) {
    degraded out;
    out.cluster = healthy;
    out.cluster.nodes.clear();
    random_source random(options.seed);
    std::map<std::string, const topo::node_class*> by_name;
    std::map<std::string, std::vector<link>> links;
    for (const auto& c : healthy.classes) {
        by_name[c.name] = &c;
        links[c.name] = links_of(c, options);
    }
    std::map<std::string, bool> made;
    for (const auto& group : healthy.nodes) {
        const auto hardware = by_name.find(group.class_name);
        for (const auto& node : group.nodes) {
            std::vector<link> bad;
            for (const auto& l : links[group.class_name]) {
                ++out.links;
                if (random.unit() < options.share) bad.push_back(l);
            }
            std::string name = group.class_name;
            if (!bad.empty() && hardware != by_name.end()) {
                topo::node_class copy = slowed(*hardware->second, bad, options.bandwidth);
                name = copy.name;
                if (!std::exchange(made[name], true)) out.cluster.classes.push_back(std::move(copy));
                out.slow_links += bad.size();
                ++out.slow_nodes;
            }
            if (out.cluster.nodes.empty() || out.cluster.nodes.back().class_name != name)
                out.cluster.nodes.push_back({name, {}});
            out.cluster.nodes.back().nodes.push_back(node);
        }
    }
    return out;
}

}  // namespace placement::simulate

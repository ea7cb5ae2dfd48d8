// SPDX-License-Identifier: Apache-2.0
#include "topo/node_class.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <utility>

#include "topo/quote.hpp"

namespace topo {
namespace {

std::string endpoint_name(const node_class& c, endpoint e, std::size_t i) {
    switch (e) {
        case endpoint::gpu: return shown(c.gpus[i].name);
        case endpoint::nic: return shown(c.nics[i].name);
        case endpoint::host: return c.numa.empty() ? "host" : "NUMA " + std::to_string(c.numa[i].id);
    }
    return {};
}

void fault(findings& out, const std::string& where, std::string what, std::string remedy) {
    out.push_back({severity::error, where, std::move(what), std::move(remedy)});
}

void check_devices(const node_class& c, findings& out) {
    const std::string where = "class " + shown(c.name);
    if (c.name.empty()) fault(out, "class", "a node class has no name", "give it a name");
    if (c.gpus.size() > max_gpus_per_node)
        fault(out, where, std::to_string(c.gpus.size()) + " GPUs; a node holds at most 64",
              "describe each host as a node of its own");
    if (c.nics.size() > max_nics_per_node)
        fault(out, where, std::to_string(c.nics.size()) + " NICs; a node holds at most 64",
              "leave out NICs that jobs do not use");
    std::set<std::string_view> names;
    std::set<pci_address> addresses;
    const auto device = [&](const std::string& name, const std::optional<pci_address>& pci, int numa) {
        if (name.empty())
            fault(out, where, "a device has no name", "name every GPU and NIC");
        else if (!names.insert(name).second)
            fault(out, where, "device " + shown(name) + " stands twice", "keep one of them");
        if (pci && !addresses.insert(*pci).second)
            fault(out, where, "PCI address " + pci->text() + " of " + shown(name) + " stands twice",
                  "keep one of them");
        if (numa < unknown_numa)
            fault(out, where, "NUMA node " + std::to_string(numa) + " of " + shown(name), "use -1 for unknown");
        // Without any NUMA node the class does not know them; a device may still name its own.
        else if (numa != unknown_numa && !c.numa.empty() &&
                 std::none_of(c.numa.begin(), c.numa.end(), [numa](const numa_node& n) { return n.id == numa; }))
            fault(out, where,
                  "NUMA node " + std::to_string(numa) + " of " + shown(name) + " is not in the numa list of the class",
                  "add it there (without cpus when it has none), or use -1 for unknown");
    };
    for (const auto& g : c.gpus) device(g.name, g.pci, g.numa);
    for (const auto& n : c.nics) device(n.name, n.pci, n.numa);
    for (const auto& n : c.nics)
        if (n.gb_per_s && !(std::isfinite(*n.gb_per_s) && *n.gb_per_s > 0))
            fault(out, where, "port speed of " + shown(n.name) + " is not a positive number",
                  "leave an unknown speed out");
    std::set<int> ids;
    for (const auto& n : c.numa)
        if (n.id < 0 || !ids.insert(n.id).second)
            fault(out, where, "NUMA node " + std::to_string(n.id) + " is negative or stands twice",
                  "list each NUMA node once");
}

void check_layer(const node_class& c, const cost_layer& layer, findings& out) {
    const std::string where = "class " + shown(c.name);
    const std::string title = std::string(name_of(layer.by)) + " layer";
    if (layer.cells.rows() != c.endpoints(layer.from) || layer.cells.columns() != c.endpoints(layer.to)) {
        fault(out, where,
              title + " is " + std::to_string(layer.cells.rows()) + " × " + std::to_string(layer.cells.columns()) +
                  ", the class needs " + std::to_string(c.endpoints(layer.from)) + " × " +
                  std::to_string(c.endpoints(layer.to)),
              "give one row a source and one column a destination");
        return;
    }
    for (std::size_t r = 0; r < layer.cells.rows(); ++r)
        for (std::size_t k = 0; k < layer.cells.columns(); ++k) {
            if (layer.from == layer.to && r == k) continue;
            const cost& cell = layer.cells(r, k);
            if (cell.valid()) continue;
            const std::string pair = endpoint_name(c, layer.from, r) + " → " + endpoint_name(c, layer.to, k);
            fault(
                out, where,
                title + ", " + pair +
                    (cell.present() ? ": not a cost (α must be ≥ 0 µs, bandwidth > 0 GB/s)" : ": the cost is missing"),
                "measure the pair again or leave the whole layer out");
        }
}

}  // namespace

std::size_t node_class::endpoints(endpoint e) const noexcept {
    switch (e) {
        case endpoint::gpu: return gpus.size();
        case endpoint::nic: return nics.size();
        case endpoint::host: return std::max<std::size_t>(numa.size(), 1);  // NUMA unknown: the host as one
    }
    return 0;
}

const cost_layer* node_class::layer(endpoint from, endpoint to, engine by) const noexcept {
    for (const auto& l : layers)
        if (l.from == from && l.to == to && l.by == by && !l.loaded) return &l;
    return nullptr;
}

const cost_layer* node_class::best_layer(endpoint from, endpoint to) const noexcept {
    static constexpr std::array order = {engine::sm_copy, engine::copy_engine, engine::rdma_write, engine::rdma_read,
                                         engine::host,    engine::sm_load,     engine::sm_flag};
    for (const engine by : order)
        if (const auto* found = layer(from, to, by)) return found;
    return nullptr;
}

source node_class::worst_source() const noexcept {
    source worst = source::none;
    for (const auto& l : layers)
        for (const auto& cell : l.cells.cells()) worst = std::max({worst, cell.from, cell.alpha_from});
    return worst;
}

bool node_class::simulated() const noexcept { return worst_source() == source::simulated; }

bool node_class::numa_has_cpus(int id) const noexcept {
    return std::any_of(numa.begin(), numa.end(), [id](const numa_node& n) { return n.id == id && !n.cpus.empty(); });
}

std::vector<int> node_class::numa_of(gpu_mask mask) const {
    std::vector<std::pair<int, int>> counts;  // (-GPUs, id): sorts as wanted
    for (std::size_t g = 0; g < gpus.size(); ++g) {
        const int id = gpus[g].numa;
        if (!((mask >> g) & 1) || !numa_has_cpus(id)) continue;
        const auto known = std::find_if(counts.begin(), counts.end(), [id](const auto& c) { return c.second == id; });
        if (known == counts.end())
            counts.emplace_back(-1, id);
        else
            --known->first;
    }
    std::sort(counts.begin(), counts.end());
    std::vector<int> ids;
    for (const auto& c : counts) ids.push_back(c.second);
    return ids;
}

findings check(const node_class& hardware) {
    findings out;
    check_devices(hardware, out);
    const std::string where = "class " + hardware.name;
    const auto shape = [&](const matrix<link>& m, std::size_t columns, const char* title) {
        if (!m.empty() && (m.rows() != hardware.gpus.size() || m.columns() != columns))
            fault(out, where, std::string(title) + " does not match the device lists", "give one row a GPU");
    };
    shape(hardware.gpu_links, hardware.gpus.size(), "gpu_links");
    shape(hardware.nic_links, hardware.nics.size(), "nic_links");
    std::set<std::tuple<endpoint, endpoint, engine, bool>> seen;
    for (const auto& l : hardware.layers) {
        if (!seen.insert({l.from, l.to, l.by, l.loaded}).second)
            fault(out, where, "the " + std::string(name_of(l.by)) + " layer stands twice", "keep one of them");
        check_layer(hardware, l, out);
    }
    return out;
}

std::vector<gpu_mask> islands(const node_class& hardware) {
    const std::size_t n = hardware.gpus.size();
    const cost_layer* costs = hardware.best_layer(endpoint::gpu, endpoint::gpu);
    double best = 0;
    if (costs != nullptr)
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b)
                if (a != b) best = std::max(best, costs->cells(a, b).gb_per_s);
    const auto joined = [&](std::size_t a, std::size_t b) {
        if (!hardware.gpu_links.empty()) {
            const link_class k = hardware.gpu_links(a, b).kind;
            return k == link_class::nvlink || k == link_class::xgmi || k == link_class::c2c;
        }
        return costs != nullptr && costs->cells(a, b).gb_per_s >= best / 2;
    };
    std::vector<gpu_mask> out;
    gpu_mask seen = 0;
    for (std::size_t start = 0; start < n; ++start) {
        if ((seen >> start) & 1) continue;
        gpu_mask island = gpu_mask{1} << start;
        for (gpu_mask todo = island; todo != 0;) {
            const auto a = static_cast<std::size_t>(std::countr_zero(todo));
            todo &= todo - 1;
            for (std::size_t b = 0; b < n; ++b)
                if (!((island >> b) & 1) && b != a && (joined(a, b) || joined(b, a))) {
                    island |= gpu_mask{1} << b;
                    todo |= gpu_mask{1} << b;
                }
        }
        seen |= island;
        out.push_back(island);
    }
    return out;
}

std::vector<int> nearest_nics(const node_class& hardware) {
    const std::size_t gpus = hardware.gpus.size();
    std::vector<std::size_t> usable;
    for (std::size_t k = 0; k < hardware.nics.size(); ++k)
        if (hardware.nics[k].compute) usable.push_back(k);
    if (usable.empty()) {
        usable.resize(hardware.nics.size());
        std::iota(usable.begin(), usable.end(), std::size_t{0});
    }
    std::stable_sort(usable.begin(), usable.end(), [&](std::size_t a, std::size_t b) {
        const auto& pa = hardware.nics[a].pci;
        const auto& pb = hardware.nics[b].pci;
        return pa.has_value() != pb.has_value() ? pa.has_value() : pa < pb;
    });
    const cost_layer* costs = hardware.best_layer(endpoint::gpu, endpoint::nic);
    // Less is nearer: by cost, else by link class, else by NUMA.
    const auto distance = [&](std::size_t g, std::size_t k) -> double {
        if (costs != nullptr) return 1 / costs->cells(g, k).gb_per_s;
        if (!hardware.nic_links.empty()) return static_cast<double>(hardware.nic_links(g, k).kind);
        const int a = hardware.gpus[g].numa;
        const int b = hardware.nics[k].numa;
        return a != unknown_numa && a == b ? 0 : 1;
    };
    const double slack = costs != nullptr ? 1.1 : 1;  // measured bandwidths within 10 % are ties
    std::vector<int> chosen(gpus, -1);
    std::vector<unsigned> load(hardware.nics.size(), 0);
    if (usable.empty()) return chosen;
    for (std::size_t g = 0; g < gpus; ++g) {
        double nearest = std::numeric_limits<double>::infinity();
        for (const std::size_t k : usable) nearest = std::min(nearest, distance(g, k));
        std::size_t pick = usable.front();
        unsigned least = std::numeric_limits<unsigned>::max();
        for (const std::size_t k : usable)
            if (distance(g, k) <= nearest * slack && load[k] < least) {
                least = load[k];
                pick = k;
            }
        ++load[pick];
        chosen[g] = static_cast<int>(pick);
    }
    return chosen;
}

}  // namespace topo

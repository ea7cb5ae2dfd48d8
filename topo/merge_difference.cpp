// SPDX-License-Identifier: Apache-2.0
#include "topo/merge_difference.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <tuple>

#include "topo/counted.hpp"
#include "topo/file/model.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

bool bonded(link_class k) { return k == link_class::nvlink || k == link_class::xgmi || k == link_class::c2c; }

// Collects sentences of one kind up to a limit and counts the rest.
class sentences {
public:
    sentences(std::vector<std::string>& out, std::size_t most) : out_(out), most_(most) {}
    void add(std::string text) {
        if (++seen_ <= most_) out_.push_back(std::move(text));
    }
    void close(const char* one, const char* many) {
        if (seen_ > most_) out_.push_back(fmt::format("{} more {}", seen_ - most_, seen_ - most_ == 1 ? one : many));
    }

private:
    std::vector<std::string>& out_;
    std::size_t most_;
    std::size_t seen_ = 0;
};

std::string end_name(const node_class& c, endpoint e, std::size_t i) {
    if (e == endpoint::gpu) return c.gpus[i].name;
    if (e == endpoint::nic) return c.nics[i].name;
    return fmt::format("NUMA {}", c.numa[i].id);
}

void devices(const node_class& node, const node_class& reference, std::vector<std::string>& out) {
    const auto number = [&](const char* what, std::size_t a, std::size_t b) {
        if (a != b) out.push_back(fmt::format("{} instead of {}", counted(a, what), b));
    };
    number("GPU", node.gpus.size(), reference.gpus.size());
    number("NIC", node.nics.size(), reference.nics.size());
    number("NUMA node", node.numa.size(), reference.numa.size());
    number("core", static_cast<std::size_t>(node.cores), static_cast<std::size_t>(reference.cores));
    for (std::size_t g = 0; g < std::min(node.gpus.size(), reference.gpus.size()); ++g) {
        const gpu& a = node.gpus[g];
        const gpu& b = reference.gpus[g];
        if (a.model != b.model)
            out.push_back(fmt::format("{} is a '{}' instead of '{}'", shown(a.name), shown(a.model), shown(b.model)));
        if (a.numa != b.numa)
            out.push_back(fmt::format("{} is on NUMA node {} instead of {}", shown(a.name), a.numa, b.numa));
    }
    for (std::size_t k = 0; k < std::min(node.nics.size(), reference.nics.size()); ++k) {
        const nic& a = node.nics[k];
        const nic& b = reference.nics[k];
        if (a.model != b.model)
            out.push_back(fmt::format("{} is a '{}' instead of '{}'", shown(a.name), shown(a.model), shown(b.model)));
        if (a.numa != b.numa)
            out.push_back(fmt::format("{} is on NUMA node {} instead of {}", shown(a.name), a.numa, b.numa));
        if (a.gb_per_s && b.gb_per_s && *a.gb_per_s != *b.gb_per_s)
            out.push_back(fmt::format("port of {} at {} GB/s instead of {}", shown(a.name), *a.gb_per_s, *b.gb_per_s));
    }
}

void links(const node_class& node, const node_class& reference, std::size_t most, std::vector<std::string>& out) {
    if (node.gpu_links.rows() != reference.gpu_links.rows()) return;
    std::vector<std::string> others;
    sentences lost(out, most);
    sentences changed(others, most);
    for (std::size_t a = 0; a < node.gpu_links.rows(); ++a)
        for (std::size_t b = a + 1; b < node.gpu_links.columns(); ++b) {
            const link here = node.gpu_links(a, b);
            const link there = reference.gpu_links(a, b);
            if (here == there && node.gpu_links(b, a) == reference.gpu_links(b, a)) continue;
            const std::string text = fmt::format("{} – {} is joined by {}, elsewhere by {}", shown(node.gpus[a].name),
                                                 shown(node.gpus[b].name), text_of(here), text_of(there));
            if (bonded(there.kind) && (!bonded(here.kind) || here.count < there.count))
                lost.add("degraded: " + text);
            else
                changed.add(text);
        }
    lost.close("degraded pair differs", "degraded pairs differ");
    changed.close("link differs", "links differ");
    std::move(others.begin(), others.end(), std::back_inserter(out));
}

void nearest(const node_class& node, const node_class& reference, std::size_t most, std::vector<std::string>& out) {
    if (node.gpus.size() != reference.gpus.size() || node.nics.size() != reference.nics.size()) return;
    const auto here = nearest_nics(node);
    const auto there = nearest_nics(reference);
    sentences all(out, most);
    const auto name = [&](int k) { return k < 0 ? std::string("none") : node.nics[static_cast<std::size_t>(k)].name; };
    for (std::size_t g = 0; g < here.size(); ++g)
        if (here[g] != there[g])
            all.add(fmt::format("the nearest NIC of {} is {} (number {}), elsewhere number {}",
                                shown(node.gpus[g].name), name(here[g]), here[g], there[g]));
    all.close("GPU's nearest NIC differs", "GPUs' nearest NICs differ");
}

void costs(const node_class& node, const node_class& reference, std::size_t most, std::vector<std::string>& out) {
    sentences all(out, most);
    for (const auto& layer : node.layers) {
        const auto other = std::find_if(reference.layers.begin(), reference.layers.end(), [&](const cost_layer& l) {
            return l.from == layer.from && l.to == layer.to && l.by == layer.by && l.loaded == layer.loaded;
        });
        if (other == reference.layers.end() || other->cells.rows() != layer.cells.rows() ||
            other->cells.columns() != layer.cells.columns())
            continue;
        for (std::size_t r = 0; r < layer.cells.rows(); ++r)
            for (std::size_t k = 0; k < layer.cells.columns(); ++k) {
                const cost& a = layer.cells(r, k);
                const cost& b = other->cells(r, k);
                if (!a.present() || !b.present()) continue;
                const std::string pair = fmt::format("{} → {} ({})", end_name(node, layer.from, r),
                                                     end_name(node, layer.to, k), name_of(layer.by));
                if (!same_bandwidth(a.gb_per_s, b.gb_per_s))
                    all.add(fmt::format("{} {:.4g} GB/s against {:.4g} GB/s", pair, a.gb_per_s, b.gb_per_s));
                else if (!same_latency(a.alpha_us, b.alpha_us))
                    all.add(fmt::format("{} {:.4g} µs against {:.4g} µs", pair, a.alpha_us, b.alpha_us));
            }
    }
    all.close("cost differs", "costs differ");
}

}  // namespace

bool same_bandwidth(double a, double b) noexcept { return std::abs(a - b) <= 0.05 * std::max(a, b); }

bool same_latency(double a, double b) noexcept { return std::abs(a - b) <= std::max(0.2, 0.05 * std::max(a, b)); }

std::string shape_of(const node_class& hardware) {
    node_class bare = hardware;
    bare.layers.clear();
    bare.made_by = {};
    for (auto& g : bare.gpus) {
        g.name.clear();
        g.uuid.clear();
        g.pci.reset();
    }
    for (auto& n : bare.nics) {
        n.name.clear();
        n.guid.clear();
        n.pci.reset();
    }
    std::string text = file::to_json(file::from_class(bare, false));
    for (const int k : nearest_nics(hardware)) text += fmt::format(" {}", k);
    std::vector<std::tuple<endpoint, endpoint, engine, bool>> layers;
    for (const auto& l : hardware.layers) layers.emplace_back(l.from, l.to, l.by, l.loaded);
    std::sort(layers.begin(), layers.end());
    for (const auto& [from, to, by, loaded] : layers)
        text += fmt::format(" {}-{}-{}-{}", static_cast<int>(from), static_cast<int>(to), static_cast<int>(by), loaded);
    return text + (hardware.simulated() ? " simulated" : "");
}

std::vector<std::string> differences(const node_class& node, const node_class& reference, std::size_t most) {
    std::vector<std::string> out;
    links(node, reference, most, out);
    devices(node, reference, out);
    nearest(node, reference, most, out);
    costs(node, reference, most, out);
    if (node.simulated() != reference.simulated())
        out.push_back(node.simulated() ? "its costs are simulated" : "its costs are not simulated");
    return out;
}

}  // namespace topo

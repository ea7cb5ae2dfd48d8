// SPDX-License-Identifier: Apache-2.0
#include "topo/import/node_marks.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>
#include <vector>

#include "topo/import/text.hpp"
#include "topo/link_table.hpp"

namespace topo {
namespace {

bool near(link l) noexcept {
    return l.kind == link_class::pix || l.kind == link_class::pxb || l.kind == link_class::c2c ||
           l.kind == link_class::nvlink || l.kind == link_class::xgmi;
}

std::string name_from(const std::string& file) {
    std::size_t start = file.find_last_of('/');
    start = start == std::string::npos ? 0 : start + 1;
    std::string stem = file.substr(start);
    const std::size_t dot = stem.find_last_of('.');
    if (dot != std::string::npos && dot > 0) stem.resize(dot);
    stem = clean_name(stem);
    for (char& c : stem)
        if (c == ' ') c = '-';
    return stem.empty() || stem == "-" ? "node" : stem;
}

// A class of PHB, NODE or nearer never leaves the NUMA node, so it tells where the NIC is.
void place_nics(node_class& c) {
    if (c.nic_links.empty()) return;
    for (std::size_t k = 0; k < c.nics.size(); ++k) {
        if (c.nics[k].numa != unknown_numa) continue;
        int found = unknown_numa;
        bool agree = true;
        for (std::size_t g = 0; g < c.gpus.size(); ++g) {
            const link_class kind = c.nic_links(g, k).kind;
            if (kind < link_class::pix || kind > link_class::node || c.gpus[g].numa == unknown_numa) continue;
            agree = agree && (found == unknown_numa || found == c.gpus[g].numa);
            found = c.gpus[g].numa;
        }
        if (agree) c.nics[k].numa = found;
    }
}

void count_notes(const node_class& c, const std::string& file, findings& notes) {
    const auto count = [&](std::size_t n, const char* what) {
        text::note(notes, file, std::to_string(n) + " " + what + (n == 1 ? "" : "s") + " in file");
    };
    count(c.gpus.size(), "GPU");
    count(c.nics.size(), "NIC");
    for (const auto& [n, limit, what] :
         {std::tuple{c.gpus.size(), max_gpus_per_node, "GPUs"}, std::tuple{c.nics.size(), max_nics_per_node, "NICs"}})
        if (n > limit)
            text::warn(
                notes, file,
                std::to_string(n) + " " + what + " read; placement takes nodes of at most " + std::to_string(limit),
                "describe each host of the domain as a node of its own");
    const bool unknown = std::all_of(c.gpus.begin(), c.gpus.end(), [](const gpu& g) { return g.numa == unknown_numa; });
    if (unknown && !c.gpus.empty()) text::note(notes, file, "locality unknown: no NUMA node of any GPU is known");
}

}  // namespace

std::string clean_name(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 64)) out += c >= 0x20 && c < 0x7f ? c : '_';
    return out;
}

void mark_nics(node_class& c) {
    const std::size_t nics = c.nics.size();
    if (c.nic_links.empty() || c.gpus.empty()) return;
    std::vector<bool> is_near(nics, false);
    // The nearest class any GPU has to the NIC, and the first GPU that has it.
    std::vector<std::pair<link_class, std::size_t>> first(nics, {link_class::unknown, 0});
    for (std::size_t g = 0; g < c.gpus.size(); ++g)
        for (std::size_t k = 0; k < nics; ++k) {
            const link l = c.nic_links(g, k);
            is_near[k] = is_near[k] || near(l);
            first[k] = std::min(first[k], {l.kind, g});
        }
    const bool any = std::find(is_near.begin(), is_near.end(), true) != is_near.end();
    std::vector<std::size_t> order;
    for (std::size_t k = 0; k < nics; ++k) {
        if (any && !is_near[k]) c.nics[k].compute = false;
        if (c.nics[k].compute) order.push_back(k);
    }
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return first[a].second < first[b].second; });
    for (std::size_t r = 0; r < order.size(); ++r) c.nics[order[r]].rail = static_cast<int>(r);
}

bool flat_guest(const node_class& c) noexcept {
    const std::size_t n = c.gpus.size();
    if (n < 3 || c.gpu_links.empty()) return false;
    int numa = unknown_numa;
    for (std::size_t a = 0; a < n; ++a) {
        const int id = c.gpus[a].numa;
        if (id != unknown_numa && numa != unknown_numa && id != numa) return false;
        if (id != unknown_numa) numa = id;
        for (std::size_t b = 0; b < n; ++b)
            if (a != b && c.gpu_links(a, b).kind != link_class::phb) return false;
    }
    const auto cells = c.nic_links.cells();
    return std::all_of(cells.begin(), cells.end(), [](link l) { return l.kind == link_class::phb; });
}

void finish_node(import_output& out, node_class hardware, const std::string& file, const import_options& options) {
    if (hardware.name.empty()) hardware.name = name_from(file);
    if (hardware.made_by.input.empty()) hardware.made_by.input = file;
    if (!options.gpu_model.empty())
        for (auto& g : hardware.gpus)
            if (g.model.empty()) g.model = options.gpu_model;
    place_nics(hardware);
    mark_nics(hardware);
    if (flat_guest(hardware)) {
        hardware.locality_trusted = false;
        text::warn(out.notes, file,
                   "virtual, locality not trusted: every pair is PHB and at most one NUMA node is known",
                   "measure with atoll calibrate, or import the topology XML of the host");
    }
    count_notes(hardware, file, out.notes);
    fill_estimates(hardware);
    node_description node;
    node.hardware = std::move(hardware);
    node.notes = out.notes;
    out.nodes.push_back(std::move(node));
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include "cli/render/heat.hpp"
#include "topo/counted.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "cli/render/summary.hpp"
#include "cli/render/text.hpp"

namespace cli::render {
namespace {

constexpr std::size_t least_peers = 4;
constexpr double low_bandwidth = 0.9;
constexpr double high_latency = 1.5;
constexpr double least_us = 1e-3;  // below, latencies are drawn alike

std::string_view text_of(topo::endpoint e) {
    return e == topo::endpoint::gpu ? "GPU" : e == topo::endpoint::nic ? "NIC" : "host";
}

// The link of a cell, when the class knows it.
const topo::link* link_of(const topo::node_class& h, const topo::cost_layer& layer, std::size_t r, std::size_t c) {
    using topo::endpoint;
    if (layer.from == endpoint::gpu && layer.to == endpoint::gpu && !h.gpu_links.empty()) return &h.gpu_links(r, c);
    if (layer.from == endpoint::gpu && layer.to == endpoint::nic && !h.nic_links.empty()) return &h.nic_links(r, c);
    if (layer.from == endpoint::nic && layer.to == endpoint::gpu && !h.nic_links.empty()) return &h.nic_links(c, r);
    return nullptr;
}

// Of a GPU and host memory: near or far; without NUMA nodes everything is alike.
std::string distance_of(const topo::node_class& h, const topo::cost_layer& layer, std::size_t r, std::size_t c) {
    if (layer.from != topo::endpoint::host && layer.to != topo::endpoint::host) return {};
    const std::size_t host = layer.from == topo::endpoint::host ? r : c;
    const std::size_t gpu = layer.from == topo::endpoint::host ? c : r;
    if (host >= h.numa.size() || gpu >= h.gpus.size()) return {};
    return h.gpus[gpu].numa == h.numa[host].id ? "near" : "far";
}

double value_of(const topo::cost& c, quantity what) {
    return what == quantity::latency ? std::max(c.alpha_us, least_us) : c.gb_per_s;
}

double median(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

void mark_odd(const topo::node_class& h, const topo::cost_layer& layer, quantity what, heat_table& t) {
    std::map<std::string, std::vector<double>> peers;
    auto group = [&](std::size_t r, std::size_t c) {
        const topo::link* l = link_of(h, layer, r, c);
        return l == nullptr ? distance_of(h, layer, r, c) : topo::text_of(*l);
    };
    for (std::size_t r = 0; r < t.cells.rows(); ++r)
        for (std::size_t c = 0; c < t.cells.columns(); ++c)
            if (t.cells(r, c).present) peers[group(r, c)].push_back(value_of(layer.cells(r, c), what));
    std::map<std::string, double> usual;
    for (const auto& [name, values] : peers)
        if (values.size() >= least_peers) usual[name] = median(values);
    for (std::size_t r = 0; r < t.cells.rows(); ++r)
        for (std::size_t c = 0; c < t.cells.columns(); ++c) {
            if (!t.cells(r, c).present) continue;
            const auto found = usual.find(group(r, c));
            if (found == usual.end()) continue;
            const double value = value_of(layer.cells(r, c), what);
            t.cells(r, c).odd = what == quantity::latency ? value > high_latency * found->second
                                                          : value < low_bandwidth * found->second;
            if (!t.cells(r, c).odd) continue;
            t.cells(r, c).usual = found->second;
            ++t.odd;
        }
}

double link_goodness(topo::link l) {
    switch (l.kind) {
        case topo::link_class::self:
        case topo::link_class::nvlink:
        case topo::link_class::xgmi:
        case topo::link_class::c2c: return 1;
        case topo::link_class::pix: return 0.75;
        case topo::link_class::pxb: return 0.6;
        case topo::link_class::phb: return 0.4;
        case topo::link_class::node: return 0.25;
        default: return 0;
    }
}

}  // namespace

std::string title_of(const topo::cost_layer& layer) {
    return fmt::format("{} to {}, {}{}", text_of(layer.from), text_of(layer.to), topo::name_of(layer.by),
                       layer.loaded ? ", loaded" : "");
}

std::vector<std::string> names_of(const topo::node_class& hardware, topo::endpoint kind) {
    std::vector<std::string> names;
    if (kind == topo::endpoint::gpu)
        for (const topo::gpu& g : hardware.gpus) names.push_back(g.name);
    else if (kind == topo::endpoint::nic)
        for (const topo::nic& n : hardware.nics) names.push_back(n.name);
    else
        for (const topo::numa_node& n : hardware.numa) names.push_back(fmt::format("NUMA{}", n.id));
    return names;
}

heat_table heat_of(const topo::node_class& hardware, const topo::cost_layer& layer, quantity what) {
    heat_table t;
    const bool latency = what == quantity::latency;
    t.title = title_of(layer) + (latency ? ", us" : ", GB/s");
    t.corner = "from \\ to";
    t.rows = names_of(hardware, layer.from);
    t.columns = names_of(hardware, layer.to);
    t.rows.resize(layer.cells.rows());
    t.columns.resize(layer.cells.columns());
    t.cells = topo::matrix<heat_cell>(layer.cells.rows(), layer.cells.columns());
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
    for (const topo::cost& c : layer.cells.cells()) {
        if (!c.present()) continue;
        least = std::min(least, value_of(c, what));
        most = std::max(most, value_of(c, what));
    }
    const double low = latency ? least : std::min(least, most / 2);
    const double high = latency ? std::max(most, 2 * least) : most;
    for (std::size_t r = 0; r < t.cells.rows(); ++r)
        for (std::size_t c = 0; c < t.cells.columns(); ++c) {
            const topo::cost& value = layer.cells(r, c);
            heat_cell& cell = t.cells(r, c);
            cell.present = value.present();
            cell.text = cell.present ? short_number(latency ? value.alpha_us : value.gb_per_s) : "-";
            if (!cell.present) continue;
            const double share = std::log(value_of(value, what) / low) / std::log(high / low);
            cell.goodness = latency ? 1 - share : share;
        }
    if (most > 0) {
        t.worst = short_number(latency ? most : least);
        t.best = short_number(latency ? least : most);
        mark_odd(hardware, layer, what, t);
    }
    return t;
}

heat_table heat_of_links(const topo::node_class& hardware) {
    heat_table t;
    t.title = "Links";
    t.rows = names_of(hardware, topo::endpoint::gpu);
    t.columns = t.rows;
    const std::size_t gpus = hardware.gpu_links.rows();
    const std::size_t nics = hardware.nic_links.columns();
    for (std::string& name : names_of(hardware, topo::endpoint::nic)) t.columns.push_back(std::move(name));
    t.columns.resize(gpus + nics);
    t.rows.resize(gpus);
    t.cells = topo::matrix<heat_cell>(gpus, gpus + nics);
    for (std::size_t r = 0; r < gpus; ++r)
        for (std::size_t c = 0; c < gpus + nics; ++c) {
            const topo::link l = c < gpus ? hardware.gpu_links(r, c) : hardware.nic_links(r, c - gpus);
            t.cells(r, c) = {topo::text_of(l), link_goodness(l), l.kind != topo::link_class::self, false};
        }
    return t;
}

std::string tip_of(const topo::node_class& hardware, const topo::cost_layer& layer, std::size_t from, std::size_t to) {
    const topo::cost& c = layer.cells(from, to);
    const auto rows = names_of(hardware, layer.from);
    const auto columns_of = names_of(hardware, layer.to);
    auto name = [](const std::vector<std::string>& names, std::size_t i) { return i < names.size() ? names[i] : "?"; };
    std::string text = fmt::format("{} → {}: {} GB/s, {} µs", name(rows, from), name(columns_of, to),
                                   short_number(c.gb_per_s), short_number(c.alpha_us));
    if (const topo::link* l = link_of(hardware, layer, from, to)) text += ", " + topo::text_of(*l);
    text += fmt::format("; {}", topo::name_of(c.from));
    if (c.alpha_from != c.from) text += fmt::format(", latency {}", topo::name_of(c.alpha_from));
    if (c.samples > 0) text += ", " + topo::counted(c.samples, "sample");
    if (c.spread > 0) text += fmt::format(", ±{:.1f} %", c.spread * 100);
    return text;
}

topo::findings odd_pairs(const topo::node_class& h, const std::string& title) {
    topo::findings out;
    std::size_t found = 0;
    for (const topo::cost_layer& layer : h.layers) {
        if (!used_by_placement(h, layer)) continue;
        const heat_table t = heat_of(h, layer, quantity::bandwidth);
        for (std::size_t r = 0; r < t.cells.rows(); ++r)
            for (std::size_t c = 0; c < t.cells.columns(); ++c) {
                const heat_cell& cell = t.cells(r, c);
                if (!cell.odd || ++found > odd_listed) continue;
                const topo::link* l = link_of(h, layer, r, c);
                out.push_back({topo::severity::warning, title,
                               fmt::format("{} → {} ({}) {} GB/s where {} GB/s is usual{}", t.rows[r], t.columns[c],
                                           topo::name_of(layer.by), cell.text, short_number(cell.usual),
                                           l == nullptr ? "" : " over " + topo::text_of(*l)),
                               "check that link"});
            }
    }
    if (found > odd_listed)
        out.push_back({topo::severity::warning, title,
                       fmt::format("{} like these", counted(found - odd_listed, "more pair is", "more pairs are")),
                       "the heat map marks them all"});
    return out;
}

std::string text_of(const heat_table& t, const style& s) {
    std::size_t label = columns(t.corner);
    for (const std::string& row : t.rows) label = std::max(label, columns(printable(row)));
    std::size_t width = 5;
    for (const std::string& name : t.columns) width = std::max(width, columns(printable(name)));
    for (const heat_cell& c : t.cells.cells()) width = std::max(width, columns(c.text) + (c.odd ? 1 : 0));
    const std::size_t each = width + 2;
    const std::size_t room = s.columns > label + each ? (s.columns - label) / each : 1;
    const std::size_t block = s.columns == 0 ? std::max<std::size_t>(t.columns.size(), 1) : room;
    std::string out = s.bold(printable(t.title)) + "\n";
    for (std::size_t first = 0; first < t.columns.size(); first += block) {
        const std::size_t last = std::min(first + block, t.columns.size());
        std::string head = pad_right(t.corner, label);
        for (std::size_t c = first; c < last; ++c) head += pad_left(printable(t.columns[c]), each - 1) + " ";
        head.erase(head.find_last_not_of(' ') + 1);
        out += s.dim(head) + "\n";
        for (std::size_t r = 0; r < t.rows.size(); ++r) {
            std::string line = pad_right(printable(t.rows[r]), label);
            for (std::size_t c = first; c < last; ++c) {
                const heat_cell& cell = t.cells(r, c);
                const std::string text = pad_left(cell.text + (cell.odd ? "!" : ""), each - 1) + (s.colour ? " " : "");
                line += cell.present ? s.heat(cell.goodness, text) : text;
                if (!s.colour) line += " ";
            }
            if (!s.colour) line.erase(line.find_last_not_of(' ') + 1);
            out += line + "\n";
        }
    }
    return out;
}

}  // namespace cli::render

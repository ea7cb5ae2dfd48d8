// SPDX-License-Identifier: Apache-2.0
// The picture of one node: a box a NUMA node, its GPUs above its NICs, islands as a bar or as arcs.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "cli/render/facts.hpp"
#include "cli/render/page_parts.hpp"
#include "cli/render/text.hpp"

namespace cli::render {
namespace {

constexpr double slot = 76;  // width a device takes
constexpr double device_w = 64;
constexpr double device_h = 42;
constexpr double gap = 18;       // between NUMA boxes
constexpr double nic_drop = 96;  // from GPU top to NIC top
constexpr std::size_t arcs_labelled = 20;

struct column {
    int numa = topo::unknown_numa;
    std::vector<std::size_t> gpus;
    std::vector<std::size_t> nics;
    double x = 0;
    double width = 0;
};

struct layout {
    std::vector<column> columns;
    std::vector<double> gpu_x;  // centre
    std::vector<double> nic_x;
    double width = 0;
    double top = 0;  // of the GPU row
    double height = 0;
};

bool joined(const topo::node_class& h, std::size_t a, std::size_t b) {
    if (h.gpu_links.empty()) return false;
    const topo::link_class k = h.gpu_links(a, b).kind;
    return k == topo::link_class::nvlink || k == topo::link_class::xgmi || k == topo::link_class::c2c;
}

std::vector<std::size_t> members(topo::gpu_mask mask) {
    std::vector<std::size_t> out;
    for (std::size_t i = 0; i < topo::max_gpus_per_node; ++i)
        if ((mask >> i & 1) != 0) out.push_back(i);
    return out;
}

// Every pair of the island over the same link: drawn as one bar.
bool uniform(const topo::node_class& h, const std::vector<std::size_t>& island) {
    if (h.gpu_links.empty()) return true;
    const topo::link first = h.gpu_links(island[0], island[1]);
    for (const std::size_t a : island)
        for (const std::size_t b : island)
            if (a != b && !(h.gpu_links(a, b) == first)) return false;
    return true;
}

layout arrange(const topo::node_class& h) {
    std::map<int, column> by_numa;  // unknown (-1) first; moved to the end below
    for (std::size_t i = 0; i < h.gpus.size(); ++i) by_numa[h.gpus[i].numa].gpus.push_back(i);
    for (std::size_t i = 0; i < h.nics.size(); ++i) by_numa[h.nics[i].numa].nics.push_back(i);
    for (const topo::numa_node& n : h.numa)
        if (!n.cpus.empty()) by_numa[n.id];
    layout l;
    l.gpu_x.resize(h.gpus.size());
    l.nic_x.resize(h.nics.size());
    for (auto& [numa, c] : by_numa) {
        c.numa = numa;
        if (numa != topo::unknown_numa) l.columns.push_back(std::move(c));
    }
    if (const auto lost = by_numa.find(topo::unknown_numa); lost != by_numa.end())
        l.columns.push_back(std::move(lost->second));
    const std::vector<int> nearest = topo::nearest_nics(h);
    double x = 10;
    for (column& c : l.columns) {
        // NICs in the order of the GPUs they serve, so that lines cross less.
        auto first_served = [&](std::size_t nic) {
            for (std::size_t g = 0; g < nearest.size(); ++g)
                if (nearest[g] == static_cast<int>(nic)) return g;
            return nearest.size();
        };
        std::stable_sort(c.nics.begin(), c.nics.end(),
                         [&](auto a, auto b) { return first_served(a) < first_served(b); });
        c.x = x;
        c.width = std::max({static_cast<double>(c.gpus.size()) * slot, static_cast<double>(c.nics.size()) * slot,
                            2.2 * slot}) +
                  16;
        // Where each GPU has a NIC of its own they stand one above the other, the spare NICs beside them.
        const bool paired = std::equal(c.gpus.begin(), c.gpus.end(), c.nics.begin(),
                                       c.nics.begin() + std::min(c.gpus.size(), c.nics.size()),
                                       [&](std::size_t g, std::size_t n) { return nearest[g] == static_cast<int>(n); });
        auto spread = [&](const std::vector<std::size_t>& ids, std::vector<double>& to) {
            const std::size_t slots = paired ? std::max(c.gpus.size(), c.nics.size()) : ids.size();
            const double start = c.x + (c.width - static_cast<double>(slots) * slot) / 2 + slot / 2;
            for (std::size_t i = 0; i < ids.size(); ++i) to[ids[i]] = start + static_cast<double>(i) * slot;
        };
        spread(c.gpus, l.gpu_x);
        spread(c.nics, l.nic_x);
        x += c.width + gap;
    }
    l.width = std::max(x - gap + 10, 220.0);
    return l;
}

std::string text_at(double x, double y, std::string_view classes, std::string_view text,
                    std::string_view anchor = "middle") {
    return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\" class=\"{}\">{}</text>", x, y, anchor,
                       classes, html(text));
}

// Arcs of an island that is not uniform; returns the height they need.
std::string arcs(const topo::node_class& h, const std::vector<std::size_t>& island, const layout& l, double base,
                 std::size_t links) {
    std::string out;
    for (const std::size_t a : island)
        for (const std::size_t b : island) {
            if (b <= a || !joined(h, a, b)) continue;
            const topo::link k = h.gpu_links(a, b);
            const double x1 = l.gpu_x[a];
            const double x2 = l.gpu_x[b];
            const double rise = 14 + std::abs(x2 - x1) * 0.22;
            out += fmt::format(
                "<path class=\"link\" stroke-width=\"{:.1f}\" d=\"M{:.0f} {:.0f} C{:.0f} {:.0f} {:.0f} {:.0f} {:.0f} "
                "{:.0f}\"/>",
                1.2 + std::min<double>(k.count, 18) / 6, x1, base, x1, base - rise * 1.33, x2, base - rise * 1.33, x2,
                base);
            if (links <= arcs_labelled) out += text_at((x1 + x2) / 2, base - rise - 3, "small", topo::text_of(k));
        }
    return out;
}

// Islands of neighbours over one kind of link are drawn as a bar, all others as arcs.
bool as_bar(const std::vector<std::size_t>& island, const layout& l, const topo::node_class& h) {
    if (!uniform(h, island)) return false;
    double low = l.gpu_x[island.front()];
    double high = low;
    for (const std::size_t g : island) {
        low = std::min(low, l.gpu_x[g]);
        high = std::max(high, l.gpu_x[g]);
    }
    // Others in between: the bar would look as if they belonged to it.
    const auto between = std::count_if(l.gpu_x.begin(), l.gpu_x.end(), [&](double x) { return x >= low && x <= high; });
    return static_cast<std::size_t>(between) == island.size();
}

double arc_height(const topo::node_class& h, const layout& l, const std::vector<topo::gpu_mask>& parts) {
    double most = 0;
    for (const topo::gpu_mask part : parts) {
        const auto island = members(part);
        if (island.size() < 2 || as_bar(island, l, h)) continue;
        for (const std::size_t a : island)
            for (const std::size_t b : island)
                if (joined(h, a, b)) most = std::max(most, 14 + std::abs(l.gpu_x[a] - l.gpu_x[b]) * 0.22);
    }
    return most;
}

std::string islands_drawn(const topo::node_class& h, const layout& l, const std::vector<topo::gpu_mask>& parts) {
    std::string out;
    std::size_t links = 0;
    for (std::size_t a = 0; a < h.gpu_links.rows(); ++a)
        for (std::size_t b = a + 1; b < h.gpu_links.columns(); ++b) links += joined(h, a, b);
    for (const topo::gpu_mask part : parts) {
        const auto island = members(part);
        if (island.size() < 2) continue;
        if (!as_bar(island, l, h)) {
            out += arcs(h, island, l, l.top, links);
            continue;
        }
        double low = l.gpu_x[island.front()];
        double high = low;
        for (const std::size_t g : island) {
            low = std::min(low, l.gpu_x[g]);
            high = std::max(high, l.gpu_x[g]);
            out += fmt::format("<path class=\"link\" stroke-width=\"2\" d=\"M{0:.0f} {1:.0f}V{2:.0f}\"/>", l.gpu_x[g],
                               l.top, l.top - 18);
        }
        out += fmt::format("<rect class=\"island\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"22\" rx=\"6\"/>",
                           low - device_w / 2, l.top - 40, high - low + device_w);
        const std::string kind = h.gpu_links.empty() ? "island" : topo::text_of(h.gpu_links(island[0], island[1]));
        out += text_at((low + high) / 2, l.top - 25, "strong",
                       island.size() > 2 ? fmt::format("{} between all {}", kind, island.size()) : kind);
    }
    return out;
}

std::string gpu_box(const topo::node_class& h, std::size_t i, const layout& l, const node_marks& marks) {
    const topo::gpu& g = h.gpus[i];
    const bool taken = marks.job && (marks.taken >> i & 1) != 0;
    const bool busy = marks.job && !taken && (marks.free >> i & 1) == 0;
    std::string tip = g.name + (g.model.empty() ? "" : ", " + g.model) + (g.pci ? ", " + g.pci->text() : "");
    if (taken) tip += ", taken by the job";
    if (busy) tip += ", not free";
    std::string out = fmt::format(
        "<g><title>{}</title><rect class=\"{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" "
        "rx=\"7\"/>",
        html(tip),
        taken  ? "gpu taken"
        : busy ? "gpu busy"
               : "gpu",
        l.gpu_x[i] - device_w / 2, l.top, device_w, device_h);
    const std::string_view ink = taken ? "strong on-taken" : "strong";
    const std::string second = taken && i < marks.labels.size() ? marks.labels[i] : busy ? "busy" : "";
    if (second.empty()) return out + text_at(l.gpu_x[i], l.top + 26, ink, shorten(g.name, 8)) + "</g>";
    return out + text_at(l.gpu_x[i], l.top + 18, ink, shorten(g.name, 8)) +
           text_at(l.gpu_x[i], l.top + 34, taken ? "small on-taken" : "small soft", second) + "</g>";
}

std::string nic_box(const topo::nic& n, double x, double y) {
    const std::string speed = n.gb_per_s ? short_number(*n.gb_per_s) + " GB/s" : "speed unknown";
    return fmt::format(
               "<g><title>{}</title><rect class=\"nic{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"36\" "
               "rx=\"7\"/>",
               html(n.name + (n.model.empty() ? "" : ", " + n.model) + ", " + speed +
                    (n.compute ? "" : ", not for compute")),
               n.compute ? "" : " off", x - device_w / 2, y, device_w) +
           text_at(x, y + 15, "small strong", shorten(n.name, 10)) +
           text_at(x, y + 28, "small soft", n.gb_per_s ? speed : "? GB/s") + "</g>";
}

std::string numa_box(const topo::node_class& h, const column& c, double y, double height) {
    std::string label = c.numa == topo::unknown_numa ? "NUMA unknown" : fmt::format("NUMA {}", c.numa);
    for (const topo::numa_node& n : h.numa)
        if (n.id == c.numa && !n.cpus.empty()) label += "  CPUs " + n.cpus.text();
    return fmt::format(
               "<rect class=\"numa{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"10\"/>",
               c.numa == topo::unknown_numa ? " off" : "", c.x, y, c.width, height) +
           text_at(c.x + 10, y + height - 9, "soft small", shorten(label, static_cast<std::size_t>(c.width / 6.2)),
                   "start");
}

}  // namespace

std::string node_picture(const topo::node_class& h, const node_marks& marks) {
    if (h.gpus.empty() && h.nics.empty()) return {};
    layout l = arrange(h);
    const std::vector<topo::gpu_mask> parts = topo::islands(h);
    l.top = std::max(48.0, arc_height(h, l, parts) + 24);
    const double nic_y = l.top + nic_drop;
    const double box_height = (h.nics.empty() ? device_h : nic_drop + 36) + 40;
    l.height = l.top - 8 + box_height + 6;
    std::string out = fmt::format(
        "<div class=\"picture\"><svg role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} {1:.0f}\">"
        "<title>{2}</title>",
        l.width, l.height, html("Devices of " + h.name + ": " + hardware_line(h)));
    for (const column& c : l.columns) out += numa_box(h, c, l.top - 8, box_height);
    const std::vector<int> nearest = topo::nearest_nics(h);
    for (std::size_t g = 0; g < nearest.size(); ++g)
        if (nearest[g] >= 0)
            out += fmt::format("<path class=\"near\" d=\"M{:.0f} {:.0f}L{:.0f} {:.0f}\"/>", l.gpu_x[g],
                               l.top + device_h, l.nic_x[static_cast<std::size_t>(nearest[g])], nic_y);
    out += islands_drawn(h, l, parts);
    for (std::size_t g = 0; g < h.gpus.size(); ++g) out += gpu_box(h, g, l, marks);
    for (std::size_t n = 0; n < h.nics.size(); ++n) out += nic_box(h.nics[n], l.nic_x[n], nic_y);
    return out + "</svg></div>\n";
}

}  // namespace cli::render

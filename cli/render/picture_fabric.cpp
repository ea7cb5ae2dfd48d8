// SPDX-License-Identifier: Apache-2.0
// The picture of a fabric: groups of each level from the roots down to the leaves.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/render/facts.hpp"
#include "cli/render/page_parts.hpp"
#include "cli/render/text.hpp"
#include "topo/hostlist.hpp"

namespace cli::render {
namespace {

constexpr std::size_t leaves_drawn = 24;
constexpr double leaf_w = 108;
constexpr double leaf_h = 54;
constexpr double slot = 122;
constexpr double level_h = 88;
constexpr double switch_w = 92;
constexpr double switch_h = 30;

std::string text_at(double x, double y, std::string_view classes, std::string_view text) {
    return fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"middle\" class=\"{}\">{}</text>", x, y, classes,
                       html(text));
}

struct drawing {
    const topo::fabric& f;
    const std::vector<std::string>& names;
    std::vector<topo::group_id> leaves;                      // drawn ones
    std::map<std::pair<int, std::uint32_t>, double> centre;  // (level, group)
    double width = 0;

    [[nodiscard]] double y_of(int level) const { return 14 + (f.levels() - 1 - level) * level_h; }
};

std::string hosts_of(const drawing& d, topo::group_id leaf) {
    std::vector<std::string> hosts;
    for (const topo::node_id n : d.f.nodes(0, leaf))
        if (n.value < d.names.size()) hosts.push_back(d.names[n.value]);
    return topo::compress_hostlist(hosts);
}

// Leaves left to right; every switch stands over the middle of the drawn groups below it.
void place_groups(drawing& d) {
    for (std::size_t i = 0; i < d.leaves.size(); ++i)
        d.centre[{0, d.leaves[i].value}] = 10 + slot / 2 + static_cast<double>(i) * slot;
    for (int level = 1; level < d.f.levels(); ++level)
        for (std::uint32_t g = 0; g < d.f.groups(level); ++g) {
            double sum = 0;
            int n = 0;
            for (const topo::group_id child : d.f.children(level, topo::group_id(g)))
                if (const auto at = d.centre.find({level - 1, child.value}); at != d.centre.end()) {
                    sum += at->second;
                    ++n;
                }
            if (n > 0) d.centre[{level, g}] = sum / n;
        }
}

std::string lines(const drawing& d) {
    std::string out;
    for (const auto& [at, x] : d.centre) {
        const auto [level, group] = at;
        const topo::group_id up =
            level + 1 < d.f.levels() ? d.f.parent(level, topo::group_id(group)) : topo::group_id{};
        if (!up.valid()) continue;
        const auto parent = d.centre.find({level + 1, up.value});
        if (parent == d.centre.end()) continue;
        const double bottom = d.y_of(level + 1) + switch_h;
        const double top = d.y_of(level);
        out +=
            fmt::format("<path class=\"tree\" d=\"M{0:.0f} {1:.0f}C{0:.0f} {2:.0f} {3:.0f} {2:.0f} {3:.0f} {4:.0f}\"/>",
                        parent->second, bottom, (bottom + top) / 2, x, top);
    }
    return out;
}

std::string leaf_box(const drawing& d, topo::group_id leaf, std::size_t used) {
    const double x = d.centre.at({0, leaf.value});
    const double y = d.y_of(0);
    const std::string hosts = hosts_of(d, leaf);
    const std::size_t n = d.f.nodes(0, leaf).size();
    const std::string_view ink = used > 0 ? "on-taken" : "";
    return fmt::format(
               "<g><title>{}</title><rect class=\"leaf{}\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
               "height=\"{:.0f}\" rx=\"8\"/>",
               html(fmt::format("{}: {}", d.f.name(0, leaf), hosts)), used > 0 ? " taken" : "", x - leaf_w / 2, y,
               leaf_w, leaf_h) +
           text_at(x, y + 16, fmt::format("strong {}", ink), shorten(d.f.name(0, leaf), 15)) +
           text_at(x, y + 31, fmt::format("small {}", ink), shorten(hosts, 18)) +
           text_at(x, y + 45, used > 0 ? "small on-taken" : "small soft",
                   used > 0 ? fmt::format("{} of {} nodes", used, n) : counted(n, "node")) +
           "</g>";
}

std::string switch_box(const drawing& d, int level, std::uint32_t g, double x) {
    const std::string_view name = d.f.name(level, topo::group_id(g));
    return fmt::format(
               "<g><title>{}</title><rect class=\"switch\" x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
               "height=\"{:.0f}\" rx=\"8\"/>",
               html(fmt::format("{}, {}", name, level_name(level, d.f))), x - switch_w / 2, d.y_of(level), switch_w,
               switch_h) +
           text_at(x, d.y_of(level) + 19, "strong", shorten(name, 13)) + "</g>";
}

// Leaves with used nodes first come first served, so that a job's leaves are always drawn.
std::vector<topo::group_id> choose_leaves(const topo::fabric& f, const std::map<std::uint32_t, std::size_t>& used) {
    std::set<std::uint32_t> chosen;
    for (const auto& [leaf, n] : used)
        if (chosen.size() < leaves_drawn) chosen.insert(leaf);
    for (std::uint32_t g = 0; g < f.groups(0) && chosen.size() < leaves_drawn; ++g) chosen.insert(g);
    // In the order of the tree: a leaf's parent decides before its own number.
    std::vector<topo::group_id> out;
    for (const std::uint32_t g : chosen) out.emplace_back(g);
    auto path = [&](topo::group_id g) {
        std::vector<std::uint32_t> up{g.value};
        for (int level = 0; level + 1 < f.levels() && g.valid(); ++level) {
            g = f.parent(level, g);
            up.insert(up.begin(), g.value);
        }
        return up;
    };
    std::sort(out.begin(), out.end(), [&](topo::group_id a, topo::group_id b) { return path(a) < path(b); });
    return out;
}

}  // namespace

std::string fabric_picture(const topo::fabric& f, const std::vector<std::string>& node_names,
                           const std::vector<topo::node_id>& used) {
    if (f.form() == topo::fabric_form::unknown || f.levels() == 0 || f.groups(0) == 0) return {};
    std::map<std::uint32_t, std::size_t> used_leaves;
    for (const topo::node_id n : used)
        if (const topo::group_id leaf = f.group_of(n, 0); leaf.valid()) ++used_leaves[leaf.value];
    drawing d{f, node_names, choose_leaves(f, used_leaves), {}, 0};
    place_groups(d);
    d.width = 20 + slot * static_cast<double>(d.leaves.size());
    const double height = d.y_of(0) + leaf_h + 12;
    std::string out = fmt::format(
        "<div class=\"picture\"><svg role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\"><title>{2}</title>",
        d.width, height,
        html(fmt::format("Fabric: {} over {}", topo::name_of(f.form()), counted_leaves(f.groups(0), f))));
    out += lines(d);
    for (const auto& [at, x] : d.centre)
        if (at.first > 0) out += switch_box(d, at.first, at.second, x);
    for (const topo::group_id leaf : d.leaves) {
        const auto found = used_leaves.find(leaf.value);
        out += leaf_box(d, leaf, found == used_leaves.end() ? 0 : found->second);
    }
    out += "</svg></div>\n";
    if (f.groups(0) > d.leaves.size())
        out += fmt::format("<p class=\"sub\">{} of {} leaves are drawn; the table below counts all.</p>\n",
                           d.leaves.size(), f.groups(0));
    return out;
}

}  // namespace cli::render

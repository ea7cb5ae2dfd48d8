// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "cli/render/facts.hpp"
#include "cli/render/page.hpp"
#include "cli/render/page_parts.hpp"
#include "cli/render/text.hpp"

namespace cli::render {
namespace {

struct span_of_costs {
    double least = std::numeric_limits<double>::infinity();
    double most = 0;
};

span_of_costs bandwidths(const topo::cost_layer& layer) {
    span_of_costs s;
    for (const topo::cost& c : layer.cells.cells()) {
        if (!c.present()) continue;
        s.least = std::min(s.least, c.gb_per_s);
        s.most = std::max(s.most, c.gb_per_s);
    }
    return s;
}

std::string islands_value(const std::vector<topo::gpu_mask>& parts) {
    std::string text;
    for (const topo::gpu_mask part : parts) text += fmt::format("{{{}}} ", gpus_text(part));
    return text;
}

std::vector<tile> class_tiles(const topo::node_class& h) {
    std::vector<tile> all;
    all.push_back({"GPUs", std::to_string(h.gpus.size()), h.gpus.empty() ? "" : h.gpus.front().model});
    all.push_back({"NICs", std::to_string(h.nics.size()), h.nics.empty() ? "none in the input" : h.nics.front().model});
    if (!h.gpus.empty()) {
        const auto parts = topo::islands(h);
        all.push_back({"Islands", std::to_string(parts.size()), islands_value(parts)});
    }
    for (const auto& [from, to, label] : {std::tuple{topo::endpoint::gpu, topo::endpoint::gpu, "GPU to GPU"},
                                          std::tuple{topo::endpoint::gpu, topo::endpoint::nic, "GPU to NIC"}}) {
        const topo::cost_layer* layer = h.best_layer(from, to);
        if (layer == nullptr) continue;
        const span_of_costs s = bandwidths(*layer);
        if (s.most > 0)
            all.push_back({fmt::format("{}, slowest", label), short_number(s.least) + " GB/s",
                           fmt::format("fastest {} GB/s, {}", short_number(s.most), topo::name_of(layer->by))});
    }
    return all;
}

std::string both_maps(const topo::node_class& h, const topo::cost_layer& layer) {
    return heat_map(h, &layer, heat_of(h, layer, quantity::bandwidth)) +
           heat_map(h, &layer, heat_of(h, layer, quantity::latency));
}

std::string maps(const topo::node_class& h, const class_view& view) {
    std::string used;
    std::string others;
    for (const topo::cost_layer& layer : h.layers) {
        const bool first = view.engine ? layer.by == *view.engine : used_by_placement(h, layer);
        (first ? used : others) += both_maps(h, layer);
    }
    std::string out;
    if (!used.empty())
        out +=
            "<h3>What moving bytes costs</h3>\n<p class=\"sub\">The costs that placement uses. Strong colour is fast; "
            "point "
            "at a cell for its samples and source.</p>\n<div class=\"maps\">\n" +
            used + "</div>\n";
    if (!h.gpu_links.empty())
        out += "<h3>How devices are joined</h3>\n<div class=\"maps\">\n" + heat_map(h, nullptr, heat_of_links(h)) +
               "</div>\n";
    if (!others.empty())
        out += "<details><summary>Costs of other engines and directions</summary>\n<div class=\"maps\">\n" + others +
               "</div></details>\n";
    return out;
}

std::string gpu_rows(const topo::node_class& h) {
    const std::vector<int> nearest = topo::nearest_nics(h);
    std::vector<std::vector<std::string>> rows;
    for (std::size_t i = 0; i < h.gpus.size(); ++i) {
        const topo::gpu& g = h.gpus[i];
        const int nic = i < nearest.size() ? nearest[i] : -1;
        rows.push_back({g.name, g.model.empty() ? "unknown" : g.model, g.pci ? g.pci->text() : "unknown",
                        numa_text(g.numa), g.cpus.empty() ? "unknown" : g.cpus.text(),
                        nic < 0 ? "none" : h.nics[static_cast<std::size_t>(nic)].name});
    }
    return data_table("GPUs", {"GPU", "model", "PCI", "NUMA", "CPUs", "nearest NIC"}, rows);
}

std::string nic_rows(const topo::node_class& h) {
    if (h.nics.empty()) return {};
    const std::vector<int> nearest = topo::nearest_nics(h);
    std::vector<std::vector<std::string>> rows;
    for (std::size_t n = 0; n < h.nics.size(); ++n) {
        const topo::nic& nic = h.nics[n];
        topo::gpu_mask served = 0;
        for (std::size_t g = 0; g < nearest.size(); ++g)
            if (nearest[g] == static_cast<int>(n)) served |= topo::gpu_mask{1} << g;
        rows.push_back({nic.name, nic.model.empty() ? "unknown" : nic.model, nic.pci ? nic.pci->text() : "unknown",
                        numa_text(nic.numa), nic.rail < 0 ? "–" : std::to_string(nic.rail),
                        nic.gb_per_s ? short_number(*nic.gb_per_s) + " GB/s" : "unknown",
                        served != 0   ? "GPU " + gpus_text(served)
                        : nic.compute ? "–"
                                      : "not for compute"});
    }
    return data_table("NICs", {"NIC", "model", "PCI", "NUMA", "rail", "port speed", "nearest to"}, rows);
}

std::string sources_table(const topo::node_class& h) {
    std::vector<std::vector<std::string>> rows;
    for (const topo::source s : {topo::source::measured, topo::source::class_, topo::source::composed,
                                 topo::source::imported, topo::source::estimated, topo::source::simulated})
        if (uses(h, s)) rows.push_back({std::string(topo::name_of(s)), std::string(meaning_of(s))});
    if (rows.empty()) return {};
    return "<h3>Where the figures come from</h3>\n<p class=\"sub\">" + html(sources_line(h)) + "</p>\n" +
           data_table("", {"source", "meaning"}, rows);
}

std::string class_section(const topo::node_class& h, const class_view& view) {
    std::string out = fmt::format("<section>\n<h2>{}</h2>\n", html(view.title));
    std::string sub = hardware_line(h);
    if (!view.hosts.empty() && view.hosts != view.title)
        sub = fmt::format("{} ({}): {}", view.hosts, counted(view.host_count, "node"), sub);
    if (const std::string made = provenance_line(h.made_by); !made.empty()) sub += " · " + made;
    out += fmt::format("<p class=\"sub\">{}</p>\n", html(sub));
    out += remark_boxes(h) + tiles(class_tiles(h)) + node_picture(h, {});
    out += maps(h, view);
    if (!h.gpus.empty()) out += "<h3>Devices</h3>\n" + gpu_rows(h) + "<br>" + nic_rows(h);
    return out + sources_table(h) + "</section>\n";
}

std::string fabric_section(const topo::fabric& f, const std::vector<std::string>& names) {
    std::string out = fmt::format("<section>\n<h2>Fabric</h2>\n<p class=\"sub\">{}, {}</p>\n", topo::name_of(f.form()),
                                  counted(names.size(), "node"));
    if (f.form() == topo::fabric_form::unknown)
        return out +
               "<p class=\"box\"><b>UNKNOWN</b> Which switches join the nodes is not known; give topology.conf or "
               "ibnetdiscover "
               "output to atoll merge --fabric.</p>\n</section>\n";
    out += fabric_picture(f, names, {});
    std::vector<std::vector<std::string>> rows;
    if (is_grid(f)) {
        for (const hop_row& row : hops_of(f))
            rows.push_back({range_text(static_cast<std::size_t>(row.least), static_cast<std::size_t>(row.most)),
                            short_number(row.each.gb_per_s), short_number(row.each.alpha_us),
                            std::string(topo::name_of(row.each.from))});
        return out + "<p class=\"sub\">" + html(grid_line(f)) + "</p>\n" +
               data_table("", {"hops", "GB/s", "µs", "source"}, rows) + "</section>\n";
    }
    const auto levels = levels_of(f);
    for (const level_row& row : levels)
        rows.push_back({level_name(row.level, f), std::to_string(row.groups),
                        range_text(row.least_nodes, row.most_nodes),
                        row.level + 1 == f.levels() ? "–" : uplink_text(row.least_uplink, row.most_uplink),
                        short_number(row.across.gb_per_s), short_number(row.across.alpha_us),
                        std::string(topo::name_of(row.across.from))});
    out += data_table("", {"level", "groups", "nodes each", "uplink GB/s", "across it GB/s", "across it µs", "source"},
                      rows);
    if (!levels.empty() && levels.back().groups > 1)
        out += fmt::format(
            "<p class=\"box\" role=\"note\"><b>NOT JOINED</b> {} that do not meet: a job never spans them.</p>\n",
            counted(levels.back().groups, "fabric"));
    return out + "</section>\n";
}

}  // namespace

std::string report_page(const page_subject& s) {
    std::string body = "<section>\n<h2>Findings</h2>\n" + findings_list(s.notes) + "</section>\n";
    if (s.classes.size() > 1) {
        std::vector<std::vector<std::string>> rows;
        for (const auto& c : s.classes)
            rows.push_back({c.view.title, std::to_string(c.view.host_count), c.view.hosts, hardware_line(*c.hardware),
                            std::string(topo::name_of(c.hardware->worst_source()))});
        body += "<section>\n<h2>Node classes</h2>\n" +
                data_table("", {"class", "nodes", "hosts", "hardware", "worst source"}, rows) + "</section>\n";
    }
    for (const auto& c : s.classes) body += class_section(*c.hardware, c.view);
    const bool show_fabric =
        s.fabric != nullptr && (s.fabric->form() != topo::fabric_form::unknown || s.node_names.size() > 1);
    if (show_fabric) body += fabric_section(*s.fabric, s.node_names);
    std::string what = s.kind;
    if (!s.node_names.empty()) what += ", " + counted(s.node_names.size(), "node");
    if (!s.classes.empty()) what += ", " + counted(s.classes.size(), "node class", "node classes");
    return page(s.name, what, body);
}

}  // namespace cli::render

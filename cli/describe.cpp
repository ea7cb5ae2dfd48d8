// SPDX-License-Identifier: Apache-2.0
#include "cli/describe.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/render/facts.hpp"
#include "topo/file.hpp"
#include "topo/hostlist.hpp"

namespace cli {
namespace {

std::string_view name_of(topo::endpoint e) {
    return e == topo::endpoint::gpu ? "gpu" : e == topo::endpoint::nic ? "nic" : "host";
}

json text_or_null(const std::string& text) { return text.empty() ? json() : json(text); }

json finite_or_null(double value) { return std::isfinite(value) ? json(value) : json(); }

// One number (or word) of every cell, row by row; null where there is no cost.
template <class Read>
json cells_json(const topo::matrix<topo::cost>& cells, Read read) {
    json rows = json::array();
    for (std::size_t r = 0; r < cells.rows(); ++r) {
        json row = json::array();
        for (std::size_t c = 0; c < cells.columns(); ++c)
            row.push_back(cells(r, c).present() ? json(read(cells(r, c))) : json());
        rows.push_back(std::move(row));
    }
    return rows;
}

json links_json(const topo::matrix<topo::link>& links) {
    json rows = json::array();
    for (std::size_t r = 0; r < links.rows(); ++r) {
        json row = json::array();
        for (std::size_t c = 0; c < links.columns(); ++c) row.push_back(topo::text_of(links(r, c)));
        rows.push_back(std::move(row));
    }
    return rows;
}

json layer_json(const topo::cost_layer& layer) {
    return {{"from", name_of(layer.from)},
            {"to", name_of(layer.to)},
            {"engine", topo::name_of(layer.by)},
            {"loaded", layer.loaded},
            {"gb_per_s", cells_json(layer.cells, [](const topo::cost& c) { return c.gb_per_s; })},
            {"alpha_us", cells_json(layer.cells, [](const topo::cost& c) { return c.alpha_us; })},
            {"source", cells_json(layer.cells, [](const topo::cost& c) { return topo::name_of(c.from); })},
            {"alpha_source", cells_json(layer.cells, [](const topo::cost& c) { return topo::name_of(c.alpha_from); })}};
}

json sources_json(const topo::node_class& h) {
    json out = json::object();
    for (const topo::cost_layer& layer : h.layers)
        for (const topo::cost& c : layer.cells.cells()) {
            if (!c.present()) continue;
            json& n = out[std::string(topo::name_of(c.from))];
            n = n.is_null() ? 1 : n.get<int>() + 1;
        }
    return out;
}

json devices_json(const topo::node_class& h, json out) {
    const std::vector<int> nearest = topo::nearest_nics(h);
    out["gpus"] = json::array();
    for (std::size_t i = 0; i < h.gpus.size(); ++i) {
        const topo::gpu& g = h.gpus[i];
        const bool has_nic = i < nearest.size() && nearest[i] >= 0;
        out["gpus"].push_back(
            {{"index", i},
             {"name", g.name},
             {"model", text_or_null(g.model)},
             {"pci", g.pci ? json(g.pci->text()) : json()},
             {"numa", known_or_null(g.numa)},
             {"cpus", text_or_null(g.cpus.text())},
             {"nearest_nic", has_nic ? json(h.nics[static_cast<std::size_t>(nearest[i])].name) : json()}});
    }
    out["nics"] = json::array();
    for (const topo::nic& n : h.nics)
        out["nics"].push_back({{"name", n.name},
                               {"model", text_or_null(n.model)},
                               {"pci", n.pci ? json(n.pci->text()) : json()},
                               {"numa", known_or_null(n.numa)},
                               {"rail", known_or_null(n.rail)},
                               {"gb_per_s", n.gb_per_s ? json(*n.gb_per_s) : json()},
                               {"compute", n.compute}});
    out["numa"] = json::array();
    for (const topo::numa_node& n : h.numa)
        out["numa"].push_back({{"id", n.id}, {"cpus", text_or_null(n.cpus.text())}});
    return out;
}

}  // namespace

json known_or_null(int value) { return value < 0 ? json() : json(value); }

json gpus_json(topo::gpu_mask mask) {
    json out = json::array();
    for (unsigned i = 0; i < topo::max_gpus_per_node; ++i)
        if ((mask >> i & 1) != 0) out.push_back(i);
    return out;
}

json to_json(const topo::node_class& h, std::optional<topo::engine> engine) {
    json out = devices_json(h, {{"name", h.name}});
    out["cores"] = h.cores > 0 ? json(h.cores) : json();
    out["islands"] = json::array();
    for (const topo::gpu_mask island : topo::islands(h)) out["islands"].push_back(gpus_json(island));
    out["locality_trusted"] = h.locality_trusted;
    out["simulated"] = h.simulated();
    out["sources"] = sources_json(h);
    out["made_by"] = {
        {"tool", text_or_null(h.made_by.tool)},         {"driver", text_or_null(h.made_by.driver)},
        {"firmware", text_or_null(h.made_by.firmware)}, {"host", text_or_null(h.made_by.host)},
        {"input", text_or_null(h.made_by.input)},       {"time", h.made_by.time != 0 ? json(h.made_by.time) : json()}};
    out["gpu_links"] = links_json(h.gpu_links);
    out["nic_links"] = links_json(h.nic_links);
    out["layers"] = json::array();
    for (const topo::cost_layer& layer : h.layers)
        if (!engine || layer.by == *engine) out["layers"].push_back(layer_json(layer));
    return out;
}

json node_file_json(const topo::node_description& n) { return json::parse(topo::write_node(n)); }

json to_json(const topo::fabric_description& f) {
    json out = {{"form", topo::name_of(f.form)}};
    out["switches"] = json::array();
    for (const topo::switch_description& s : f.switches)
        out["switches"].push_back({{"name", s.name},
                                   {"switches", s.switches},
                                   {"nodes", topo::compress_hostlist(s.nodes)},
                                   {"uplink_gb_per_s", s.uplink_gb_per_s ? json(*s.uplink_gb_per_s) : json()},
                                   {"domain", text_or_null(s.domain)}});
    out["block_sizes"] = f.block_sizes;
    out["level_costs"] = json::array();
    for (const topo::cost& c : f.level_costs)
        out["level_costs"].push_back(
            {{"gb_per_s", c.gb_per_s}, {"alpha_us", c.alpha_us}, {"source", topo::name_of(c.from)}});
    return out;
}

json to_json(const topo::fabric& f) {
    json out = {{"form", topo::name_of(f.form())}};
    if (render::is_grid(f)) {
        out["dims"] = json::array();
        for (const auto n : f.dims()) out["dims"].push_back(n);
        out["hops"] = json::array();
        for (const render::hop_row& row : render::hops_of(f))
            out["hops"].push_back({{"hops_least", row.least},
                                   {"hops_most", row.most},
                                   {"gb_per_s", row.each.gb_per_s},
                                   {"alpha_us", row.each.alpha_us},
                                   {"source", topo::name_of(row.each.from)}});
    }
    out["levels"] = json::array();
    for (const render::level_row& row : render::levels_of(f))
        out["levels"].push_back({{"level", row.level},
                                 {"name", render::level_name(row.level, f)},
                                 {"groups", row.groups},
                                 {"nodes_least", row.least_nodes},
                                 {"nodes_most", row.most_nodes},
                                 {"uplink_gb_per_s_least", finite_or_null(row.least_uplink)},
                                 {"uplink_gb_per_s_most", finite_or_null(row.most_uplink)},
                                 {"gb_per_s", row.across.present() ? json(row.across.gb_per_s) : json()},
                                 {"alpha_us", row.across.present() ? json(row.across.alpha_us) : json()},
                                 {"source", row.across.present() ? json(topo::name_of(row.across.from)) : json()}});
    return out;
}

json nodes_json(const topo::cluster_description& c) {
    json out = json::array();
    for (const auto& entry : c.nodes)
        out.push_back({{"class", entry.class_name},
                       {"hosts", topo::compress_hostlist(entry.nodes)},
                       {"count", entry.nodes.size()}});
    return out;
}

}  // namespace cli

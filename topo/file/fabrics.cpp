// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <limits>

#include "topo/fabric_check.hpp"
#include "topo/file/model.hpp"
#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo::file {
namespace {

value from_switch(const switch_description& s) {
    value v = new_map(layout::flow);
    v.add("name", of_text(s.name));
    if (!s.switches.empty()) v.add("switches", of_text(compress_hostlist(s.switches)));
    if (!s.nodes.empty()) v.add("nodes", of_text(compress_hostlist(s.nodes)));
    if (s.uplink_gb_per_s) v.add("uplink_gb_per_s", of_number(*s.uplink_gb_per_s));
    if (!s.domain.empty()) v.add("domain", of_text(s.domain));
    if (s.in_network_reduction) v.add("in_network_reduction", of_boolean(*s.in_network_reduction));
    return v;
}

switch_description to_switch(const value& v, faults& out) {
    fields f(v, "a switch", out);
    switch_description s;
    s.where = out.place(v.line);
    if (const value* name = f.need("name")) s.name = as_text(*name, "name of a switch", out);
    if (const value* list = f.find("switches")) s.switches = as_hosts(*list, "switches of " + shown(s.name), out);
    if (const value* list = f.find("nodes")) s.nodes = as_hosts(*list, "nodes of " + shown(s.name), out);
    if (const value* up = f.find("uplink_gb_per_s"))
        s.uplink_gb_per_s = as_number(*up, f.title_of("uplink_gb_per_s"), out);
    f.read("domain", s.domain);
    if (const value* reduces = f.find("in_network_reduction"))
        s.in_network_reduction = as_boolean(*reduces, f.title_of("in_network_reduction"), out);
    f.finish();
    return s;
}

value from_numbers(const std::vector<std::uint32_t>& numbers) {
    value v = new_sequence(layout::flow);
    for (const std::uint32_t n : numbers) v.items.push_back(of_integer(n));
    return v;
}

std::vector<std::uint32_t> to_numbers(const value& v, std::string_view title, std::int64_t least, std::int64_t most,
                                      faults& out) {
    std::vector<std::uint32_t> numbers;
    for (const auto& n : as_items(v, title, out))
        numbers.push_back(static_cast<std::uint32_t>(as_integer(n, title, least, most, out)));
    return numbers;
}

value from_run(const grid_run& r) {
    value v = new_map(layout::flow);
    if (!r.at.empty()) v.add("at", from_numbers(r.at));
    v.add("nodes", of_text(compress_hostlist(r.nodes)));
    return v;
}

grid_run to_run(const value& v, faults& out) {
    fields f(v, "a run of the grid", out);
    grid_run r;
    r.where = out.place(v.line);
    if (const value* at = f.find("at")) r.at = to_numbers(*at, "a coordinate of the grid", 0, max_hosts, out);
    if (const value* list = f.need("nodes")) r.nodes = as_hosts(*list, "nodes of the grid", out);
    f.finish();
    return r;
}

// dims, grid and what else a fabric without switches has.
void to_grid(fields& f, fabric_description& d, faults& out) {
    if (const value* dims = f.find("dims")) d.dims = to_numbers(*dims, "a size of dims", 0, max_hosts, out);
    std::size_t total = 0;
    if (const value* grid = f.find("grid"))
        for (const auto& r : as_items(*grid, "grid of the fabric", out)) {
            if (out.any()) break;
            d.grid.push_back(to_run(r, out));
            total += d.grid.back().nodes.size();
            if (total > max_hosts)
                out.report(r.line, fmt::format("the grid names more than {} nodes", max_hosts), "check the host lists",
                           errc::limit);
        }
    if (const value* link = f.find("link_gb_per_s"))
        d.link_gb_per_s = as_number(*link, f.title_of("link_gb_per_s"), out);
}

}  // namespace

value from_fabric(const fabric_description& d) {
    value v = new_map();
    v.add("form", of_text(name_of(d.form)));
    if (!d.block_sizes.empty()) v.add("block_sizes", from_numbers(d.block_sizes));
    if (!d.dims.empty()) v.add("dims", from_numbers(d.dims));
    if (d.link_gb_per_s) v.add("link_gb_per_s", of_number(*d.link_gb_per_s));
    if (d.spare_nodes > 0) v.add("spare_nodes", of_integer(d.spare_nodes));
    if (d.in_network_reduction) v.add("in_network_reduction", of_boolean(true));
    if (!d.level_costs.empty()) {
        value costs = new_sequence();
        for (const auto& c : d.level_costs) costs.items.push_back(from_cost(c));
        v.add("level_costs", std::move(costs));
    }
    if (!d.switches.empty()) {
        value switches = new_sequence();
        for (const auto& s : d.switches) switches.items.push_back(from_switch(s));
        v.add("switches", std::move(switches));
    }
    if (!d.grid.empty()) {
        value runs = new_sequence();
        for (const auto& r : d.grid) runs.items.push_back(from_run(r));
        v.add("grid", std::move(runs));
    }
    return v;
}

fabric_description to_fabric(const value& v, faults& out) {
    fields f(v, "the fabric", out);
    fabric_description d;
    if (const value* form = f.need("form")) {
        const std::string text = as_text(*form, "form of the fabric", out);
        if (const auto known = fabric_form_named(text))
            d.form = *known;
        else
            out.report(form->line, fmt::format("unknown fabric form '{}'", shown(text)),
                       "write tree, block, nvlink-domain, rail-optimised, dragonfly, torus, hypercube or unknown");
    }
    if (const value* sizes = f.find("block_sizes")) d.block_sizes = to_numbers(*sizes, "a block size", 1, 1 << 20, out);
    if (const value* spare = f.find("spare_nodes"))
        d.spare_nodes = static_cast<std::uint32_t>(as_integer(*spare, f.title_of("spare_nodes"), 0, max_hosts, out));
    f.read("in_network_reduction", d.in_network_reduction);
    to_grid(f, d, out);
    if (const value* costs = f.find("level_costs"))
        for (const auto& c : as_items(*costs, "level_costs", out))
            d.level_costs.push_back(to_cost(c, fmt::format("level {} of level_costs", d.level_costs.size()), out));
    std::size_t total = 0;
    if (const value* switches = f.find("switches"))
        for (const auto& s : as_items(*switches, "switches of the fabric", out)) {
            if (out.any()) break;
            d.switches.push_back(to_switch(s, out));
            total += d.switches.back().nodes.size() + d.switches.back().switches.size();
            if (total > 2 * max_hosts)
                out.report(s.line, fmt::format("the switches name more than {} nodes", 2 * max_hosts),
                           "check the host lists", errc::limit);
        }
    f.finish();
    if (out.any()) return d;
    if (const auto faults_found = faults_of(d); !faults_found.fatal.empty()) {
        const finding& first = faults_found.fatal.front();
        // The finding's own place is already "file:line"; name it in the text and give the line of the fabric.
        std::uint32_t line = v.line;
        for (std::size_t i = 0; i < d.switches.size(); ++i)
            if (d.switches[i].where == first.where) line = f.find("switches")->items[i].line;
        for (std::size_t i = 0; i < d.grid.size(); ++i)
            if (d.grid[i].where == first.where) line = f.find("grid")->items[i].line;
        out.report(line, first.what, first.remedy);
    }
    return d;
}

}  // namespace topo::file

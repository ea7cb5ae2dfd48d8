// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "topo/counted.hpp"
#include "topo/file/grid.hpp"
#include "topo/file/model.hpp"
#include "topo/quote.hpp"

namespace topo::file {
namespace {

void add_text(value& map, const char* key, const std::string& text) {
    if (!text.empty()) map.add(key, of_text(text));
}

void add_device(value& map, const std::string& model, const std::optional<pci_address>& pci, int numa) {
    add_text(map, "model", model);
    if (pci) map.add("pci", of_text(pci->text()));
    if (numa != unknown_numa) map.add("numa", of_integer(numa));
}

void read_pci(fields& f, std::optional<pci_address>& into, faults& out) {
    const value* v = f.find("pci");
    if (v == nullptr) return;
    const auto address = pci_address::parse(as_text(*v, f.title_of("pci"), out));
    if (address)
        into = *address;
    else
        out.report(v->line, f.title_of("pci") + ": " + address.failure().what, address.failure().remedy);
}

value from_gpu(const gpu& g) {
    value v = new_map(layout::flow);
    v.add("name", of_text(g.name));
    add_device(v, g.model, g.pci, g.numa);
    add_text(v, "cpus", g.cpus.text());
    add_text(v, "uuid", g.uuid);
    return v;
}

gpu to_gpu(const value& v, faults& out) {
    fields f(v, "a GPU", out);
    gpu g;
    if (const value* name = f.need("name")) g.name = as_text(*name, "name of a GPU", out);
    f.read("model", g.model);
    read_pci(f, g.pci, out);
    f.read("numa", g.numa, unknown_numa, 1 << 20);
    f.read("cpus", g.cpus);
    f.read("uuid", g.uuid);
    f.finish();
    return g;
}

value from_nic(const nic& n) {
    value v = new_map(layout::flow);
    v.add("name", of_text(n.name));
    add_device(v, n.model, n.pci, n.numa);
    if (n.rail != -1) v.add("rail", of_integer(n.rail));
    if (n.gb_per_s) v.add("gb_per_s", of_number(*n.gb_per_s));
    if (!n.compute) v.add("compute", of_boolean(false));
    add_text(v, "guid", n.guid);
    return v;
}

nic to_nic(const value& v, faults& out) {
    fields f(v, "a NIC", out);
    nic n;
    if (const value* name = f.need("name")) n.name = as_text(*name, "name of a NIC", out);
    f.read("model", n.model);
    read_pci(f, n.pci, out);
    f.read("numa", n.numa, unknown_numa, 1 << 20);
    f.read("rail", n.rail, -1, 1 << 20);
    if (const value* speed = f.find("gb_per_s")) n.gb_per_s = as_number(*speed, f.title_of("gb_per_s"), out);
    f.read("compute", n.compute);
    f.read("guid", n.guid);
    f.finish();
    return n;
}

value from_numa(const numa_node& n) {
    value v = new_map(layout::flow);
    v.add("id", of_integer(n.id));
    add_text(v, "cpus", n.cpus.text());
    return v;
}

numa_node to_numa(const value& v, faults& out) {
    fields f(v, "a NUMA node", out);
    numa_node n;
    if (const value* id = f.need("id")) n.id = static_cast<int>(as_integer(*id, "id of a NUMA node", 0, 1 << 20, out));
    f.read("cpus", n.cpus);
    f.finish();
    return n;
}

// Links from each GPU. A table of no cells keeps its shape: "[]".
void add_links(value& map, const char* key, const matrix<link>& links) {
    if (links.rows() == 0) return;
    map.add(key, links.empty() ? new_sequence(layout::flow)
                               : write_grid(links.rows(), links.columns(), false, [&](std::size_t r, std::size_t c) {
                                     return of_text(text_of(links(r, c)));
                                 }));
}

void read_links(fields& f, const char* key, std::size_t rows, std::size_t columns, matrix<link>& into, faults& out) {
    const value* v = f.find(key);
    if (v == nullptr || out.any()) return;
    into = matrix<link>(rows, columns);
    if (columns == 0 && v->is == kind::sequence && v->items.empty()) return;
    const std::string title = f.title_of(key);
    const bool square = std::string_view(key) == "gpu_links";
    // "X" is an ordinary word in a link table, so it is put back before the table is read.
    const std::vector<value>& lines = as_items(*v, title, out);
    if (!out.any() && lines.size() != rows)
        out.report(v->line, fmt::format("{} has {}, not {}", title, counted(lines.size(), "row"), rows),
                   "give one row a GPU");
    for (std::size_t r = 0; r < rows && !out.any(); ++r) {
        const std::vector<value> cells = row_cells(lines[r], title, out);
        if (!out.any() && cells.size() != columns)
            out.report(lines[r].line,
                       fmt::format("row {} of {} has {}, not {}", r + 1, title, counted(cells.size(), "cell"), columns),
                       "give one cell a device");
        for (std::size_t c = 0; c < columns && !out.any(); ++c) {
            const auto l = cells[c].is == kind::null ? link_named("X") : link_named(cells[c].text);
            if (!l || (l->kind == link_class::self) != (square && r == c))
                out.report(lines[r].line,
                           fmt::format("cell {} in row {} of {} is '{}'", c + 1, r + 1, title,
                                       cells[c].is == kind::null ? "X" : shown(cells[c].text)),
                           "write NV#, XGMI#, C2C, PIX, PXB, PHB, NODE, SYS or ?, and X on the diagonal");
            else
                into(r, c) = *l;
        }
    }
}

}  // namespace

value from_provenance(const provenance& p) {
    value v = new_map(layout::flow);
    add_text(v, "tool", p.tool);
    add_text(v, "driver", p.driver);
    add_text(v, "firmware", p.firmware);
    add_text(v, "host", p.host);
    add_text(v, "input", p.input);
    if (p.time != 0) v.add("time", of_time(p.time));
    return v;
}

provenance to_provenance(const value& v, faults& out) {
    fields f(v, "made_by", out);
    provenance p;
    f.read("tool", p.tool);
    f.read("driver", p.driver);
    f.read("firmware", p.firmware);
    f.read("host", p.host);
    f.read("input", p.input);
    f.read_time("time", p.time);
    f.finish();
    return p;
}

value from_class(const node_class& c, bool with_made_by) {
    value v = new_map();
    v.add("name", of_text(c.name));
    if (with_made_by && c.made_by != provenance{}) v.add("made_by", from_provenance(c.made_by));
    if (c.cores != 0) v.add("cores", of_integer(c.cores));
    if (c.threads_per_core != 0) v.add("threads_per_core", of_integer(c.threads_per_core));
    if (!c.locality_trusted) v.add("locality_trusted", of_boolean(false));
    const auto list = [&](const char* key, const auto& devices, auto make) {
        if (devices.empty()) return;
        value items = new_sequence();
        for (const auto& d : devices) items.items.push_back(make(d));
        v.add(key, std::move(items));
    };
    list("numa", c.numa, from_numa);
    list("gpus", c.gpus, from_gpu);
    list("nics", c.nics, from_nic);
    add_links(v, "gpu_links", c.gpu_links);
    add_links(v, "nic_links", c.nic_links);
    if (!c.layers.empty()) v.add("costs", from_layers(c));
    return v;
}

node_class to_class(const value& v, faults& out) {
    node_class c;
    fields f(v, "a class", out);
    if (const value* name = f.need("name")) c.name = as_text(*name, "name of a class", out);
    if (const value* by = f.find("made_by")) c.made_by = to_provenance(*by, out);
    f.read("cores", c.cores, 0, 1 << 20);
    f.read("threads_per_core", c.threads_per_core, 0, 1024);
    f.read("locality_trusted", c.locality_trusted);
    const auto list = [&](const char* key, auto& devices, std::size_t most, auto make) {
        const value* items = f.find(key);
        if (items == nullptr) return;
        const auto& all = as_items(*items, f.title_of(key), out);
        if (all.size() > most)
            return out.report(
                items->line,
                fmt::format("class {} has {} {}; at most {} are handled", shown(c.name), all.size(), key, most),
                "describe each host as a node of its own");
        for (const auto& item : all) devices.push_back(make(item, out));
    };
    list("numa", c.numa, 4096, to_numa);
    list("gpus", c.gpus, max_gpus_per_node, to_gpu);
    list("nics", c.nics, max_nics_per_node, to_nic);
    read_links(f, "gpu_links", c.gpus.size(), c.gpus.size(), c.gpu_links, out);
    read_links(f, "nic_links", c.gpus.size(), c.nics.size(), c.nic_links, out);
    const value* costs = f.find("costs");
    if (costs != nullptr && !out.any()) to_layers(*costs, c, out);
    f.finish();
    if (out.any()) return c;
    if (const findings found = check(c); !found.empty())
        out.report(v.line, found.front().where + ": " + found.front().what, found.front().remedy);
    return c;
}

}  // namespace topo::file

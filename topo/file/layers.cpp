// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "topo/file/grid.hpp"
#include "topo/file/model.hpp"
#include "topo/quote.hpp"

namespace topo::file {
namespace {

constexpr std::string_view endpoint_names[] = {"gpu", "nic", "host"};

endpoint as_endpoint(const value* v, const std::string& title, faults& out) {
    if (v == nullptr) return endpoint::gpu;
    const std::string text = as_text(*v, title, out);
    for (std::size_t i = 0; i < 3; ++i)
        if (text == endpoint_names[i]) return static_cast<endpoint>(i);
    out.report(v->line, fmt::format("{} is '{}'", title, shown(text)), "write gpu, nic or host");
    return endpoint::gpu;
}

// One property of all cells: a scalar when they agree, else a table. `set` gets (cell, value).
template <class Set>
void read_property(fields& f, std::string_view key, cost_layer& layer, faults& out, Set set) {
    const value* v = f.find(key);
    if (v == nullptr) return;
    const bool diagonal = layer.from == layer.to;
    const std::string title = f.title_of(key);
    if (v->is == kind::sequence)
        return read_grid(*v, title, layer.cells.rows(), layer.cells.columns(), diagonal, out,
                         [&](std::size_t r, std::size_t c, const value& cell) { set(layer.cells(r, c), cell, title); });
    cost common;
    set(common, *v, title);
    for (std::size_t r = 0; r < layer.cells.rows(); ++r)
        for (std::size_t c = 0; c < layer.cells.columns(); ++c)
            if (!diagonal || r != c) set(layer.cells(r, c), *v, title);
}

// Writes the property when any cell has another value than `usual` gives for it.
template <class Same, class Usual, class Make>
void write_property(value& map, const char* key, const cost_layer& layer, Same same, Usual usual, Make make) {
    const bool diagonal = layer.from == layer.to;
    const cost* first = nullptr;
    bool all_usual = true;
    bool all_same = true;
    for (std::size_t r = 0; r < layer.cells.rows(); ++r)
        for (std::size_t c = 0; c < layer.cells.columns(); ++c) {
            if (diagonal && r == c) continue;
            const cost& cell = layer.cells(r, c);
            if (first == nullptr) first = &cell;
            all_usual = all_usual && usual(cell);
            all_same = all_same && same(cell, *first);
        }
    if (first == nullptr || all_usual) return;
    if (all_same)
        map.add(key, make(*first));
    else
        map.add(key, write_grid(layer.cells.rows(), layer.cells.columns(), diagonal,
                                [&](std::size_t r, std::size_t c) { return make(layer.cells(r, c)); }));
}

value from_layer(const cost_layer& layer) {
    value v = new_map();
    v.add("from", of_text(endpoint_names[static_cast<std::size_t>(layer.from)]));
    v.add("to", of_text(endpoint_names[static_cast<std::size_t>(layer.to)]));
    v.add("engine", of_text(name_of(layer.by)));
    if (layer.loaded) v.add("loaded", of_boolean(true));
    const auto never = [](const cost&) { return false; };
    write_property(
        v, "source", layer, [](const cost& a, const cost& b) { return a.from == b.from; }, never,
        [](const cost& c) { return of_text(name_of(c.from)); });
    write_property(
        v, "alpha_source", layer, [](const cost& a, const cost& b) { return a.alpha_from == b.alpha_from; },
        [](const cost& c) { return c.alpha_from == c.from; },
        [](const cost& c) { return of_text(name_of(c.alpha_from)); });
    write_property(
        v, "samples", layer, [](const cost& a, const cost& b) { return a.samples == b.samples; },
        [](const cost& c) { return c.samples == 0; }, [](const cost& c) { return of_integer(c.samples); });
    write_property(
        v, "spread", layer, [](const cost& a, const cost& b) { return a.spread == b.spread; },
        [](const cost& c) { return c.spread == 0; }, [](const cost& c) { return of_number(c.spread); });
    write_property(
        v, "time", layer, [](const cost& a, const cost& b) { return a.time == b.time; },
        [](const cost& c) { return c.time == 0; }, [](const cost& c) { return of_time(c.time); });
    write_property(
        v, "gb_per_s", layer, [](const cost& a, const cost& b) { return a.gb_per_s == b.gb_per_s; }, never,
        [](const cost& c) { return of_number(c.gb_per_s); });
    write_property(
        v, "alpha_us", layer, [](const cost& a, const cost& b) { return a.alpha_us == b.alpha_us; }, never,
        [](const cost& c) { return of_number(c.alpha_us); });
    return v;
}

void read_numbers(fields& f, cost_layer& layer, faults& out) {
    const auto sources = [&](source cost::*member) {
        return [&out, member](cost& c, const value& v, const std::string& t) { c.*member = as_source(v, t, out); };
    };
    read_property(f, "source", layer, out, sources(&cost::from));
    for (auto& cell : layer.cells.cells()) cell.alpha_from = cell.from;
    read_property(f, "alpha_source", layer, out, sources(&cost::alpha_from));
    read_property(f, "samples", layer, out, [&](cost& c, const value& v, const std::string& t) {
        c.samples = static_cast<std::uint32_t>(as_integer(v, t, 0, std::numeric_limits<std::uint32_t>::max(), out));
    });
    read_property(f, "spread", layer, out, [&](cost& c, const value& v, const std::string& t) {
        c.spread = as_number(v, t, out);
        if (c.spread < 0) out.report(v.line, fmt::format("{} is negative ({})", t, shown(v.text)), "give a share ≥ 0");
    });
    read_property(f, "time", layer, out,
                  [&](cost& c, const value& v, const std::string& t) { c.time = as_time(v, t, out); });
    read_property(f, "gb_per_s", layer, out, [&](cost& c, const value& v, const std::string& t) {
        c.gb_per_s = as_number(v, t, out);
        if (!(c.gb_per_s > 0))
            out.report(v.line, fmt::format("{} holds '{}'; a bandwidth is above 0 GB/s", t, shown(v.text)),
                       "measure the pair again or leave the whole layer out");
    });
    read_property(f, "alpha_us", layer, out, [&](cost& c, const value& v, const std::string& t) {
        c.alpha_us = as_number(v, t, out);
        if (c.alpha_us < 0)
            out.report(v.line, fmt::format("{} holds '{}'; a latency is never below 0 µs", t, shown(v.text)),
                       "measure the pair again or leave the whole layer out");
    });
}

void to_layer(const value& v, node_class& c, faults& out) {
    fields f(v, "a cost layer of class " + shown(c.name), out);
    cost_layer layer;
    layer.from = as_endpoint(f.need("from"), f.title_of("from"), out);
    layer.to = as_endpoint(f.need("to"), f.title_of("to"), out);
    if (const value* engine_text = f.need("engine")) {
        const std::string text = as_text(*engine_text, f.title_of("engine"), out);
        if (const auto by = engine_named(text))
            layer.by = *by;
        else
            out.report(engine_text->line, fmt::format("unknown engine '{}'", shown(text)),
                       "write ce, sm-copy, sm-load, sm-flag, rdma-write, rdma-read or host");
    }
    f.read("loaded", layer.loaded);
    if (out.any()) return;
    layer.cells = matrix<cost>(c.endpoints(layer.from), c.endpoints(layer.to));
    const std::size_t filled = layer.cells.cells().size() - (layer.from == layer.to ? layer.cells.rows() : 0);
    if (filled > 0)
        for (const char* key : {"source", "gb_per_s", "alpha_us"}) (void)f.need(key);
    read_numbers(f, layer, out);
    f.finish();
    c.layers.push_back(std::move(layer));
}

}  // namespace

std::vector<value> row_cells(const value& row, const std::string& title, faults& out) {
    std::vector<value> cells;
    if (row.is == kind::sequence) {
        cells = row.items;
        for (auto& cell : cells)
            if (cell.scalar() && (cell.text == "x" || cell.text == "X")) cell.is = kind::null;
        return cells;
    }
    if (!row.scalar()) {
        out.report(row.line, "a row of " + title + " is neither text nor a list", "write cells with blanks between");
        return cells;
    }
    std::size_t at = 0;
    while ((at = row.text.find_first_not_of(" \t", at)) != std::string::npos) {
        const std::size_t end = std::min(row.text.find_first_of(" \t", at), row.text.size());
        value cell;
        cell.line = row.line;
        cell.text = row.text.substr(at, end - at);
        cell.is = cell.text == "x" || cell.text == "X" ? kind::null : kind::plain;
        cells.push_back(std::move(cell));
        at = end;
    }
    return cells;
}

source as_source(const value& v, std::string_view title, faults& out) {
    const std::string text = as_text(v, title, out);
    const auto found = source_named(text);
    if (found && *found != source::none) return *found;
    out.report(v.line, fmt::format("{} is '{}'", title, shown(text)),
               "write measured, class, composed, imported, estimated or simulated");
    return source::estimated;
}

value from_layers(const node_class& c) {
    value list = new_sequence();
    for (const auto& layer : c.layers) list.items.push_back(from_layer(layer));
    return list;
}

void to_layers(const value& v, node_class& c, faults& out) {
    for (const auto& item : as_items(v, "costs of class " + shown(c.name), out)) {
        if (out.any()) return;
        to_layer(item, c, out);
    }
}

value from_cost(const cost& c) {
    value v = new_map(layout::flow);
    v.add("alpha_us", of_number(c.alpha_us));
    v.add("gb_per_s", of_number(c.gb_per_s));
    v.add("source", of_text(name_of(c.from)));
    if (c.alpha_from != c.from) v.add("alpha_source", of_text(name_of(c.alpha_from)));
    if (c.samples != 0) v.add("samples", of_integer(c.samples));
    if (c.spread != 0) v.add("spread", of_number(c.spread));
    if (c.time != 0) v.add("time", of_time(c.time));
    return v;
}

cost to_cost(const value& v, const std::string& title, faults& out) {
    fields f(v, title, out);
    cost_layer one;
    one.to = endpoint::nic;  // no diagonal
    one.cells = matrix<cost>(1, 1);
    for (const char* key : {"source", "gb_per_s", "alpha_us"}) (void)f.need(key);
    read_numbers(f, one, out);
    f.finish();
    return one.cells(0, 0);
}

}  // namespace topo::file

// SPDX-License-Identifier: Apache-2.0
#include "cli/render/facts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "cli/render/text.hpp"
#include "topo/id_set.hpp"

namespace cli::render {
namespace {

constexpr std::array all_sources{topo::source::measured, topo::source::class_,    topo::source::composed,
                                 topo::source::imported, topo::source::estimated, topo::source::simulated};

std::size_t cells_from(const topo::node_class& h, topo::source s) {
    std::size_t n = 0;
    for (const topo::cost_layer& layer : h.layers)
        for (const topo::cost& c : layer.cells.cells()) n += c.present() && c.from == s;
    return n;
}

}  // namespace

std::string_view meaning_of(topo::source s) noexcept {
    switch (s) {
        case topo::source::none: return "no cost";
        case topo::source::measured: return "by a probe on this very node";
        case topo::source::class_: return "on another node of the same class";
        case topo::source::composed: return "put together from measured parts of the path";
        case topo::source::imported: return "from a matrix that another tool measured";
        case topo::source::estimated: return "from the link class alone, nobody measured it";
        case topo::source::simulated: return "by the simulated machine, no hardware was involved";
    }
    return "";
}

bool uses(const topo::node_class& hardware, topo::source s) noexcept {
    for (const topo::cost_layer& layer : hardware.layers)
        for (const topo::cost& c : layer.cells.cells())
            if (c.present() && (c.from == s || c.alpha_from == s)) return true;
    return false;
}

std::vector<remark> remarks_on(const topo::node_class& h) {
    std::vector<remark> out;
    if (h.simulated())
        out.push_back({weight::loud, "SIMULATED",
                       "these costs come from a simulated machine, not from hardware; plugins refuse them unless "
                       "their configuration says allow_simulated: true"});
    const std::size_t estimated = cells_from(h, topo::source::estimated);
    if (estimated > 0)
        out.push_back({weight::caution, "ESTIMATED",
                       fmt::format("{} come from the link class, not from a measurement; calibrate the node to know",
                                   counted(estimated, "bandwidth", "bandwidths"))});
    if (!h.locality_trusted)
        out.push_back({weight::caution, "VIRTUAL",
                       "virtual, locality not trusted: the guest shows a flat topology, so only measured costs "
                       "decide; give the provider's topology file to atoll import"});
    const auto lost = static_cast<std::size_t>(
        std::count_if(h.gpus.begin(), h.gpus.end(), [](const topo::gpu& g) { return g.numa == topo::unknown_numa; }));
    if (lost > 0)
        out.push_back(
            {weight::caution, "LOCALITY UNKNOWN",
             fmt::format("{} no NUMA node; placement works by cost and names none for {}",
                         lost == 1 ? "1 GPU has" : fmt::format("{} GPUs have", lost), lost == 1 ? "it" : "them")});
    if (h.gpus.empty())
        out.push_back({weight::caution, "NO GPU", "this node has no GPU, so no job can be placed on it"});
    else if (h.layers.empty())
        out.push_back({weight::caution, "NO COSTS", "no cost is known; calibrate the node or import a matrix"});
    return out;
}

std::string hardware_line(const topo::node_class& h) {
    std::string text = counted(h.gpus.size(), "GPU");
    if (!h.gpus.empty() && !h.gpus.front().model.empty()) {
        const std::string& model = h.gpus.front().model;
        const bool same = std::all_of(h.gpus.begin(), h.gpus.end(), [&](const auto& g) { return g.model == model; });
        text += " (" + model + (same ? ")" : " and others)");
    }
    text += ", " + counted(h.nics.size(), "NIC");
    const auto with_cpus = static_cast<std::size_t>(
        std::count_if(h.numa.begin(), h.numa.end(), [](const topo::numa_node& n) { return !n.cpus.empty(); }));
    if (with_cpus > 0) text += ", " + counted(with_cpus, "NUMA node") + " with CPUs";
    if (h.cores > 0) text += ", " + counted(static_cast<std::size_t>(h.cores), "core");
    return text;
}

std::string provenance_line(const topo::provenance& p) {
    std::string text;
    auto add = [&](std::string_view before, const std::string& value, std::string_view between) {
        if (!value.empty()) text += fmt::format("{}{}{}", text.empty() ? "" : between, before, value);
    };
    add("made by ", p.tool, "");
    add("on ", p.host, " ");
    add("from ", p.input, " ");
    if (p.time > 0) add("", date(p.time), ", ");
    add("driver ", p.driver, ", ");
    add("firmware ", p.firmware, ", ");
    return text;
}

std::string sources_line(const topo::node_class& h) {
    std::string text;
    for (const topo::source s : all_sources) {
        const std::size_t n = cells_from(h, s);
        if (n > 0) text += fmt::format("{}{} {}", text.empty() ? "" : ", ", n, topo::name_of(s));
    }
    return text;
}

std::string gpus_text(topo::gpu_mask mask) {
    topo::id_set ids;
    for (std::uint32_t i = 0; i < topo::max_gpus_per_node; ++i)
        if ((mask >> i & 1) != 0) ids.insert(i);
    return ids.text();
}

std::string numa_text(int numa) { return numa == topo::unknown_numa ? "unknown" : std::to_string(numa); }

std::vector<level_row> levels_of(const topo::fabric& f) {
    std::vector<level_row> rows;
    for (int level = 0; level < f.levels(); ++level) {
        level_row row;
        row.level = level;
        row.groups = f.groups(level);
        row.least_nodes = std::numeric_limits<std::size_t>::max();
        row.least_uplink = std::numeric_limits<double>::infinity();
        for (std::uint32_t g = 0; g < row.groups; ++g) {
            const std::size_t nodes = f.nodes(level, topo::group_id(g)).size();
            row.least_nodes = std::min(row.least_nodes, nodes);
            row.most_nodes = std::max(row.most_nodes, nodes);
            const double up = f.capacity(level, topo::group_id(g));
            row.least_uplink = std::min(row.least_uplink, up);
            row.most_uplink = std::max(row.most_uplink, up);
        }
        if (row.groups == 0) row.least_nodes = 0;
        if (!is_grid(f)) row.across = f.level_cost(level);
        rows.push_back(row);
    }
    return rows;
}

bool is_grid(const topo::fabric& f) noexcept {
    return f.form() == topo::fabric_form::torus || f.form() == topo::fabric_form::hypercube;
}

std::string grid_line(const topo::fabric& f) {
    std::string text;
    int most = 0;
    for (const auto n : f.dims()) {
        text += fmt::format("{}{}", text.empty() ? "" : " x ", n);
        most += static_cast<int>(n / 2);
    }
    return fmt::format("{}, every dimension wraps around; {} at most", text,
                       counted(static_cast<std::size_t>(most), "hop"));
}

std::vector<hop_row> hops_of(const topo::fabric& f) {
    std::vector<hop_row> rows;
    int most = 0;
    for (const auto n : f.dims()) most += static_cast<int>(n / 2);
    for (int hops = 1; hops <= most; ++hops) {
        const topo::cost& c = f.level_cost(hops - 1);
        if (!rows.empty() && rows.back().each.gb_per_s == c.gb_per_s && rows.back().each.alpha_us == c.alpha_us &&
            rows.back().each.from == c.from)
            rows.back().most = hops;
        else
            rows.push_back({hops, hops, c});
    }
    return rows;
}

std::string counted_leaves(std::size_t n, const topo::fabric& f) {
    const std::string one = level_name(0, f);
    return counted(n, one, one == "leaf" ? "leaves" : is_grid(f) ? "boxes" : one + "s");
}

std::string separation_name(int separation, const topo::fabric& f) {
    return is_grid(f) ? counted(static_cast<std::size_t>(separation) + 1, "hop") : level_name(separation, f);
}

std::string level_name(int level, const topo::fabric& f) {
    const int levels = f.levels();
    switch (f.form()) {
        case topo::fabric_form::torus:
        case topo::fabric_form::hypercube: return level == 0 ? "box" : fmt::format("box of level {}", level);
        case topo::fabric_form::dragonfly:
            if (level + 1 == levels) return "global";
            if (level + 2 == levels) return "group";
            if (level == 0) return "router";
            break;
        case topo::fabric_form::nvlink_domain:
            if (level == 0) return "domain";
            break;
        case topo::fabric_form::block:
            if (level == 0) return "block";
            break;
        case topo::fabric_form::rail_optimised:
            if (level == 0) return "unit";
            break;
        default: break;
    }
    if (level == 0) return "leaf";
    if (level == 1 && levels == 2) return "spine";
    if (level == 1 && levels == 3) return "spine";
    if (level == 2 && levels == 3) return "core";
    return fmt::format("level {}", level);
}

std::string range_text(std::size_t least, std::size_t most) {
    return least == most ? std::to_string(least) : fmt::format("{} to {}", least, most);
}

std::string uplink_text(double least, double most) {
    if (std::isinf(least)) return "unknown";
    if (std::isinf(most)) return short_number(least) + " or unknown";
    return least == most ? short_number(least) : short_number(least) + " to " + short_number(most);
}

}  // namespace cli::render

// SPDX-License-Identifier: Apache-2.0
#include "cli/render/summary.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/render/facts.hpp"
#include "cli/render/table.hpp"
#include "cli/render/text.hpp"

namespace cli::render {
namespace {

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

std::string pci_text(const std::optional<topo::pci_address>& pci) { return pci ? pci->text() : "-"; }

std::string legend(const topo::node_class& h, const style& s) {
    std::string out;
    for (const topo::source from : {topo::source::measured, topo::source::class_, topo::source::composed,
                                    topo::source::imported, topo::source::estimated, topo::source::simulated}) {
        if (!uses(h, from)) continue;
        out += fmt::format("  {}  {}\n", s.bold(pad_right(topo::name_of(from), 9)), meaning_of(from));
    }
    return out.empty() ? out : s.bold("Where the figures come from") + " (" + sources_line(h) + ")\n" + out + "\n";
}

std::string gpu_table(const topo::node_class& h, const style& s) {
    if (h.gpus.empty()) return {};
    const std::vector<int> nearest = topo::nearest_nics(h);
    const std::vector<topo::gpu_mask> parts = topo::islands(h);
    table t{{"GPU", "PCI", "NUMA", "CPUs", "nearest NIC", "island"}, {}, {}};
    for (std::size_t i = 0; i < h.gpus.size(); ++i) {
        const topo::gpu& g = h.gpus[i];
        const int nic = i < nearest.size() ? nearest[i] : -1;
        std::string island = "-";
        for (const topo::gpu_mask part : parts)
            if ((part >> i & 1) != 0) island = gpus_text(part);
        t.add({g.name, pci_text(g.pci), numa_text(g.numa), or_dash(g.cpus.text()),
               nic < 0 ? "none" : h.nics[static_cast<std::size_t>(nic)].name, island});
    }
    return t.text(s) + "\n";
}

std::string nic_table(const topo::node_class& h, const style& s) {
    if (h.nics.empty()) return "0 NICs\n\n";
    const std::vector<int> nearest = topo::nearest_nics(h);
    table t{{"NIC", "PCI", "NUMA", "rail", "GB/s", "serves", "model"}, {false, false, false, false, true}, {}};
    for (std::size_t n = 0; n < h.nics.size(); ++n) {
        const topo::nic& nic = h.nics[n];
        topo::gpu_mask served = 0;
        for (std::size_t g = 0; g < nearest.size(); ++g)
            if (nearest[g] == static_cast<int>(n)) served |= topo::gpu_mask{1} << g;
        t.add({nic.name, pci_text(nic.pci), numa_text(nic.numa), nic.rail < 0 ? "-" : std::to_string(nic.rail),
               nic.gb_per_s ? short_number(*nic.gb_per_s) : "unknown",
               served != 0   ? "GPU " + gpus_text(served)
               : nic.compute ? "-"
                             : "not for compute",
               or_dash(nic.model)});
    }
    return t.text(s) + "\n";
}

std::string islands_line(const topo::node_class& h, const style& s) {
    if (h.gpus.empty()) return {};
    std::string out;
    for (const topo::gpu_mask part : topo::islands(h)) out += "  {" + gpus_text(part) + "}";
    return s.bold("Islands") + " (GPUs joined by NVLink, xGMI or C2C)" + out + "\n\n";
}

std::string scale_line(const heat_table& t, const style& s) {
    std::string out;
    if (s.colour) {
        out = "  slow ";
        for (int i = 0; i < 12; ++i) out += s.heat(i / 11.0, "  ");
        out += " fast";
    }
    if (!t.best.empty()) out += fmt::format("  {} (worst) to {} (best)", t.worst, t.best);
    if (t.odd > 0)
        out += s.yellow(fmt::format("   ! {} clearly worse than others over the same kind of link",
                                    counted(t.odd, "pair is", "pairs are")));
    return out + "\n\n";
}

}  // namespace

bool used_by_placement(const topo::node_class& h, const topo::cost_layer& layer) {
    const bool asked = layer.from == topo::endpoint::gpu && layer.to != topo::endpoint::host;
    return asked && &layer == h.best_layer(layer.from, layer.to);
}

std::vector<const topo::cost_layer*> layers_of(const topo::node_class& h, const class_view& view) {
    std::vector<const topo::cost_layer*> out;
    for (const topo::cost_layer& layer : h.layers) {
        const bool used = used_by_placement(h, layer);
        if (view.engine ? layer.by == *view.engine : used || view.every_layer) out.push_back(&layer);
    }
    return out;
}

std::string remarks_text(const topo::node_class& h, const style& s) {
    std::string out;
    for (const remark& r : remarks_on(h)) {
        const std::string badge = r.how == weight::loud ? s.loud(" " + r.label + " ") : s.yellow(r.label);
        out += (s.colour ? badge : r.label + ":") + " " + printable(r.text) + "\n";
    }
    return out;
}

std::string class_text(const topo::node_class& h, const class_view& view, const style& s) {
    std::string out = s.bold(printable(view.title));
    if (!view.hosts.empty() && view.hosts != view.title)
        out += fmt::format("  {} ({})", printable(view.hosts), counted(view.host_count, "node"));
    out += "\n" + printable(hardware_line(h)) + "\n";
    if (const std::string made = provenance_line(h.made_by); !made.empty()) out += s.dim(printable(made)) + "\n";
    out += remarks_text(h, s) + "\n";
    const bool links = !view.only || *view.only == quantity::links;
    if (links && !h.gpu_links.empty()) out += text_of(heat_of_links(h), s) + "\n";
    if (!view.only || *view.only != quantity::links) {
        for (const topo::cost_layer* layer : layers_of(h, view))
            for (const quantity q : {quantity::bandwidth, quantity::latency}) {
                if (view.only && *view.only != q) continue;
                const heat_table t = heat_of(h, *layer, q);
                out += text_of(t, s) + scale_line(t, s);
            }
    }
    if (view.only) return out;
    out += islands_line(h, s) + gpu_table(h, s) + nic_table(h, s) + legend(h, s);
    return out;
}

namespace {

std::string grid_text(const topo::fabric& f, const style& s) {
    table t{{"distance", "GB/s", "us", "source"}, {false, true, true}, {}};
    for (const hop_row& row : hops_of(f))
        t.add({row.least == row.most ? counted(static_cast<std::size_t>(row.least), "hop")
                                     : fmt::format("{} to {} hops", row.least, row.most),
               short_number(row.each.gb_per_s), short_number(row.each.alpha_us),
               std::string(topo::name_of(row.each.from))});
    std::string out = grid_line(f) + "\n" + t.text(s);
    const auto levels = levels_of(f);
    if (!levels.empty())
        out += fmt::format("Counted in {} of {} nodes\n", counted_leaves(levels.front().groups, f),
                           range_text(levels.front().least_nodes, levels.front().most_nodes));
    return out;
}

}  // namespace

std::string fabric_text(const topo::fabric& f, std::size_t nodes, const style& s) {
    std::string out = s.bold("Fabric") + fmt::format("  {}, {}\n", topo::name_of(f.form()), counted(nodes, "node"));
    if (f.form() == topo::fabric_form::unknown) {
        out +=
            "Which switches join the nodes is not known; give topology.conf or ibnetdiscover output to atoll merge "
            "--fabric\n";
        return out + "\n";
    }
    if (is_grid(f)) return out + grid_text(f, s) + "\n";
    table t{{"level", "groups", "nodes each", "uplink GB/s", "across GB/s", "across us", "source"},
            {false, true, true, true, true, true},
            {}};
    const auto rows = levels_of(f);
    for (const level_row& row : rows)
        t.add({level_name(row.level, f), std::to_string(row.groups), range_text(row.least_nodes, row.most_nodes),
               row.level + 1 == f.levels() ? "-" : uplink_text(row.least_uplink, row.most_uplink),
               short_number(row.across.gb_per_s), short_number(row.across.alpha_us),
               std::string(topo::name_of(row.across.from))});
    out += t.text(s);
    if (!rows.empty() && rows.back().groups > 1)
        out += s.yellow(
            fmt::format("{} that do not meet: a job never spans them\n", counted(rows.back().groups, "fabric")));
    return out + "\n";
}

}  // namespace cli::render

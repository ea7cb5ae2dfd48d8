// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <unordered_set>
#include <utility>

#include "topo/export/export.hpp"
#include "topo/hostlist.hpp"

namespace topo {
namespace {

bool usable(const std::string& name) {
    return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == ',' || c == '[' || c == ']' || c == '#' ||
               c == '=' || c == '"' || c == '\\';
    });
}

result<done> check_names(const fabric_description& f) {
    for (const auto& s : f.switches) {
        for (const auto* names : {&s.switches, &s.nodes})
            for (const auto& n : *names)
                if (!usable(n))
                    return error{errc::bad_input, s.name, "name '" + n + "' cannot stand in topology.conf",
                                 "use names without blanks, commas, brackets, quotes, '#' and '='"};
        if (!usable(s.name))
            return error{errc::bad_input, s.where, "switch name '" + s.name + "' cannot stand in topology.conf",
                         "use names without blanks, commas, brackets, quotes, '#' and '='"};
    }
    return done{};
}

void note_losses(const cluster& c, const fabric_description& f, findings& notes) {
    const auto lost = [&](std::string what) { notes.push_back({severity::info, "", std::move(what), ""}); };
    const auto any = [&](auto has) { return std::any_of(f.switches.begin(), f.switches.end(), has); };
    if (any([](const switch_description& s) { return s.uplink_gb_per_s.has_value(); }))
        lost("uplink capacities are left out: Slurm does not use LinkSpeed");
    if (!f.level_costs.empty()) lost("costs of the levels are left out: topology.conf has no place for them");
    if (any([](const switch_description& s) { return !s.domain.empty(); }))
        lost("NVLink domain ids are left out: topology.conf has no place for them");
    if (f.form == fabric_form::rail_optimised || f.form == fabric_form::nvlink_domain)
        lost(fmt::format("the {} fabric is written as a tree", name_of(f.form)));
    std::unordered_set<std::string_view> attached;
    for (const auto& s : f.switches) attached.insert(s.nodes.begin(), s.nodes.end());
    std::size_t loose = 0;
    std::string example;
    for (const auto& n : c.nodes())
        if (!attached.contains(n.name) && loose++ == 0) example = n.name;
    if (loose > 0)
        notes.push_back({severity::warning, example,
                         fmt::format("{} node{} of the cluster hang{} under no switch", loose, loose > 1 ? "s" : "",
                                     loose > 1 ? "" : "s"),
                         "add them to the fabric, or Slurm will warn that switches lack access to them"});
    std::size_t strange = 0;
    for (const auto& name : attached)
        if (!c.find(name) && (strange++ == 0 || name < example)) example = name;
    if (strange > 0)
        notes.push_back({severity::warning, example,
                         fmt::format("{} node{} of the fabric {} not in the cluster", strange, strange > 1 ? "s" : "",
                                     strange > 1 ? "are" : "is"),
                         "add them to slurm.conf, or Slurm will warn of invalid hostnames"});
}

std::string tree_text(const fabric_description& f, findings& notes) {
    std::unordered_set<std::string_view> empty;
    for (const auto& s : f.switches)
        if (s.switches.empty() && s.nodes.empty()) empty.insert(s.name);
    std::string text;
    for (const auto& s : f.switches) {
        if (empty.contains(s.name)) {
            notes.push_back({severity::warning, s.name, "a switch with nothing below it is left out: Slurm refuses it",
                             "name what hangs under it"});
            continue;
        }
        std::vector<std::string> children = s.switches;
        std::erase_if(children, [&](const std::string& child) { return empty.contains(child); });
        if (!children.empty() && !s.nodes.empty())
            notes.push_back({severity::warning, s.name, "it has both nodes and switches below it, which Slurm refuses",
                             "put the nodes under a leaf of their own"});
        text += "SwitchName=" + s.name;
        if (!children.empty()) text += " Switches=" + compress_hostlist(children);
        if (!s.nodes.empty()) text += " Nodes=" + compress_hostlist(s.nodes);
        text += '\n';
    }
    return text;
}

std::string block_text(const fabric_description& f, findings& notes) {
    std::string text;
    for (const auto& s : f.switches) {
        if (!s.switches.empty())
            notes.push_back({severity::warning, s.name, "switches below a block are left out", ""});
        text += "BlockName=" + s.name;
        if (!s.nodes.empty()) text += " Nodes=" + compress_hostlist(s.nodes);
        text += '\n';
    }
    if (!f.block_sizes.empty()) text += fmt::format("BlockSizes={}\n", fmt::join(f.block_sizes, ","));
    return text;
}

}  // namespace

result<export_output> to_slurm_topology(const cluster& c) {
    try {
        const fabric_description& f = c.description().fabric;
        export_output out;
        switch (f.form) {
            case fabric_form::tree:
            case fabric_form::rail_optimised:
            case fabric_form::nvlink_domain:
            case fabric_form::block: break;
            case fabric_form::unknown:
                return error{
                    errc::bad_input, c.name(), "the fabric of the cluster is unknown",
                    "import one (atoll import of topology.conf, ibnetdiscover or a topograph model) and merge it"};
            default:
                return error{errc::bad_input, c.name(),
                             fmt::format("topology.conf of Slurm cannot describe a {} fabric", name_of(f.form)),
                             "export a tree or blocks"};
        }
        if (auto named = check_names(f); !named) return named.failure();
        out.text = f.form == fabric_form::block ? block_text(f, out.notes) : tree_text(f, out.notes);
        note_losses(c, f, out.notes);
        return out;
    } catch (const std::bad_alloc&) {
        return error{errc::limit, c.name(), "too little memory to write topology.conf", "free some memory"};
    } catch (const std::exception& e) {
        return error{errc::bad_input, c.name(), std::string("topology.conf cannot be written: ") + e.what(), ""};
    }
}

}  // namespace topo

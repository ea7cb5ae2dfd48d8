// SPDX-License-Identifier: Apache-2.0
// Volcano's HyperNodes: one object a switch; tier 1 is a leaf.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <new>
#include <unordered_map>

#include "topo/export/export.hpp"
#include "topo/export/k8s_tiers.hpp"

namespace topo {
namespace {

// Tier of every switch: one more than the highest below it, so that members always have a lower one.
std::unordered_map<std::string_view, std::size_t> tiers_of(const fabric_description& f) {
    std::unordered_map<std::string_view, const switch_description*> by_name;
    for (const auto& s : f.switches) by_name.emplace(s.name, &s);
    std::unordered_map<std::string_view, std::size_t> tier;
    // As often as there are levels; a checked fabric has no cycle.
    for (bool grown = true; grown;) {
        grown = false;
        for (const auto& s : f.switches) {
            std::size_t own = 1;
            for (const auto& child : s.switches)
                if (by_name.contains(child)) own = std::max(own, tier[child] + 1);
            if (tier[s.name] < own) {
                tier[s.name] = own;
                grown = true;
            }
        }
    }
    return tier;
}

void member(std::string& text, const char* type, std::string_view name) {
    text += fmt::format("    - type: {}\n      selector:\n        exactMatch:\n          name: {}\n", type, name);
}

}  // namespace

result<export_output> to_volcano(const cluster& c) {
    try {
        auto tree = k8s::read_tree(c);  // for its checks and notes
        if (!tree) return tree.failure();
        export_output out;
        out.notes = std::move(tree->notes);
        const fabric_description& f = c.description().fabric;
        std::unordered_map<std::string, std::string_view> taken;
        std::unordered_map<std::string_view, std::string> names;
        for (const auto& s : f.switches) {
            std::string name = k8s::object_name(s.name);
            const auto [known, fresh] = taken.emplace(name, s.name);
            if (name.empty() || !fresh)
                return error{errc::bad_input, s.where,
                             name.empty() ? "switch '" + s.name + "' has no letter or digit"
                                          : fmt::format("switches '{}' and '{}' become one object, {}", known->second,
                                                        s.name, name),
                             "rename one of them: names of objects are lower case"};
            names.emplace(s.name, std::move(name));
        }
        const auto tier = tiers_of(f);
        for (const auto& s : f.switches) {
            if (s.switches.empty() && s.nodes.empty()) {
                out.notes.push_back({severity::warning, s.name, "a switch with nothing below it is left out",
                                     "name what hangs under it"});
                continue;
            }
            out.text += fmt::format(
                "---\napiVersion: topology.volcano.sh/v1alpha1\nkind: HyperNode\nmetadata:\n  name: {}\nspec:\n  tier: "
                "{}\n  members:\n",
                names[s.name], tier.at(s.name));
            for (const auto& child : s.switches)
                if (const auto at = names.find(child); at != names.end()) member(out.text, "HyperNode", at->second);
            for (const auto& node : s.nodes)
                if (c.find(node)) member(out.text, "Node", node);
        }
        return out;
    } catch (const std::bad_alloc&) {
        return error{errc::limit, c.name(), "too little memory to write HyperNodes", "free some memory"};
    } catch (const std::exception& e) {
        return error{errc::bad_input, c.name(), std::string("HyperNodes cannot be written: ") + e.what(), ""};
    }
}

}  // namespace topo

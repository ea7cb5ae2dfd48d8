// SPDX-License-Identifier: Apache-2.0
// Node labels, as Node objects for a server-side apply and as NodeFeature objects of NFD.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <new>

#include "topo/export/export.hpp"
#include "topo/export/k8s_tiers.hpp"

namespace topo {
namespace {

// Sorted by key. Present and older names of topograph: schedulers in use read either.
std::map<std::string, std::string> labels_of(const k8s::place& p) {
    constexpr std::array<const char*, 3> older = {"leaf", "spine", "core"};
    std::map<std::string, std::string> out;
    for (std::size_t tier = 0; tier < p.tiers.size(); ++tier) {
        out[fmt::format("fabric.topograph.run/tier-{}", tier)] = p.tiers[tier];
        if (tier < older.size()) out[fmt::format("network.topology.nvidia.com/{}", older[tier])] = p.tiers[tier];
    }
    if (!p.domain.empty()) {
        out["accelerator.topograph.run/domain"] = p.domain;
        out["network.topology.nvidia.com/accelerator"] = p.domain;
    }
    if (const std::string name = k8s::label_value(p.hardware->name); !name.empty()) out["atoll.dev/node-class"] = name;
    return out;
}

void write_labels(std::string& text, const std::map<std::string, std::string>& labels) {
    // Quoted: a value such as 1e3 or yes would not stay text.
    for (const auto& [key, value] : labels) text += fmt::format("    {}: \"{}\"\n", key, value);
}

template <class Each>
result<export_output> each_node(const cluster& c, const char* what, Each each) {
    try {
        auto tree = k8s::read_tree(c);
        if (!tree) return tree.failure();
        export_output out;
        out.notes = std::move(tree->notes);
        for (const auto& p : tree->nodes) each(out.text, p, labels_of(p));
        return out;
    } catch (const std::bad_alloc&) {
        return error{errc::limit, c.name(), std::string("too little memory to write ") + what, "free some memory"};
    } catch (const std::exception& e) {
        return error{errc::bad_input, c.name(), std::string(what) + " cannot be written: " + e.what(), ""};
    }
}

}  // namespace

result<export_output> to_k8s_labels(const cluster& c) {
    return each_node(c, "node labels", [](std::string& text, const k8s::place& p, const auto& labels) {
        text += fmt::format("---\napiVersion: v1\nkind: Node\nmetadata:\n  name: {}\n  labels:\n", p.node);
        write_labels(text, labels);
    });
}

result<export_output> to_nfd(const cluster& c) {
    return each_node(c, "node features", [](std::string& text, const k8s::place& p, const auto& labels) {
        text += fmt::format(
            "---\napiVersion: nfd.k8s-sigs.io/v1alpha1\nkind: NodeFeature\nmetadata:\n  name: atoll-{0}\n  labels:\n"
            "    nfd.node.kubernetes.io/node-name: {0}\nspec:\n  labels:\n",
            p.node);
        write_labels(text, labels);
    });
}

}  // namespace topo

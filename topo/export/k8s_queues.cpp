// SPDX-License-Identifier: Apache-2.0
// Kueue: the levels that a workload can ask for, and a queue to try them with.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <new>
#include <set>

#include "topo/export/export.hpp"
#include "topo/export/k8s_tiers.hpp"

namespace topo {
namespace {

// NVLink domains are a level of their own, between leaves and what is above, where a domain joins several leaves and
// lies under one switch of the next tier. A domain of one leaf says what tier 0 says.
bool domains_join_leaves(const k8s::tree& tree) {
    std::map<std::string, std::set<std::string>> leaves, above;
    for (const auto& p : tree.nodes) {
        if (p.tiers.empty() || p.domain.empty()) return false;
        leaves[p.domain].insert(p.tiers.front());
        if (tree.tiers > 1) above[p.domain].insert(p.tiers.size() > 1 ? p.tiers[1] : "");
    }
    const auto many = [](const auto& of_domain) { return of_domain.second.size() > 1; };
    return std::any_of(leaves.begin(), leaves.end(), many) && std::none_of(above.begin(), above.end(), many);
}

void note_gaps(const k8s::tree& tree, findings& notes) {
    std::size_t without = 0;
    for (const auto& p : tree.nodes) without += p.tiers.empty() ? 1 : 0;
    if (without > 0)
        notes.push_back(
            {severity::warning, "fabric.topograph.run/tier-0",
             fmt::format("{} nodes lack the label of this level; Kueue leaves them out of the topology", without),
             "add them to the fabric"});
    if (tree.uneven > 0)
        notes.push_back(
            {severity::warning, fmt::format("fabric.topograph.run/tier-{}", tree.tiers - 1),
             fmt::format("{} nodes, {} among them, lack the label of this level, since they hang under fewer switches; "
                         "Kueue finds no domain for them there",
                         tree.uneven, tree.uneven_example),
             "give every leaf as many switches above it, or take the outermost level out of the topology"});
}

std::size_t gpus_of(const k8s::tree& tree) {
    std::size_t sum = 0;
    for (const auto& p : tree.nodes) sum += p.hardware->gpus.size();
    return sum;
}

}  // namespace

result<export_output> to_kueue(const cluster& c) {
    try {
        auto tree = k8s::read_tree(c);
        if (!tree) return tree.failure();
        export_output out;
        out.notes = std::move(tree->notes);
        note_gaps(*tree, out.notes);
        std::string name = k8s::object_name(c.name());
        if (name.empty()) name = "atoll";
        std::string& text = out.text;
        text += fmt::format(
            "# Outermost level first. Label the nodes with: atoll export CLUSTER --to k8s-labels\n"
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: Topology\nmetadata:\n  name: {}\nspec:\n  levels:\n",
            name);
        const bool domains = domains_join_leaves(*tree);
        for (std::size_t tier = tree->tiers; tier-- > 0;) {
            if (tier == 0 && domains) text += "    - nodeLabel: accelerator.topograph.run/domain\n";
            text += fmt::format("    - nodeLabel: fabric.topograph.run/tier-{}\n", tier);
        }
        if (tree->domains && !domains)
            out.notes.push_back(
                {severity::info, "accelerator.topograph.run/domain",
                 "is no level of its own: the NVLink domains are the leaves, or are not nested in the tiers", ""});
        text += "    - nodeLabel: kubernetes.io/hostname\n";
        text += fmt::format(
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata:\n  name: {0}\nspec:\n  "
            "topologyName: {0}\n"
            "---\n# An example to start from: quotas are the whole cluster's GPUs.\n"
            "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata:\n  name: {0}\nspec:\n  "
            "namespaceSelector: {{}}\n"
            "  resourceGroups:\n    - coveredResources: [\"atoll.dev/gpu\"]\n      flavors:\n        - name: {0}\n     "
            "     resources:\n"
            "            - name: atoll.dev/gpu\n              nominalQuota: {1}\n"
            "---\napiVersion: kueue.x-k8s.io/v1beta2\nkind: LocalQueue\nmetadata:\n  namespace: default\n  name: "
            "{0}\nspec:\n  clusterQueue: {0}\n",
            name, gpus_of(*tree));
        return out;
    } catch (const std::bad_alloc&) {
        return error{errc::limit, c.name(), "too little memory to write the topology of Kueue", "free some memory"};
    } catch (const std::exception& e) {
        return error{errc::bad_input, c.name(), std::string("the topology of Kueue cannot be written: ") + e.what(),
                     ""};
    }
}

}  // namespace topo

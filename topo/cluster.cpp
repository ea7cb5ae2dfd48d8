// SPDX-License-Identifier: Apache-2.0
#include "topo/cluster.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo {

result<cluster> cluster::build(cluster_description description, bool lenient) {
    cluster out;
    std::unordered_map<std::string_view, class_id> classes;
    for (std::size_t i = 0; i < description.classes.size(); ++i) {
        const node_class& c = description.classes[i];
        if (const findings faults = check(c); !faults.empty())
            return error{errc::bad_input, faults.front().where, faults.front().what, faults.front().remedy};
        if (!classes.emplace(c.name, class_id(i)).second)
            return error{errc::bad_input, "class " + shown(c.name), "the class stands twice",
                         "rename or remove one of them"};
    }
    std::vector<std::string> names;
    for (const auto& group : description.nodes) {
        const auto found = classes.find(group.class_name);
        if (found == classes.end())
            return error{errc::bad_input, "nodes", fmt::format("class '{}' is not defined", shown(group.class_name)),
                         "define it under classes, or correct the name"};
        for (const auto& name : group.nodes) {
            if (name.empty()) return error{errc::bad_input, "nodes", "a node has no name", "name every node"};
            if (!out.by_name_.emplace(name, node_id(out.nodes_.size())).second)
                return error{errc::bad_input, "nodes", fmt::format("node {} stands twice", shown(name)),
                             "give each node to one class only"};
            out.nodes_.push_back({name, found->second});
            names.push_back(name);
        }
        if (names.size() > max_hosts)
            return error{errc::limit, "nodes", fmt::format("more than {} nodes", max_hosts), "check the host lists"};
    }
    auto network = build_fabric(description.fabric, names, lenient);
    if (!network) return network.failure();
    out.fabric_ = std::move(network->built);
    out.notes_ = std::move(network->notes);
    out.description_ = std::move(description);
    return out;
}

std::optional<node_id> cluster::find(std::string_view node_name) const {
    const auto found = by_name_.find(node_name);
    if (found == by_name_.end()) return std::nullopt;
    return found->second;
}

bool cluster::simulated() const noexcept {
    const auto is_simulated = [](const cost& c) {
        return c.from == source::simulated || c.alpha_from == source::simulated;
    };
    return std::any_of(description_.classes.begin(), description_.classes.end(),
                       [](const node_class& c) { return c.simulated(); }) ||
           std::any_of(description_.fabric.level_costs.begin(), description_.fabric.level_costs.end(), is_simulated);
}

}  // namespace topo

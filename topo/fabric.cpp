// SPDX-License-Identifier: Apache-2.0
#include "topo/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

#include "topo/counted.hpp"
#include "topo/fabric_check.hpp"
#include "topo/fabric_groups.hpp"

namespace topo {
namespace {

error as_error(const finding& f) { return {errc::bad_input, f.where, f.what, f.remedy}; }

std::vector<level_data> one_group(std::span<const std::string> node_names) {
    std::vector<level_data> levels(1);
    const group_id all = levels[0].add("unknown", std::numeric_limits<double>::infinity());
    levels[0].group_of.assign(node_names.size(), all);
    levels[0].nodes.fill(1, levels[0].group_of);
    return levels;
}

// NVLink joins the nodes of level 0 only when every group there is a named domain.
bool level_0_is_nvlink(const fabric_description& d, findings& notes) {
    if (d.form != fabric_form::block && d.form != fabric_form::nvlink_domain) return false;
    std::size_t leaves = 0;
    std::size_t domains = 0;
    for (const auto& s : d.switches)
        if (!s.nodes.empty()) {
            ++leaves;
            domains += names_a_domain(s.domain) ? 1 : 0;
        }
    if (domains != 0 && domains != leaves)
        notes.push_back({severity::warning, "fabric",
                         fmt::format("only {} of {} groups have an NVLink domain id", domains, leaves),
                         "their level is costed as a leaf switch; set level_costs to say otherwise"});
    return leaves > 0 && domains == leaves;
}

std::vector<cost> all_costs(const fabric_description& d, std::size_t levels, findings& notes) {
    const std::size_t wanted = std::max<std::size_t>(levels, 1);
    std::vector<cost> costs = d.level_costs;
    if (costs.size() > wanted)
        notes.push_back({severity::warning, "fabric",
                         fmt::format("level_costs names {}, the fabric has {}", counted(costs.size(), "level"), levels),
                         "take the last ones out"});
    if (costs.size() < wanted) {
        notes.push_back(
            {severity::info, "fabric",
             fmt::format("the cost of {} of {} is estimated", wanted - costs.size(), counted(wanted, "fabric level")),
             "measure them, or write level_costs"});
        const bool nvlink = level_0_is_nvlink(d, notes);
        while (costs.size() < wanted)
            costs.push_back(is_grid(d.form) ? estimated_hop_cost(costs)
                                            : estimated_level_cost(static_cast<int>(costs.size()), nvlink));
    }
    costs.resize(wanted);
    return costs;
}

}  // namespace

result<fabric_build> build_fabric(const fabric_description& description, std::span<const std::string> node_names,
                                  bool lenient) {
    fabric_build out;
    fabric_faults faults = faults_of(description);
    if (!faults.fatal.empty()) return as_error(faults.fatal.front());
    if (!faults.missing_children.empty() && !lenient) return as_error(faults.missing_children.front());
    for (auto& f : faults.missing_children) {
        f.level = severity::warning;
        f.what += "; left out";
        out.notes.push_back(std::move(f));
    }
    std::vector<level_data> levels;
    grid_shape shape;
    fabric_form form = description.form;
    std::size_t separations = 0;
    if (is_grid(form)) {
        grid_levels made = build_grid(description, node_names, out.notes);
        levels = std::move(made.levels);
        shape = std::move(made.shape);
        separations = shape.diameter();
    } else if (description.switches.empty()) {
        levels = one_group(node_names);
        form = fabric_form::unknown;
        out.notes.push_back({severity::info, "fabric",
                             "the fabric is unknown; every node is taken to reach every other",
                             "import topology.conf or ibnetdiscover output"});
    } else {
        if (form == fabric_form::unknown) form = fabric_form::tree;
        auto made = build_tree(description, node_names, out.notes);
        if (!made) return made.failure();
        levels = *std::move(made);
    }
    std::vector<cost> costs = all_costs(description, std::max(levels.size(), separations), out.notes);
    out.built = std::make_unique<const grouped_fabric>(form, std::move(levels), std::move(costs), std::move(shape),
                                                       description.spare_nodes);
    return out;
}

}  // namespace topo

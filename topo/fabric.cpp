// SPDX-License-Identifier: Apache-2.0
#include "topo/fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <unordered_map>
#include <utility>

#include "topo/counted.hpp"
#include "topo/fabric_check.hpp"
#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

constexpr int max_levels = 64;
constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

// Lists of ids of many groups in one block: list i is ids[start[i]] … ids[start[i + 1] - 1].
template <class Id>
struct id_lists {
    std::vector<std::uint32_t> start{0};
    std::vector<Id> ids;
    [[nodiscard]] std::span<const Id> of(std::size_t i) const noexcept {
        return {ids.data() + start[i], ids.data() + start[i + 1]};
    }
    // owner[k] is the list of item k, or an invalid id; items end up ascending in each list.
    void fill(std::size_t lists, std::span<const group_id> owner) {
        start.assign(lists + 1, 0);
        for (const group_id g : owner)
            if (g.valid()) ++start[g.value + 1];
        for (std::size_t i = 0; i < lists; ++i) start[i + 1] += start[i];
        ids.resize(start[lists]);
        std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
        for (std::size_t k = 0; k < owner.size(); ++k)
            if (owner[k].valid()) ids[next[owner[k].value]++] = Id(k);
    }
};

struct level_data {
    std::vector<group_id> parent;
    std::vector<double> capacity;
    std::vector<std::string> names;
    id_lists<group_id> children;
    id_lists<node_id> nodes;
    std::vector<group_id> group_of;  // [node]

    [[nodiscard]] std::size_t size() const noexcept { return parent.size(); }
    group_id add(std::string name, double up) {
        names.push_back(std::move(name));
        capacity.push_back(up);
        parent.emplace_back();
        return group_id(size() - 1);
    }
};

class grouped_fabric final : public fabric {
public:
    grouped_fabric(fabric_form form, std::vector<level_data> levels, std::vector<cost> costs)
        : form_(form), levels_(std::move(levels)), costs_(std::move(costs)) {}

    [[nodiscard]] fabric_form form() const noexcept override { return form_; }
    [[nodiscard]] int levels() const noexcept override { return static_cast<int>(levels_.size()); }
    [[nodiscard]] std::uint32_t groups(int level) const noexcept override {
        return static_cast<std::uint32_t>(at(level).size());
    }
    [[nodiscard]] group_id group_of(node_id node, int level) const noexcept override {
        return at(level).group_of[node.value];
    }
    [[nodiscard]] group_id parent(int level, group_id group) const noexcept override {
        return at(level).parent[group.value];
    }
    [[nodiscard]] std::span<const group_id> children(int level, group_id group) const noexcept override {
        return level == 0 ? std::span<const group_id>{} : at(level).children.of(group.value);
    }
    [[nodiscard]] std::span<const node_id> nodes(int level, group_id group) const noexcept override {
        return at(level).nodes.of(group.value);
    }
    [[nodiscard]] std::string_view name(int level, group_id group) const noexcept override {
        return at(level).names[group.value];
    }
    [[nodiscard]] int level_of(node_id a, node_id b) const noexcept override {
        for (std::size_t l = 0; l < levels_.size(); ++l) {
            const group_id g = levels_[l].group_of[a.value];
            if (g.valid() && g == levels_[l].group_of[b.value]) return static_cast<int>(l);
        }
        return unreachable_level;
    }
    [[nodiscard]] double capacity(int level, group_id group) const noexcept override {
        return at(level).capacity[group.value];
    }
    [[nodiscard]] const cost& level_cost(int level) const noexcept override {
        return costs_[static_cast<std::size_t>(level)];
    }

private:
    [[nodiscard]] const level_data& at(int level) const noexcept { return levels_[static_cast<std::size_t>(level)]; }

    fabric_form form_;
    std::vector<level_data> levels_;
    std::vector<cost> costs_;
};

error as_error(const finding& f) { return {errc::bad_input, f.where, f.what, f.remedy}; }

std::string shortened(const std::vector<std::string>& names) {
    constexpr std::size_t longest = 200;
    return fmt::format("{} ({})", names.size(), shown(compress_hostlist(names), longest));
}

// Blocks become a tree: Slurm's BlockSizes join runs of blocks in file order, and one group joins all.
std::vector<switch_description> tree_of_blocks(const fabric_description& d) {
    std::vector<switch_description> all = d.switches;
    std::size_t first = 0;
    std::size_t count = all.size();
    std::size_t joined = 1;  // blocks in each group of the last level made
    const auto join = [&](std::size_t run) {
        const std::size_t made = all.size();
        for (std::size_t i = 0; i < count; i += run) {
            switch_description group;
            for (std::size_t k = i; k < std::min(count, i + run); ++k) group.switches.push_back(all[first + k].name);
            all.push_back(std::move(group));
        }
        first = made;
        count = all.size() - made;
    };
    std::string prefix = "blocks";  // longer than any that the file uses
    for (const auto& s : d.switches)
        while (s.name.starts_with(prefix)) prefix += '_';
    const auto name_groups = [&](int level) {
        for (std::size_t i = 0; i < count; ++i) all[first + i].name = fmt::format("{}-{}-{}", prefix, level, i);
    };
    int level = 0;
    for (std::size_t s = 1; s < d.block_sizes.size() && count > 1; ++s) {
        const std::size_t wanted = d.block_sizes[s] / d.block_sizes.front();
        if (wanted <= joined || wanted % joined != 0) continue;
        join(wanted / joined);
        name_groups(++level);
        joined = wanted;
    }
    if (count > 1) {
        join(count);
        name_groups(++level);
    }
    return all;
}

class tree_builder {
public:
    tree_builder(std::vector<switch_description> switches, std::span<const std::string> node_names)
        : switches_(std::move(switches)),
          node_names_(node_names),
          parent_(switches_.size(), nowhere),
          direct_(switches_.size()),
          kept_(switches_.size(), false),
          height_(switches_.size(), 0) {}

    result<std::vector<level_data>> build(findings& notes) {
        link();
        attach_nodes(notes);
        if (const std::size_t deepest = measure(); deepest >= max_levels)
            return error{errc::limit, switches_.front().where,
                         fmt::format("the fabric is {} switch levels deep; {} at most", deepest + 1, max_levels),
                         "leave out switches that only chain to one another"};
        make_groups();
        spread();
        return std::move(levels_);
    }

private:
    void link() {
        std::unordered_map<std::string_view, std::size_t> by_name;
        for (std::size_t i = 0; i < switches_.size(); ++i) by_name.emplace(switches_[i].name, i);
        for (std::size_t i = 0; i < switches_.size(); ++i)
            for (const auto& child : switches_[i].switches)
                if (const auto found = by_name.find(child); found != by_name.end()) parent_[found->second] = i;
    }

    void attach_nodes(findings& notes) {
        std::unordered_map<std::string_view, std::uint32_t> ids;
        ids.reserve(node_names_.size());
        for (std::size_t n = 0; n < node_names_.size(); ++n) ids.emplace(node_names_[n], static_cast<std::uint32_t>(n));
        std::vector<bool> hangs(node_names_.size(), false);
        for (std::size_t i = 0; i < switches_.size(); ++i) {
            std::vector<std::string> strangers;
            for (const auto& name : switches_[i].nodes) {
                if (const auto found = ids.find(name); found != ids.end()) {
                    direct_[i].emplace_back(found->second);
                    hangs[found->second] = true;
                } else {
                    strangers.push_back(name);
                }
            }
            if (!strangers.empty())
                notes.push_back({severity::warning, switches_[i].where,
                                 fmt::format("{} names nodes that the cluster does not have: {}",
                                             shown(switches_[i].name), shortened(strangers)),
                                 "give them a class, or take them out of the fabric"});
        }
        std::vector<std::string> loose;
        for (std::size_t n = 0; n < hangs.size(); ++n)
            if (!hangs[n]) loose.push_back(node_names_[n]);
        if (!loose.empty())
            notes.push_back({severity::warning, "fabric",
                             fmt::format("nodes that hang under no switch: {}", shortened(loose)),
                             "add them to a switch; until then they only run jobs of one node"});
    }

    // Keeps the switches with nodes below and sets their heights, from the leaves up; the greatest height.
    std::size_t measure() {
        std::vector<std::size_t> waiting(switches_.size(), 0);
        for (const std::size_t p : parent_)
            if (p != nowhere) ++waiting[p];
        std::vector<std::size_t> order;
        for (std::size_t i = 0; i < waiting.size(); ++i)
            if (waiting[i] == 0) order.push_back(i);
        std::size_t deepest = 0;
        for (std::size_t k = 0; k < order.size(); ++k) {
            const std::size_t i = order[k];
            if (!direct_[i].empty()) kept_[i] = true;
            const std::size_t p = parent_[i];
            if (kept_[i]) {
                deepest = std::max(deepest, height_[i]);
                if (p != nowhere) {
                    kept_[p] = true;
                    height_[p] = std::max(height_[p], height_[i] + 1);
                }
            }
            if (p != nowhere && --waiting[p] == 0) order.push_back(p);
        }
        levels_.resize(std::count(kept_.begin(), kept_.end(), true) == 0 ? 0 : deepest + 1);
        return deepest;
    }

    // A switch has a group at its own height and one at each height up to below its parent's, so
    // that every path passes every level. Nodes on a switch that also has child switches get such
    // groups below it as well.
    void make_groups() {
        for (auto& l : levels_) l.group_of.resize(node_names_.size());
        std::vector<group_id> own(switches_.size());
        std::vector<group_id> top(switches_.size());
        for (std::size_t i = 0; i < switches_.size(); ++i) {
            if (!kept_[i]) continue;
            constexpr double unlimited = std::numeric_limits<double>::infinity();
            group_id below;
            if (!direct_[i].empty())
                for (std::size_t l = 0; l < height_[i]; ++l) below = chain(below, l, switches_[i].name, unlimited);
            const std::size_t end = parent_[i] == nowhere ? levels_.size() : height_[parent_[i]];
            const double up = switches_[i].uplink_gb_per_s.value_or(unlimited);
            for (std::size_t l = height_[i]; l < end; ++l) {
                below = chain(below, l, switches_[i].name, up);
                if (l == height_[i]) own[i] = below;
            }
            top[i] = below;
            if (direct_[i].empty()) continue;
            // The lowest group made for this switch is the last one added at level 0.
            const group_id leaf(levels_[0].size() - 1);
            for (const node_id n : direct_[i]) levels_[0].group_of[n.value] = leaf;
        }
        for (std::size_t i = 0; i < switches_.size(); ++i)
            if (kept_[i] && parent_[i] != nowhere)
                levels_[height_[parent_[i]] - 1].parent[top[i].value] = own[parent_[i]];
    }

    group_id chain(group_id below, std::size_t level, const std::string& name, double up) {
        const group_id made = levels_[level].add(name, up);
        if (below.valid()) levels_[level - 1].parent[below.value] = made;
        return made;
    }

    // From parents and level 0 to the memberships of every level.
    void spread() {
        for (std::size_t l = 0; l < levels_.size(); ++l) {
            level_data& level = levels_[l];
            if (l > 0) {
                const level_data& low = levels_[l - 1];
                for (std::size_t n = 0; n < node_names_.size(); ++n)
                    if (low.group_of[n].valid()) level.group_of[n] = low.parent[low.group_of[n].value];
                level.children.fill(level.size(), low.parent);
            }
            level.nodes.fill(level.size(), level.group_of);
        }
    }

    std::vector<switch_description> switches_;
    std::span<const std::string> node_names_;
    std::vector<std::size_t> parent_;
    std::vector<std::vector<node_id>> direct_;
    std::vector<bool> kept_;
    std::vector<std::size_t> height_;
    std::vector<level_data> levels_;
};

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
        for (std::size_t l = costs.size(); l < wanted; ++l)
            costs.push_back(estimated_level_cost(static_cast<int>(l), nvlink));
    }
    costs.resize(wanted);
    return costs;
}

// Forms with switch lines but no own model yet are placed as the tree their lines make.
fabric_form built_form(const fabric_description& d, findings& notes) {
    switch (d.form) {
        case fabric_form::tree:
        case fabric_form::block:
        case fabric_form::nvlink_domain: return d.form;
        case fabric_form::unknown: return fabric_form::tree;
        default: break;
    }
    notes.push_back({severity::warning, "fabric",
                     fmt::format("a {} fabric is placed as the tree that its switches make", name_of(d.form)),
                     "check that the tree's levels stand for your groups"});
    return d.form;
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
    fabric_form form = fabric_form::unknown;
    if (description.switches.empty()) {
        levels = one_group(node_names);
        out.notes.push_back({severity::info, "fabric",
                             "the fabric is unknown; every node is taken to reach every other",
                             "import topology.conf or ibnetdiscover output"});
    } else {
        form = built_form(description, out.notes);
        tree_builder builder(form == fabric_form::block ? tree_of_blocks(description) : description.switches,
                             node_names);
        auto made = builder.build(out.notes);
        if (!made) return made.failure();
        levels = *std::move(made);
    }
    std::vector<cost> costs = all_costs(description, levels.size(), out.notes);
    out.built = std::make_unique<const grouped_fabric>(form, std::move(levels), std::move(costs));
    return out;
}

}  // namespace topo

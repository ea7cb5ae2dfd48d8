// SPDX-License-Identifier: Apache-2.0
// Fabrics of switches: trees of any depth, blocks, NVLink domains, rail-optimised fabrics, dragonflies.
#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "topo/fabric_groups.hpp"
#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

constexpr int max_levels = 64;
constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

// `wanted`, longer until no switch of the file begins with it.
std::string unused_prefix(const fabric_description& d, std::string wanted) {
    for (const auto& s : d.switches)
        while (s.name.starts_with(wanted)) wanted += '_';
    return wanted;
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
    const std::string prefix = unused_prefix(d, "blocks");
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

// The groups of a dragonfly all reach one another: top switches without a common root get one.
std::vector<switch_description> joined_groups(const fabric_description& d) {
    std::vector<switch_description> all = d.switches;
    std::unordered_set<std::string_view> below;
    for (const auto& s : d.switches) below.insert(s.switches.begin(), s.switches.end());
    switch_description root;
    for (const auto& s : d.switches)
        if (!below.contains(s.name)) root.switches.push_back(s.name);
    if (root.switches.size() < 2) return all;
    root.name = unused_prefix(d, "global");
    all.push_back(std::move(root));
    return all;
}

class tree_builder {
public:
    tree_builder(std::vector<switch_description> switches, std::span<const std::string> node_names, bool all_reduce)
        : switches_(std::move(switches)),
          all_reduce_(all_reduce),
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
                                             shown(switches_[i].name), counted_names(strangers)),
                                 "give them a class, or take them out of the fabric"});
        }
        std::vector<std::string> loose;
        for (std::size_t n = 0; n < hangs.size(); ++n)
            if (!hangs[n]) loose.push_back(node_names_[n]);
        if (!loose.empty())
            notes.push_back({severity::warning, "fabric",
                             fmt::format("nodes that hang under no switch: {}", counted_names(loose)),
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
                for (std::size_t l = 0; l < height_[i]; ++l) below = chain(below, l, i, unlimited);
            const std::size_t end = parent_[i] == nowhere ? levels_.size() : height_[parent_[i]];
            const double up = switches_[i].uplink_gb_per_s.value_or(unlimited);
            for (std::size_t l = height_[i]; l < end; ++l) {
                below = chain(below, l, i, up);
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

    group_id chain(group_id below, std::size_t level, std::size_t of, double up) {
        const switch_description& s = switches_[of];
        const group_id made = levels_[level].add(s.name, up, s.in_network_reduction.value_or(all_reduce_));
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
    bool all_reduce_;
    std::span<const std::string> node_names_;
    std::vector<std::size_t> parent_;
    std::vector<std::vector<node_id>> direct_;
    std::vector<bool> kept_;
    std::vector<std::size_t> height_;
    std::vector<level_data> levels_;
};

}  // namespace

std::string counted_names(const std::vector<std::string>& names) {
    constexpr std::size_t longest = 200;
    return fmt::format("{} ({})", names.size(), shown(compress_hostlist(names), longest));
}

result<std::vector<level_data>> build_tree(const fabric_description& d, std::span<const std::string> node_names,
                                           findings& notes) {
    std::vector<switch_description> switches = d.form == fabric_form::block       ? tree_of_blocks(d)
                                               : d.form == fabric_form::dragonfly ? joined_groups(d)
                                                                                  : d.switches;
    return tree_builder(std::move(switches), node_names, d.in_network_reduction).build(notes);
}

}  // namespace topo

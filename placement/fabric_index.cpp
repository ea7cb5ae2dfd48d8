// SPDX-License-Identifier: Apache-2.0
#include "placement/fabric_index.hpp"

#include <algorithm>

namespace placement {

fabric_index::fabric_index(const topo::cluster& c)
    : form_(c.network().form()), spare_nodes_(c.network().spare_nodes()) {
    const topo::fabric& net = c.network();
    const std::size_t nodes = c.nodes().size();
    const std::size_t levels = static_cast<std::size_t>(std::max(1, net.levels()));
    tiers_.resize(levels);
    above_.assign(nodes * levels, no_group);
    for (int level = 0; level < net.levels(); ++level) {
        tier& t = tiers_[static_cast<std::size_t>(level)];
        t.groups = net.groups(level);
        for (std::uint32_t g = 0; g < t.groups; ++g) {
            t.parent.push_back(level + 1 < net.levels() ? net.parent(level, topo::group_id(g)).value : no_group);
            t.capacity.push_back(net.capacity(level, topo::group_id(g)));
            t.aggregates.push_back(net.in_network_reduction(level, topo::group_id(g)));
        }
        for (std::uint32_t n = 0; n < nodes; ++n)
            above_[n * levels + static_cast<std::size_t>(level)] = net.group_of(topo::node_id(n), level).value;
    }
    for (int i = 0; i < net.separations(); ++i) costs_.push_back(net.level_cost(i));
    add_lone_leaves(nodes);
    for (std::size_t level = 0; level < levels; ++level) {
        tier& t = tiers_[level];
        t.nodes.assign(t.groups, 0);
        for (std::size_t n = 0; n < nodes; ++n)
            if (above_[n * levels + level] != no_group) ++t.nodes[above_[n * levels + level]];
    }
    link_children();
    cut_runs(nodes);
    find_reducing();
    place_in_grid(net, nodes);
}

void fabric_index::find_reducing() {
    for (std::size_t level = 0; level < tiers_.size(); ++level) {
        tier& t = tiers_[level];
        t.all_reduce = t.aggregates;
        for (std::uint32_t g = 0; g < t.groups; ++g)
            for (const auto c : children(static_cast<int>(level), g))
                if (!tiers_[level - 1].all_reduce[c]) t.all_reduce[g] = false;
    }
}

void fabric_index::place_in_grid(const topo::fabric& net, std::size_t node_count) {
    dims_.assign(net.dims().begin(), net.dims().end());
    if (dims_.empty()) return;
    coordinates_.assign(node_count * dims_.size(), nowhere);
    for (std::size_t n = 0; n < node_count; ++n) {
        const topo::position_id at = net.position(topo::node_id(n));
        position_.push_back(at.value);
        if (!at.valid()) continue;
        std::uint32_t rest = at.value;
        for (std::size_t d = dims_.size(); d-- > 0; rest /= dims_[d])
            coordinates_[n * dims_.size() + d] = static_cast<std::uint16_t>(rest % dims_[d]);
    }
}

void fabric_index::add_lone_leaves(std::size_t node_count) {
    const std::size_t levels = tiers_.size();
    tier& leaves = tiers_.front();
    for (std::size_t n = 0; n < node_count; ++n) {
        std::uint32_t& leaf = above_[n * levels];
        if (leaf != no_group) continue;
        leaf = leaves.groups++;
        leaves.parent.push_back(levels > 1 ? above_[n * levels + 1] : no_group);
        leaves.capacity.push_back(std::numeric_limits<double>::infinity());
        leaves.aggregates.push_back(false);
    }
}

void fabric_index::link_children() {
    for (std::size_t level = 0; level < tiers_.size(); ++level) {
        tier& t = tiers_[level];
        t.child_begin.assign(t.groups + 1, 0);
        if (level == 0) continue;
        const tier& below = tiers_[level - 1];
        for (const auto parent : below.parent)
            if (parent != no_group) ++t.child_begin[parent + 1];
        for (std::size_t g = 0; g < t.groups; ++g) t.child_begin[g + 1] += t.child_begin[g];
        t.children.resize(t.child_begin.back());
        std::vector<std::uint32_t> next(t.child_begin.begin(), t.child_begin.end() - 1);
        for (std::uint32_t g = 0; g < below.groups; ++g)
            if (below.parent[g] != no_group) t.children[next[below.parent[g]]++] = g;
    }
}

void fabric_index::cut_runs(std::size_t node_count) {
    const std::size_t levels = tiers_.size();
    std::vector<std::vector<run>> by_leaf(tiers_.front().groups);
    for (std::size_t n = 0; n < node_count; ++n) {
        auto& list = by_leaf[above_[n * levels]];
        const auto word = static_cast<std::uint32_t>(n / 64);
        if (list.empty() || list.back().word != word) list.push_back({word, 0});
        list.back().mask |= std::uint64_t{1} << (n % 64);
    }
    run_begin_.push_back(0);
    for (const auto& list : by_leaf) {
        runs_.insert(runs_.end(), list.begin(), list.end());
        run_begin_.push_back(static_cast<std::uint32_t>(runs_.size()));
    }
}

}  // namespace placement

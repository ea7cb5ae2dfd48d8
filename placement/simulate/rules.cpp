// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/rules.hpp"

#include <algorithm>

namespace placement::simulate {

std::string_view name_of(rule r) noexcept {
    switch (r) {
        case rule::linear: return "linear";
        case rule::slurm_tree: return "slurm-tree";
        case rule::slurm_block: return "slurm-block";
        case rule::kueue_bestfit: break;
    }
    return "kueue-bestfit";
}

std::optional<rule> rule_named(std::string_view text) noexcept {
    for (const auto r : {rule::linear, rule::slurm_tree, rule::slurm_block, rule::kueue_bestfit})
        if (text == name_of(r)) return r;
    return std::nullopt;
}

node_rules::node_rules(const fabric_index& net, std::vector<std::uint32_t> block_sizes) : net_(&net) {
    const std::uint32_t leaves = net.groups(0);
    in_leaf_.resize(leaves);
    std::uint32_t nodes_in_block = 1;
    for (std::uint32_t leaf = 0; leaf < leaves; ++leaf) {
        for (const auto& run : net.runs(leaf))
            for (std::uint32_t bit = 0; bit < 64; ++bit)
                if ((run.mask >> bit & 1u) != 0) in_leaf_[leaf].push_back(run.word * 64 + bit);
        std::sort(in_leaf_[leaf].begin(), in_leaf_[leaf].end());
        nodes_in_block = std::max(nodes_in_block, net.nodes_in(0, leaf));
    }
    for (int level = 0; level < net.levels(); ++level) count_.emplace_back(net.groups(level), 0u);
    std::uint32_t node_count = 0;
    for (const auto& nodes : in_leaf_)
        for (const auto n : nodes) node_count = std::max(node_count, n + 1);
    eligible_.assign(node_count, 0);

    std::sort(block_sizes.begin(), block_sizes.end());
    if (!block_sizes.empty() && block_sizes.front() > 0) {
        for (const auto size : block_sizes) blocks_in_.push_back(std::max(1u, size / block_sizes.front()));
    } else {
        for (std::uint32_t blocks = 1; blocks < 2 * leaves; blocks *= 2) blocks_in_.push_back(blocks);
    }
}

// in_pods: as many pods of this size as a node holds, else 1 a node that has room for its part.
void node_rules::count(const shape& s, const pool& free, std::uint32_t root, bool in_pods) {
    for (auto& level : count_) std::fill(level.begin(), level.end(), 0u);
    for (std::uint32_t n = 0; n < free.node_count(); ++n) {
        const unsigned has = free.free_count(n);
        const bool yes = has >= s.per_node && free.root_of(n) == root;
        eligible_[n] = yes ? 1 : 0;
        if (!yes) continue;
        const std::uint32_t add = in_pods ? has / s.per_node : 1;
        for (int level = 0; level < net_->levels(); ++level)
            if (const std::uint32_t g = net_->group_of(n, level); g != no_group)
                count_[static_cast<std::size_t>(level)][g] += add;
    }
}

bool node_rules::choose(rule by, const shape& s, const pool& free, std::vector<std::uint32_t>& out) {
    out.clear();
    for (std::uint32_t root = 0; root < free.roots(); ++root) {
        if (!free.fits_in(root, s)) continue;
        count(s, free, root, by == rule::kueue_bestfit && s.nodes == 1);
        switch (by) {
            case rule::linear: linear(s, out); break;
            case rule::slurm_tree: tree(s, out); break;
            case rule::slurm_block: block(s, out); break;
            case rule::kueue_bestfit: kueue(s, free, out); break;
        }
        std::sort(out.begin(), out.end());
        return out.size() == s.nodes && add_last(s, free, root, out);
    }
    return false;
}

void node_rules::linear(const shape& s, std::vector<std::uint32_t>& out) const {
    for (std::uint32_t n = 0; n < eligible_.size() && out.size() < s.nodes; ++n)
        if (eligible_[n] != 0) out.push_back(n);
}

void node_rules::take_from_leaf(std::uint32_t leaf, std::uint32_t most, std::vector<std::uint32_t>& out) const {
    for (const auto n : in_leaf_[leaf]) {
        if (most == 0) return;
        if (eligible_[n] == 0) continue;
        out.push_back(n);
        --most;
    }
}

// Levels up to the first group that holds both; leaves that never meet are far from one another.
int node_rules::distance(std::uint32_t a, std::uint32_t b) const noexcept {
    if (a == b) return 0;
    int level = 0;
    while (level + 1 < net_->levels() && a != b) {
        if (a == no_group || b == no_group) return net_->levels();
        a = net_->parent(level, a);
        b = net_->parent(level, b);
        ++level;
    }
    return a == b && a != no_group ? level : net_->levels();
}

void node_rules::tree(const shape& s, std::vector<std::uint32_t>& out) {
    int level = 0;
    std::uint32_t top = no_group;
    for (; level < net_->levels(); ++level) {
        const auto& here = count_[static_cast<std::size_t>(level)];
        for (std::uint32_t g = 0; g < here.size(); ++g)
            if (here[g] >= s.nodes && (top == no_group || here[g] < here[top])) top = g;
        if (top != no_group) break;
    }
    if (top == no_group) return;
    std::vector<std::uint32_t> leaves;
    for (std::uint32_t leaf = 0; leaf < net_->groups(0); ++leaf) {
        std::uint32_t above = leaf;
        for (int l = 0; l < level && above != no_group; ++l) above = net_->parent(l, above);
        if (above == top && count_[0][leaf] > 0) leaves.push_back(leaf);
    }
    // First the best fit of all leaves; each further one must be no worse a fit than any nearer to the first.
    std::uint32_t first = no_group;
    std::uint32_t rest = s.nodes;
    const auto better_fit = [&](std::uint32_t a, std::uint32_t b) {  // > 0: a, < 0: b
        const std::uint32_t in_a = count_[0][a];
        const std::uint32_t in_b = count_[0][b];
        if ((in_a >= rest) != (in_b >= rest)) return in_a >= rest ? 1 : -1;
        if (in_a == in_b) return 0;
        return (in_a < in_b) == (in_a >= rest) ? 1 : -1;
    };
    while (rest > 0 && !leaves.empty()) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < leaves.size(); ++i) {
            const int fit = better_fit(leaves[i], leaves[best]);
            const int near_i = first == no_group ? 0 : distance(first, leaves[i]);
            const int near_best = first == no_group ? 0 : distance(first, leaves[best]);
            if ((near_i < near_best && fit >= 0) || (near_i == near_best && fit > 0)) best = i;
        }
        const std::uint32_t leaf = leaves[best];
        if (first == no_group) first = leaf;
        const std::uint32_t take = std::min(rest, count_[0][leaf]);
        take_from_leaf(leaf, take, out);
        rest -= take;
        leaves.erase(leaves.begin() + static_cast<std::ptrdiff_t>(best));
    }
}

void node_rules::block(const shape& s, std::vector<std::uint32_t>& out) {
    const std::uint32_t leaves = net_->groups(0);
    std::uint32_t begin = 0;
    std::uint32_t end = leaves;
    std::uint32_t least = no_group;
    for (const auto size : blocks_in_) {
        for (std::uint32_t from = 0; from < leaves; from += size) {
            const std::uint32_t to = std::min(leaves, from + size);
            std::uint32_t has = 0;
            for (std::uint32_t b = from; b < to; ++b) has += count_[0][b];
            if (has < s.nodes || has >= least) continue;
            least = has;
            begin = from;
            end = to;
        }
        if (least != no_group) break;
    }
    std::vector<std::uint32_t> left;
    for (std::uint32_t b = begin; b < end; ++b)
        if (count_[0][b] > 0) left.push_back(b);
    for (std::uint32_t rest = s.nodes; rest > 0 && !left.empty();) {
        std::size_t best = 0;
        for (std::size_t i = 1; i < left.size(); ++i) {
            const std::uint32_t a = count_[0][left[i]];
            const std::uint32_t b = count_[0][left[best]];
            if (a >= rest ? b < rest || a < b : b < rest && a > b) best = i;
        }
        const std::uint32_t take = std::min(rest, count_[0][left[best]]);
        take_from_leaf(left[best], take, out);
        rest -= take;
        left.erase(left.begin() + static_cast<std::ptrdiff_t>(best));
    }
}

// domains: (capacity, id). Leaves (wanted from it, id): one that holds the rest: the smallest such; else the largest.
void node_rules::kueue_split(std::vector<std::pair<std::uint32_t, std::uint32_t>>& domains,
                             std::uint32_t wanted) const {
    std::sort(domains.begin(), domains.end(), [](const auto& a, const auto& b) {
        return a.first != b.first ? a.first > b.first : a.second < b.second;
    });
    std::vector<std::pair<std::uint32_t, std::uint32_t>> taken;
    for (std::size_t i = 0; i < domains.size() && wanted > 0; ++i) {
        std::size_t at = i;
        if (domains[i].first >= wanted)  // the last one: the tightest of those that hold what is left
            for (std::size_t k = i + 1; k < domains.size() && domains[k].first >= wanted; ++k)
                if (domains[k].first < domains[at].first) at = k;
        const std::uint32_t take = std::min(wanted, domains[at].first);
        taken.emplace_back(take, domains[at].second);
        wanted -= take;
    }
    domains = std::move(taken);
}

void node_rules::kueue_descend(int level, std::uint32_t group, std::uint32_t wanted, const shape& s, const pool& free,
                               std::vector<std::uint32_t>& out) {
    std::vector<std::pair<std::uint32_t, std::uint32_t>> domains;
    if (level == 0) {
        for (const auto n : in_leaf_[group])
            if (eligible_[n] != 0) domains.emplace_back(s.nodes == 1 ? free.free_count(n) / s.per_node : 1, n);
        kueue_split(domains, wanted);
        for (const auto& d : domains) out.push_back(d.second);
        return;
    }
    for (const auto child : net_->children(level, group))
        if (count_[static_cast<std::size_t>(level - 1)][child] > 0)
            domains.emplace_back(count_[static_cast<std::size_t>(level - 1)][child], child);
    kueue_split(domains, wanted);
    for (const auto& d : domains) kueue_descend(level - 1, d.second, d.first, s, free, out);
}

void node_rules::kueue(const shape& s, const pool& free, std::vector<std::uint32_t>& out) {
    for (int level = 0; level < net_->levels(); ++level) {
        const auto& here = count_[static_cast<std::size_t>(level)];
        std::uint32_t best = no_group;
        for (std::uint32_t g = 0; g < here.size(); ++g)
            if (here[g] >= s.nodes && (best == no_group || here[g] < here[best])) best = g;
        if (best == no_group) continue;
        kueue_descend(level, best, s.nodes, s, free, out);
        return;
    }
}

// The odd rest: the nearest node to the first one that has room, the lowest index of those.
bool node_rules::add_last(const shape& s, const pool& free, std::uint32_t root, std::vector<std::uint32_t>& out) const {
    if (s.last == 0) return true;
    std::uint32_t best = no_group;
    int best_level = 0;
    for (std::uint32_t n = 0; n < free.node_count(); ++n) {
        if (free.root_of(n) != root || free.free_count(n) < s.last) continue;
        if (std::binary_search(out.begin(), out.end(), n)) continue;
        const int level = net_->level_of(out.front(), n);
        if (best != no_group && level >= best_level) continue;
        best = n;
        best_level = level;
    }
    if (best != no_group) out.push_back(best);
    return best != no_group;
}

}  // namespace placement::simulate

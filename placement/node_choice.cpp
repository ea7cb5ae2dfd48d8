// SPDX-License-Identifier: Apache-2.0
#include "placement/node_choice.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace placement {
namespace {

constexpr std::size_t max_reach_cells = std::size_t{1} << 15;

std::uint32_t ones(std::uint64_t word) noexcept { return static_cast<std::uint32_t>(std::popcount(word)); }

}  // namespace

node_choice::node_choice(const fabric_index& net, const node_index& nodes) : net_(&net), nodes_(&nodes) {
    std::size_t most_children = 0;
    for (int level = 0; level < net.levels(); ++level) {
        count_.emplace_back(net.groups(level), 0u);
        take_.emplace_back(net.groups(level), 0u);
        for (std::uint32_t g = 0; g < net.groups(level); ++g)
            most_children = std::max(most_children, net.children(level, g).size());
    }
    children_.reserve(most_children);
    chosen_.reserve(most_children);
    reach_.resize(most_children > 0 ? max_reach_cells : 0);
}

std::uint32_t node_choice::count_in_leaf(std::uint32_t leaf, node_index::words bits) const noexcept {
    std::uint32_t n = 0;
    for (const auto& run : net_->runs(leaf)) n += ones(bits[run.word] & run.mask);
    return n;
}

void node_choice::count(node_index::words eligible, int up_to) noexcept {
    for (std::uint32_t leaf = 0; leaf < net_->groups(0); ++leaf) count_[0][leaf] = count_in_leaf(leaf, eligible);
    if (segment_ > 1)
        for (auto& n : count_[0]) n /= segment_;
    for (int level = 1; level <= up_to; ++level) count_level(level);
}

std::uint32_t node_choice::most(node_index::words eligible) noexcept {
    count(eligible, net_->levels() - 1);
    std::uint32_t most = 0;
    for (const auto& counts : count_)
        for (const auto n : counts) most = std::max(most, n);
    return most * segment_;
}

void node_choice::count_level(int level) noexcept {
    auto& counts = count_[static_cast<std::size_t>(level)];
    const auto& below = count_[static_cast<std::size_t>(level) - 1];
    for (std::uint32_t g = 0; g < net_->groups(level); ++g) {
        std::uint32_t sum = 0;
        for (const auto c : net_->children(level, g)) sum += below[c];
        counts[g] = sum;
    }
}

// Wholly free nodes of which the job would take a part, when the leaf's other candidates do not suffice.
std::uint32_t node_choice::nodes_broken(std::uint32_t leaf, node_index::words eligible, unsigned k,
                                        std::uint32_t wanted) const noexcept {
    const node_index::words whole = nodes_->whole();
    const node_index::words exact = nodes_->of_size(k);
    std::uint32_t harmless = 0;
    for (const auto& run : net_->runs(leaf))
        harmless += ones(eligible[run.word] & run.mask & (~whole[run.word] | exact[run.word]));
    return wanted > harmless ? wanted - harmless : 0;
}

node_plan node_choice::find(node_index::words eligible, unsigned k, std::uint32_t wanted) noexcept {
    count(eligible, 0);
    wanted /= segment_;
    node_plan best;
    for (int level = 0; level < net_->levels(); ++level) {
        if (level > 0) count_level(level);
        const auto& counts = count_[static_cast<std::size_t>(level)];
        for (std::uint32_t g = 0; g < net_->groups(level); ++g) {
            if (counts[g] < wanted) continue;
            node_plan now;
            now.key.level = level;
            now.key.candidates = counts[g];
            now.key.group = g;
            if (level == 0) {
                now.key.children = 1;
                now.key.left_over = segment_ == 1 ? counts[g] - wanted : count_in_leaf(g, eligible) - wanted * segment_;
                now.key.untouched_broken = now.key.left_over > 0 && nodes_->untouched(0, g) ? 1 : 0;
                if (best.found() && best.key.nodes_broken == 0 && best.key < now.key) continue;
                now.key.nodes_broken = nodes_broken(g, eligible, k, wanted * segment_);
            } else {
                now.key.children = sort_children(level, g, wanted);
                if (best.found() && now.key.children > best.key.children) continue;
                plan_children(wanted, now.key);
            }
            if (!best.found() || now.key < best.key) best = now;
        }
        if (best.found()) return best;
    }
    return best;
}

// Fills children_ with those that have candidates, most first (ties: lower id); returns the least number that holds the
// job.
std::uint32_t node_choice::sort_children(int level, std::uint32_t group, std::uint32_t wanted) noexcept {
    children_.clear();
    const auto& counts = count_[static_cast<std::size_t>(level) - 1];
    for (const auto c : net_->children(level, group))
        if (counts[c] > 0) children_.push_back({counts[c], c, nodes_->untouched(level - 1, c)});
    std::sort(children_.begin(), children_.end(), [](const child& a, const child& b) {
        return a.count != b.count ? a.count > b.count : a.group < b.group;
    });
    std::uint32_t m = 0;
    for (std::uint32_t sum = 0; sum < wanted; ++m) sum += children_[m].count;
    return m;
}

// After sort_children: picks the set (chosen_) and writes what it costs into the key.
void node_choice::plan_children(std::uint32_t wanted, node_plan::key_type& key) noexcept {
    const std::uint32_t m = key.children;
    std::uint32_t most = 0;
    for (std::uint32_t i = 0; i < m; ++i) most += children_[i].count;
    const std::uint32_t slack = most - wanted;
    chosen_.clear();
    if (slack == 0) {
        for (std::uint32_t i = 0; i < m; ++i) chosen_.push_back(i);
    } else {
        take_greedily(m, wanted);
        std::uint32_t sum = 0;
        for (const auto i : chosen_) sum += children_[i].count;
        if (sum != wanted) search_children(m, slack);
    }
    std::uint32_t sum = 0;
    bool touched = false;
    for (const auto i : chosen_) {
        sum += children_[i].count;
        touched |= !children_[i].untouched;
    }
    key.left_over = sum - wanted;
    key.untouched_broken = key.left_over > 0 && !touched ? 1 : 0;
}

// The m − 1 largest, then the smallest that holds the rest (ties: a touched one).
void node_choice::take_greedily(std::uint32_t m, std::uint32_t wanted) noexcept {
    std::uint32_t rest = wanted;
    for (std::uint32_t i = 0; i + 1 < m; ++i) {
        chosen_.push_back(i);
        rest -= children_[i].count;
    }
    std::uint32_t last = m - 1;
    for (std::uint32_t i = m; i < children_.size() && children_[i].count >= rest; ++i)
        if (children_[i].count < children_[last].count || (children_[last].untouched && !children_[i].untouched))
            last = i;
    chosen_.push_back(last);
}

// Among the sets of m children: no untouched one broken, then the fewest nodes left over. A set in order of size is,
// child by child, no larger than the largest set; r adds up by how much. Replaces chosen_ when the table fits.
bool node_choice::search_children(std::uint32_t m, std::uint32_t slack) noexcept {
    if (slack >= 64) return false;
    std::uint32_t items = m;
    while (items < children_.size() && children_[items].count + slack >= children_[m - 1].count) ++items;
    const std::size_t columns = m + 1;
    if ((items + 1) * columns > reach_.size()) return false;
    const std::uint64_t within = slack == 63 ? ~std::uint64_t{0} : (std::uint64_t{1} << (slack + 1)) - 1;
    const auto cell = [&](std::uint32_t i, std::uint32_t j) -> reach& { return reach_[i * columns + j]; };
    std::fill(reach_.begin(), reach_.begin() + static_cast<std::ptrdiff_t>(columns), reach{});
    cell(0, 0).any = 1;
    for (std::uint32_t i = 0; i < items; ++i) {
        const child& c = children_[i];
        cell(i + 1, 0) = cell(i, 0);
        for (std::uint32_t j = 1; j <= m; ++j) {
            reach now = cell(i, j);
            const std::uint32_t below = children_[j - 1].count - c.count;  // i ≥ j − 1 where it can be taken
            if (i + 1 >= j && below <= slack) {
                const reach& before = cell(i, j - 1);
                now.any |= (before.any << below) & within;
                now.touched |= ((c.untouched ? before.touched : before.any) << below) & within;
            }
            cell(i + 1, j) = now;
        }
    }
    const reach& end = cell(items, m);
    bool touched = end.touched != 0 && ((end.any >> slack) & 1) == 0;
    std::uint64_t goal = touched ? end.touched : end.any;
    std::uint32_t r = static_cast<std::uint32_t>(63 - std::countl_zero(goal));
    chosen_.clear();
    for (std::uint32_t i = items, j = m; j > 0; --i) {  // leaves out what it can: the lower ids stay
        const reach& without = cell(i - 1, j);
        if (((touched ? without.touched : without.any) >> r) & 1) continue;
        const child& c = children_[i - 1];
        r -= children_[j - 1].count - c.count;
        if (!c.untouched) touched = false;
        chosen_.push_back(i - 1);
        --j;
    }
    return true;
}

// Writes chosen_ into take_: everything of each child but one, which gets the rest. That one is touched already if any
// is.
void node_choice::split(int level, std::uint32_t wanted) noexcept {
    auto& take = take_[static_cast<std::size_t>(level) - 1];
    std::uint32_t sum = 0;
    std::uint32_t part = chosen_.front();
    for (const auto i : chosen_) {
        sum += children_[i].count;
        take[children_[i].group] = children_[i].count;
        const child& a = children_[i];
        const child& b = children_[part];
        if (std::tuple(a.untouched, a.count, a.group) < std::tuple(b.untouched, b.count, b.group)) part = i;
    }
    take[children_[part].group] -= sum - wanted;
}

node_plan node_choice::spread(const node_plan& packed, std::uint32_t wanted, std::uint32_t children) noexcept {
    wanted /= segment_;
    if (packed.key.level == 0) return {};
    const std::uint32_t least = sort_children(packed.key.level, packed.key.group, wanted);
    if (children < least || children > std::min<std::size_t>(children_.size(), wanted)) return {};
    choose_evenly(children, wanted);
    node_plan out = packed;
    out.even_over = out.key.children = children;
    out.key.left_over = out.key.untouched_broken = 0;
    for (const auto i : chosen_) {
        out.key.left_over += children_[i].count;
        out.key.untouched_broken += children_[i].untouched ? 1 : 0;
    }
    out.key.left_over -= wanted;
    return out;
}

// After sort_children: the smallest that hold an equal share; where those are too few, the largest.
void node_choice::choose_evenly(std::uint32_t m, std::uint32_t wanted) noexcept {
    const std::uint32_t share = (wanted + m - 1) / m;
    std::uint32_t enough = 0;
    while (enough < children_.size() && children_[enough].count >= share) ++enough;
    chosen_.clear();
    for (std::uint32_t i = 0; i < m; ++i) chosen_.push_back(std::max(enough, m) - m + i);
}

// From the smallest on: what is left, shared equally among those that are left.
void node_choice::split_evenly(int level, std::uint32_t wanted) noexcept {
    auto& take = take_[static_cast<std::size_t>(level) - 1];
    std::uint32_t rest = wanted;
    for (auto left = static_cast<std::uint32_t>(chosen_.size()); left > 0; --left) {
        const child& c = children_[chosen_[left - 1]];
        const std::uint32_t here = std::min(c.count, (rest + left - 1) / left);
        take[c.group] = here;
        rest -= here;
    }
}

void node_choice::collect(const node_plan& plan, node_index::words eligible, unsigned k, std::uint32_t wanted,
                          std::vector<node_share>& out) noexcept {
    walk(plan.key.level, plan.key.group, wanted / segment_, eligible, k, out, plan.even_over);
}

void node_choice::walk(int level, std::uint32_t group, std::uint32_t wanted, node_index::words eligible, unsigned k,
                       std::vector<node_share>& out, std::uint32_t even_over) noexcept {
    if (level == 0) return take_leaf(group, wanted * segment_, eligible, k, out);
    auto& take = take_[static_cast<std::size_t>(level) - 1];
    const auto& counts = count_[static_cast<std::size_t>(level) - 1];
    if (wanted == count_[static_cast<std::size_t>(level)][group]) {
        for (const auto c : net_->children(level, group))
            if (counts[c] > 0) walk(level - 1, c, counts[c], eligible, k, out);
        return;
    }
    node_plan::key_type key;
    key.children = sort_children(level, group, wanted);
    if (even_over > 0) {
        choose_evenly(even_over, wanted);
        split_evenly(level, wanted);
    } else {
        plan_children(wanted, key);
        split(level, wanted);
    }
    for (const auto c : net_->children(level, group)) {
        const std::uint32_t here = take[c];
        take[c] = 0;
        if (here > 0) walk(level - 1, c, here, eligible, k, out);
    }
}

// Nodes that are not whole first, then the tightest, then by id; written in the order of their ids.
void node_choice::take_leaf(std::uint32_t leaf, std::uint32_t wanted, node_index::words eligible, unsigned k,
                            std::vector<node_share>& out) const noexcept {
    const std::size_t begin = out.size();
    const node_index::words whole = nodes_->whole();
    const node_index::words exact = nodes_->of_size(k);
    for (const bool harmless : {true, false})
        for (unsigned f = k; f <= nodes_->max_gpus(); ++f)
            for (const auto& run : net_->runs(leaf)) {
                const std::uint64_t not_breaking = ~whole[run.word] | exact[run.word];
                std::uint64_t bits = eligible[run.word] & run.mask & nodes_->at_least(f)[run.word] &
                                     ~nodes_->at_least(f + 1)[run.word] & (harmless ? not_breaking : ~not_breaking);
                for (; bits != 0 && out.size() - begin < wanted; bits &= bits - 1)
                    out.push_back({node_id(run.word * 64u + static_cast<std::uint32_t>(std::countr_zero(bits))), 0});
            }
    std::sort(out.begin() + static_cast<std::ptrdiff_t>(begin), out.end(),
              [](const node_share& a, const node_share& b) { return a.node < b.node; });
}

}  // namespace placement

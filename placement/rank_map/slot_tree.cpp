// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/slot_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace placement {
namespace {

constexpr double max_distance = 1e9;

topo::error fault(topo::errc code, std::string what, std::string remedy) {
    return {code, "slot tree", std::move(what), std::move(remedy)};
}

topo::result<topo::done> check_distances(std::span<const double> distances) {
    if (distances.empty() || distances.size() > slot_tree::max_levels)
        return fault(topo::errc::bad_input, fmt::format("{} levels", distances.size()),
                     fmt::format("give 1 to {} distances", slot_tree::max_levels));
    double before = 0;
    for (std::size_t k = 0; k < distances.size(); ++k) {
        if (!std::isfinite(distances[k]) || distances[k] < 0 || distances[k] > max_distance)
            return fault(topo::errc::bad_input, fmt::format("distance {} of level {}", distances[k], k),
                         fmt::format("give 0 to {}", max_distance));
        if (distances[k] < before)
            return fault(topo::errc::bad_input,
                         fmt::format("level {} is nearer ({}) than level {} ({})", k, distances[k], k - 1, before),
                         "order the levels from near to far");
        before = distances[k];
    }
    return topo::done{};
}

// Writes the first slot of every group of `sizes`, whose members begin at `below`.
topo::result<topo::done> cut(std::span<const std::uint32_t> sizes, std::span<const std::uint32_t> below,
                             std::size_t level, std::vector<std::uint32_t>& first) {
    first.assign(1, 0u);
    std::uint64_t members = 0;
    for (const auto size : sizes) {
        members += size;
        if (size == 0 || members >= below.size())
            return fault(topo::errc::bad_input, fmt::format("a group of {} at level {}", size, level),
                         fmt::format("the groups of a level share out the {} of the level below, each at least one",
                                     below.size() - 1));
        first.push_back(below[members]);
    }
    if (members + 1 != below.size())
        return fault(topo::errc::bad_input,
                     fmt::format("the groups of level {} hold {} of {}", level, members, below.size() - 1),
                     "list every group of the level");
    return topo::done{};
}

}  // namespace

topo::result<slot_tree> slot_tree::nested(std::span<const std::vector<std::uint32_t>> sizes,
                                          std::span<const double> distances) {
    const std::vector<std::span<const std::uint32_t>> lists(sizes.begin(), sizes.end());
    slot_tree tree;
    if (auto good = tree.rebuild(lists, distances); !good) return good.failure();
    return tree;
}

void slot_tree::reserve(std::uint32_t slots) {
    distances_.reserve(max_levels);
    for (std::size_t k = 0; k < max_levels; ++k) {
        group_of_[k].reserve(slots);
        first_slot_[k].reserve(std::size_t{slots} + 1);
    }
}

topo::result<topo::done> slot_tree::rebuild(std::span<const std::span<const std::uint32_t>> sizes,
                                            std::span<const double> distances) {
    distances_.clear();
    if (auto good = check_distances(distances); !good) return good.failure();
    if (sizes.empty() || distances.size() != sizes.size() + 1)
        return fault(topo::errc::bad_input,
                     fmt::format("{} distances for {} lists of sizes", distances.size(), sizes.size()),
                     "give one distance a list and one for the root");
    std::uint64_t total = 0;
    for (const auto size : sizes[0]) total += size;
    if (total == 0 || total > max_slots)
        return fault(total == 0 ? topo::errc::bad_input : topo::errc::limit, fmt::format("{} slots", total),
                     fmt::format("give 1 to {} slots", max_slots));
    // The highest level's list stands in for the slots themselves until its own turn comes.
    auto& each_slot = first_slot_[sizes.size()];
    each_slot.resize(total + 1);
    std::iota(each_slot.begin(), each_slot.end(), 0u);
    for (std::size_t k = 0; k < sizes.size(); ++k) {
        const auto& below = k == 0 ? each_slot : first_slot_[k - 1];
        if (auto good = cut(sizes[k], below, k, first_slot_[k]); !good) return good.failure();
    }
    first_slot_[sizes.size()].assign({0u, static_cast<std::uint32_t>(total)});
    for (std::size_t k = 0; k <= sizes.size(); ++k) {
        const auto& begins = first_slot_[k];
        group_of_[k].resize(total);
        equal_size_[k] = begins[1];
        for (std::uint32_t g = 0; g + 1 < begins.size(); ++g) {
            std::fill(group_of_[k].begin() + begins[g], group_of_[k].begin() + begins[g + 1], g);
            if (begins[g + 1] - begins[g] != begins[1]) equal_size_[k] = 0;
        }
    }
    distances_.assign(distances.begin(), distances.end());
    return topo::done{};
}

topo::result<slot_tree> slot_tree::regular(std::span<const std::uint32_t> sizes, std::span<const double> distances) {
    if (sizes.empty() || sizes.size() != distances.size() || sizes.size() > max_levels)
        return fault(topo::errc::bad_input, fmt::format("{} sizes and {} distances", sizes.size(), distances.size()),
                     fmt::format("give 1 to {} of each", max_levels));
    std::uint64_t groups = 1;
    for (const auto size : sizes) {
        if (size == 0) return fault(topo::errc::bad_input, "a level of size 0", "give 1 or more");
        groups *= size;
        if (groups > max_slots)
            return fault(topo::errc::limit, fmt::format("more than {} slots", max_slots), "make the tree smaller");
    }
    // The root is the last level: with one size it is the node itself, and nested() wants at least one list below it.
    std::vector<std::vector<std::uint32_t>> lists;
    for (std::size_t k = 0; k + 1 < sizes.size(); ++k) {
        groups /= sizes[k];
        lists.emplace_back(groups, sizes[k]);
    }
    if (!lists.empty()) return nested(lists, distances);
    const std::vector<double> twice{distances[0], distances[0]};
    lists.emplace_back(1, sizes[0]);
    return nested(lists, twice);
}

topo::result<slot_tree> slot_tree::of_leaves(std::uint32_t slots_of_node, std::span<const std::uint32_t> nodes_of_leaf,
                                             std::span<const double> distances) {
    std::uint64_t nodes = 0;
    for (const auto n : nodes_of_leaf) nodes += n;
    if (nodes * slots_of_node > max_slots)
        return fault(topo::errc::limit, fmt::format("more than {} slots", max_slots), "make the tree smaller");
    std::vector<std::vector<std::uint32_t>> lists(2);
    lists[0].assign(nodes, slots_of_node);
    lists[1].assign(nodes_of_leaf.begin(), nodes_of_leaf.end());
    return nested(lists, distances);
}

bool slot_tree::is_regular() const noexcept {
    for (std::size_t k = 0; k < levels(); ++k)
        if (equal_size_[k] == 0) return false;
    return true;
}

tree_shape slot_tree::shape() const noexcept {
    tree_shape out;
    out.levels = levels();
    std::copy_n(equal_size_.begin(), levels(), out.size.begin());
    std::copy_n(distances_.begin(), levels(), out.distance.begin());
    return out;
}

}  // namespace placement

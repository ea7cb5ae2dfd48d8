// SPDX-License-Identifier: Apache-2.0
// The node choice against brute force: every set of nodes of a small tree, scored by the objective of node_choice.hpp.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <tuple>

#include "../placement/boards.hpp"
#include "placement/placer.hpp"

using boards::mask;
using placement::outcome;
using topo::gpu_mask;

namespace {

// (level, children, whole nodes broken, untouched children broken, nodes left over)
using cost_key = std::tuple<int, std::size_t, std::size_t, std::size_t, std::size_t>;

class judge {
public:
    judge(const topo::cluster& c, const std::vector<gpu_mask>& free, const std::vector<bool>& allowed, unsigned gpus)
        : c_(c), free_(free), gpus_(gpus) {
        for (std::uint32_t n = 0; n < free.size(); ++n)
            if (allowed[n] && topo::count(free[n]) >= gpus) eligible_.push_back(n);
    }
    [[nodiscard]] const std::vector<std::uint32_t>& eligible() const { return eligible_; }

    [[nodiscard]] std::optional<cost_key> key(const std::vector<std::uint32_t>& set) const {
        const topo::fabric& net = c_.network();
        int level = 0;
        for (const auto a : set) level = std::max(level, net.level_of(topo::node_id(set.front()), topo::node_id(a)));
        if (level == topo::unreachable_level) return std::nullopt;
        const int below = std::max(0, level - 1);
        std::map<std::uint32_t, std::size_t> taken;
        for (const auto n : set) ++taken[net.group_of(topo::node_id(n), below).value];
        std::size_t untouched = 0;
        std::size_t left = 0;
        for (const auto& [group, count] : taken) {
            std::size_t here = 0;
            for (const auto n : eligible_) here += net.group_of(topo::node_id(n), below).value == group ? 1 : 0;
            bool whole = true;
            for (const auto n : net.nodes(below, topo::group_id(group))) whole &= free_[n.value] == all(n.value);
            untouched += whole && here > count ? 1 : 0;
            left += here - count;
        }
        std::size_t broken = 0;
        if (level == 0)
            for (const auto n : set) broken += free_[n] == all(n) && topo::count(all(n)) > gpus_ ? 1 : 0;
        return cost_key{level, taken.size(), broken, untouched, left};
    }

private:
    [[nodiscard]] gpu_mask all(std::uint32_t n) const {
        return topo::first_gpus(c_.class_of(topo::node_id(n)).gpus.size());
    }
    const topo::cluster& c_;
    const std::vector<gpu_mask>& free_;
    unsigned gpus_;
    std::vector<std::uint32_t> eligible_;
};

std::optional<cost_key> best_of(const judge& j, std::size_t wanted) {
    std::optional<cost_key> best;
    const auto& from = j.eligible();
    std::vector<bool> pick(from.size(), false);
    std::fill(pick.begin(), pick.begin() + static_cast<std::ptrdiff_t>(wanted), true);
    do {
        std::vector<std::uint32_t> set;
        for (std::size_t i = 0; i < from.size(); ++i)
            if (pick[i]) set.push_back(from[i]);
        const auto now = j.key(set);
        if (now && (!best || *now < *best)) best = now;
    } while (std::prev_permutation(pick.begin(), pick.end()));
    return best;
}

boards::tree random_tree(std::mt19937_64& random) {
    boards::tree t;
    std::size_t nodes = 0;
    while (nodes < 12) {
        t.leaves.push_back(std::min<std::size_t>(1 + random() % 5, 12 - nodes));
        nodes += t.leaves.back();
    }
    if (random() % 2 == 0 && t.leaves.size() >= 4) {
        const std::size_t first = 1 + random() % (t.leaves.size() - 2);
        t.leaves_of_spine = {first, t.leaves.size() - first};
        t.joined = random() % 4 != 0;
    }
    return t;
}

}  // namespace

TEST_CASE("1,500 random clusters of 12 nodes: the nodes are the best of all sets") {
    std::mt19937_64 random(99);
    std::size_t placed = 0, unreachable = 0, spanning = 0;
    for (int round = 0; round < 1500; ++round) {
        const boards::tree shape = random_tree(random);
        const auto cluster = boards::cluster({boards::switched("two", 2)}, shape);
        auto chooser = placement::placer::make(cluster);
        REQUIRE(chooser);
        std::vector<gpu_mask> free(12);
        std::vector<bool> allowed(12);
        std::uint64_t filter = 0;
        const unsigned whole_percent = 30 + static_cast<unsigned>(random() % 70);
        for (std::uint32_t n = 0; n < 12; ++n) {
            free[n] = random() % 100 < whole_percent ? 3 : random() % 4;
            allowed[n] = random() % 8 != 0;
            filter |= std::uint64_t{allowed[n]} << n;
            chooser->set_free(topo::node_id(n), free[n]);
        }
        placement::request job;
        job.nodes = 2 + static_cast<std::uint32_t>(random() % 7);
        job.gpus_per_node = 1 + static_cast<std::uint32_t>(random() % 2);
        placement::answer got;
        const outcome how = chooser->choose(job, std::span(&filter, 1), got);
        const judge j(cluster, free, allowed, job.gpus_per_node);
        INFO("round " << round << " nodes " << job.nodes << " gpus " << job.gpus_per_node);
        if (j.eligible().size() < job.nodes) {
            REQUIRE(how == outcome::too_few_gpus);
            continue;
        }
        const auto expected = best_of(j, job.nodes);
        if (!expected) {
            REQUIRE(how == outcome::unreachable);
            REQUIRE(got.nodes.empty());
            ++unreachable;
            continue;
        }
        REQUIRE(how == outcome::placed);
        REQUIRE(got.nodes.size() == job.nodes);
        std::vector<std::uint32_t> set;
        for (const auto& n : got.nodes) {
            set.push_back(n.node.value);
            REQUIRE(allowed[n.node.value]);
            REQUIRE(topo::count(n.gpus) == job.gpus_per_node);
            REQUIRE((n.gpus & ~free[n.node.value]) == 0);
        }
        REQUIRE(std::set<std::uint32_t>(set.begin(), set.end()).size() == job.nodes);
        const auto mine = j.key(set);
        REQUIRE(mine);
        INFO("level " << std::get<0>(*mine) << " children " << std::get<1>(*mine) << " broken " << std::get<2>(*mine)
                      << " untouched " << std::get<3>(*mine) << " left " << std::get<4>(*mine) << " against "
                      << std::get<0>(*expected) << " " << std::get<1>(*expected) << " " << std::get<2>(*expected) << " "
                      << std::get<3>(*expected) << " " << std::get<4>(*expected));
        REQUIRE(*mine == *expected);
        ++placed;
        spanning += std::get<0>(*mine) > 0 ? 1 : 0;
    }
    CHECK(placed > 500);
    CHECK(spanning > 200);
    CHECK(unreachable > 10);
    MESSAGE(placed << " placed, " << spanning << " over several leaves, " << unreachable << " unreachable");
}

TEST_CASE("one-node jobs take the tightest node, then the least damage, then the most broken leaf") {
    std::mt19937_64 random(3);
    for (int round = 0; round < 1000; ++round) {
        const auto cluster =
            boards::cluster({boards::paired(4, {{0, 2}, {1, 3}})}, boards::tree{{3, 2, 3}, {}, 0, true});
        auto chooser = placement::placer::make(cluster);
        REQUIRE(chooser);
        std::vector<gpu_mask> free(8);
        for (std::uint32_t n = 0; n < 8; ++n) chooser->set_free(topo::node_id(n), free[n] = random() % 16);
        placement::request job;
        job.gpus_per_node = 1 + static_cast<std::uint32_t>(random() % 4);
        placement::answer got;
        const outcome how = chooser->choose(job, {}, got);
        using node_key = std::tuple<bool, bool, unsigned, double, bool, std::size_t, std::uint32_t>;
        std::optional<node_key> best;
        const auto& table = chooser->table(topo::class_id(0));
        const double fastest = table.best(15, job.gpus_per_node)->ring_us;
        const auto whole_in = [&](std::uint32_t leaf) {
            std::size_t whole = 0;
            for (const auto m : cluster.network().nodes(0, topo::group_id(leaf))) whole += free[m.value] == 15 ? 1 : 0;
            return whole;
        };
        for (std::uint32_t n = 0; n < 8; ++n) {
            const auto here = table.best(free[n], job.gpus_per_node);
            if (!here) continue;
            const auto leaf = cluster.network().group_of(topo::node_id(n), 0);
            const std::size_t whole = whole_in(leaf.value);
            const node_key now{here->ring_us > 1.05 * fastest,
                               free[n] == 15 && job.gpus_per_node < 4,
                               topo::count(free[n]),
                               here->damage,
                               whole == cluster.network().nodes(0, leaf).size(),
                               whole,
                               n};
            if (!best || now < *best) best = now;
        }
        REQUIRE((how == outcome::placed) == best.has_value());
        if (best) REQUIRE(got.nodes.front().node.value == std::get<6>(*best));
    }
}

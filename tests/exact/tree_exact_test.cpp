// SPDX-License-Identifier: Apache-2.0
// Node choice on trees of up to 64 leaves against an exact dynamic programme over (group, nodes left).
//
// Guaranteed, and therefore required of every instance: the common level is the lowest that holds the job; under it the
// job has the fewest child groups, breaks no untouched one if it can, and leaves the fewest nodes over in the children
// it uses, in this order; and the same holds again inside the child it uses in part. Exact while the largest children
// together hold at most 63 nodes more than the job, which leaves of up to 64 nodes always do.
#include <doctest/doctest.h>

#include <algorithm>
#include <map>
#include <optional>
#include <random>
#include <tuple>

#include "../placement/boards.hpp"
#include "placement/placer.hpp"

using placement::outcome;
using topo::group_id;
using topo::node_id;

namespace {

using key = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // children, untouched broken, left over

struct child {
    std::uint32_t count = 0;
    bool untouched = false;
};

// The best key over every way to take `wanted` nodes of these children.
std::optional<key> best_of(const std::vector<child>& children, std::uint32_t wanted) {
    std::vector<std::optional<key>> best(wanted + 1);  // [nodes taken]
    best[0] = key{0, 0, 0};
    for (const child& c : children)
        for (std::uint32_t taken = wanted + 1; taken-- > 0;) {
            if (!best[taken]) continue;
            const auto [n, broken, left] = *best[taken];
            for (std::uint32_t here = 1; here <= c.count && taken + here <= wanted; ++here) {
                const key now{n + 1, broken + (c.untouched && here < c.count ? 1 : 0), left + c.count - here};
                auto& there = best[taken + here];
                if (!there || now < *there) there = now;
            }
        }
    return best[wanted];
}

class tree_state {
public:
    tree_state(const topo::cluster& c, std::vector<bool> free) : net_(c.network()), free_(std::move(free)) {}

    [[nodiscard]] std::uint32_t count(int level, group_id g) const {
        std::uint32_t n = 0;
        for (const auto node : net_.nodes(level, g)) n += free_[node.value] ? 1 : 0;
        return n;
    }
    [[nodiscard]] std::vector<child> children(int level, group_id g) const {
        std::vector<child> out;
        for (const auto c : net_.children(level, g)) {
            const std::uint32_t n = count(level - 1, c);
            if (n > 0) out.push_back({n, n == net_.nodes(level - 1, c).size()});
        }
        return out;
    }
    // What a set takes of a group, as a key.
    [[nodiscard]] key taken(int level, group_id g, const std::vector<std::uint32_t>& set) const {
        std::map<std::uint32_t, std::uint32_t> by;
        for (const auto n : set)
            if (net_.group_of(node_id(n), level) == g) ++by[net_.group_of(node_id(n), level - 1).value];
        key out{0, 0, 0};
        for (const auto& [c, here] : by) {
            const std::uint32_t all = count(level - 1, group_id(c));
            ++std::get<0>(out);
            std::get<1>(out) += all == net_.nodes(level - 1, group_id(c)).size() && here < all ? 1u : 0u;
            std::get<2>(out) += all - here;
        }
        return out;
    }
    void require_best(int level, group_id g, const std::vector<std::uint32_t>& set) const {
        std::uint32_t wanted = 0;
        for (const auto n : set) wanted += net_.group_of(node_id(n), level) == g ? 1u : 0u;
        if (level == 0 || wanted == 0 || wanted == count(level, g)) return;
        const auto best = best_of(children(level, g), wanted);
        REQUIRE(best);
        const key mine = taken(level, g, set);
        INFO("level " << level << " wanted " << wanted << ": children " << std::get<0>(mine) << " broken "
                      << std::get<1>(mine) << " left " << std::get<2>(mine) << " against " << std::get<0>(*best) << " "
                      << std::get<1>(*best) << " " << std::get<2>(*best));
        REQUIRE(mine == *best);
        for (const auto c : net_.children(level, g)) require_best(level - 1, c, set);
    }
    [[nodiscard]] const topo::fabric& net() const { return net_; }

private:
    const topo::fabric& net_;
    std::vector<bool> free_;
};

}  // namespace

TEST_CASE("1,000 trees of up to 64 leaves and two or three levels: optimal") {
    std::mt19937_64 random(64);
    std::size_t spanning = 0, over_spines = 0;
    for (int round = 0; round < 1000; ++round) {
        boards::tree shape;
        const bool three = random() % 2 == 0;
        const std::size_t leaves = 2 + random() % 63;
        const std::size_t most = three ? 5 : 12;
        for (std::size_t l = 0; l < leaves; ++l) shape.leaves.push_back(1 + random() % most);
        if (three)  // spines of at most 12 leaves of at most 5: 60 nodes, so that the search stays exact
            for (std::size_t done = 0; done < leaves;) {
                shape.leaves_of_spine.push_back(std::min<std::size_t>(1 + random() % 12, leaves - done));
                done += shape.leaves_of_spine.back();
            }
        const auto c = boards::cluster({boards::switched("h", 2)}, shape);
        auto p = placement::placer::make(c);
        REQUIRE(p);
        std::vector<bool> free(c.nodes().size());
        std::uint32_t total = 0;
        const unsigned percent = 20 + static_cast<unsigned>(random() % 80);
        for (std::uint32_t n = 0; n < free.size(); ++n) {
            free[n] = random() % 100 < percent;
            p->set_free(node_id(n), free[n] ? 3 : 0);
            total += free[n] ? 1 : 0;
        }
        if (total < 2) continue;
        placement::request r;
        r.nodes = 2 + static_cast<std::uint32_t>(random() % std::min(total - 1, 120u));
        r.gpus_per_node = 2;
        placement::answer a;
        REQUIRE(p->choose(r, {}, a) == outcome::placed);
        std::vector<std::uint32_t> set;
        for (const auto& n : a.nodes) {
            REQUIRE(free[n.node.value]);
            set.push_back(n.node.value);
        }
        std::sort(set.begin(), set.end());
        REQUIRE(std::unique(set.begin(), set.end()) == set.end());
        REQUIRE(set.size() == r.nodes);

        const tree_state t(c, free);
        int level = 0;
        for (const auto n : set) level = std::max(level, t.net().level_of(node_id(set.front()), node_id(n)));
        for (int l = 0; l < level; ++l)
            for (std::uint32_t g = 0; g < t.net().groups(l); ++g) REQUIRE(t.count(l, group_id(g)) < r.nodes);
        const group_id mine = t.net().group_of(node_id(set.front()), level);
        INFO("round " << round);
        t.require_best(level, mine, set);
        if (level == 0) {
            const auto leaf_key = [&](group_id g) {
                const std::uint32_t left = t.count(0, g) - r.nodes;
                return std::pair(left > 0 && t.count(0, g) == t.net().nodes(0, g).size(), left);
            };
            for (std::uint32_t g = 0; g < t.net().groups(0); ++g)
                if (t.count(0, group_id(g)) >= r.nodes) REQUIRE(leaf_key(mine) <= leaf_key(group_id(g)));
            continue;
        }
        ++spanning;
        over_spines += level == 2 ? 1 : 0;
        for (std::uint32_t g = 0; g < t.net().groups(level); ++g) {  // no group of the level would have done better
            if (t.count(level, group_id(g)) < r.nodes) continue;
            REQUIRE(t.taken(level, mine, set) <= *best_of(t.children(level, group_id(g)), r.nodes));
        }
    }
    CHECK(spanning > 700);
    CHECK(over_spines > 150);
    MESSAGE(spanning << " over several leaves, " << over_spines << " over several spines");
}

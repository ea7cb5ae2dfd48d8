// SPDX-License-Identifier: Apache-2.0
// The pool's counts against recounting, and the rules of other schedulers on clusters small enough to see the answer.
#include <doctest/doctest.h>

#include <map>
#include <random>
#include <set>

#include "placement/simulate/policy.hpp"
#include "placement/simulate/pool.hpp"
#include "placement/simulate/rules.hpp"
#include "simulate_help.hpp"

using namespace placement;
using namespace placement::simulate;
using simulate_help::nodes_of;
using simulate_help::tree_of;

namespace {

using list = std::vector<std::uint32_t>;

struct lab {
    explicit lab(const boards::tree& t, std::vector<std::uint32_t> blocks = {})
        : c(nodes_of(t)), net(c), free(c, net), rules(net, std::move(blocks)) {}
    list choose(rule r, const shape& s) {
        list out;
        return rules.choose(r, s, free, out) ? out : list{};
    }
    topo::cluster c;
    fabric_index net;
    pool free;
    node_rules rules;
};

}  // namespace

TEST_CASE("shapes: full nodes and a rest; the trace's own nodes where they fit") {
    const auto check = [](job j, shape want) {
        const shape got = shape_of(j, 8);
        CHECK(got.nodes == want.nodes);
        CHECK(got.per_node == want.per_node);
        CHECK(got.last == want.last);
        CHECK(got.gpus() == j.gpus);
    };
    check({0, 1, 3, 0}, {1, 3, 0});
    check({0, 1, 8, 0}, {1, 8, 0});
    check({0, 1, 20, 0}, {2, 8, 4});
    check({0, 1, 16, 4}, {4, 4, 0});
    check({0, 1, 20, 3}, {2, 8, 4});  // does not divide
    check({0, 1, 32, 2}, {4, 8, 0});  // 16 on a node do not fit
}

TEST_CASE("the pool's counts are what recounting gives") {
    lab l(tree_of({4, 3, 4, 5}, {2, 2}));
    std::mt19937 random(3);
    for (int step = 0; step < 3000; ++step) {
        l.free.set_free(random() % 16, random() % 3 == 0 ? 0xff : random() & random() & 0xff);
        std::uint64_t all = 0;
        std::array<std::uint64_t, 4> usable{};
        std::map<std::uint32_t, unsigned> leaf_whole, spine_whole;
        for (std::uint32_t n = 0; n < 16; ++n) {
            const unsigned f = l.free.free_count(n);
            all += f;
            if (f != 8) continue;
            usable[0] += 8;
            ++leaf_whole[l.net.group_of(n, 0)];
            ++spine_whole[l.net.group_of(n, 1)];
        }
        for (const auto& [g, w] : leaf_whole) usable[1] += w / 2 * 16;   // two nodes under a leaf
        for (const auto& [g, w] : spine_whole) usable[2] += w / 8 * 64;  // eight under a spine: the second has nine
        REQUIRE(l.free.free_gpus() == all);
        for (std::size_t i = 0; i < 4; ++i) REQUIRE(l.free.usable(i) == usable[i]);
        const shape s{1u + static_cast<std::uint32_t>(random() % 5), 1u + static_cast<std::uint32_t>(random() % 8), 0};
        unsigned enough = 0;
        for (std::uint32_t n = 0; n < 16; ++n) enough += l.free.free_count(n) >= s.per_node ? 1 : 0;
        REQUIRE(l.free.fits(s) == (enough >= s.nodes));
    }
}

TEST_CASE("linear takes the first nodes, tree the tightest leaf") {
    lab l(tree_of({4, 4}));
    l.free.set_free(0, 0);
    l.free.set_free(1, 0);
    l.free.set_free(4, 0);
    CHECK(l.choose(rule::linear, {2, 8, 0}) == list{2, 3});
    CHECK(l.choose(rule::slurm_tree, {2, 8, 0}) == list{2, 3});  // two free there, three in the other
    CHECK(l.choose(rule::linear, {3, 8, 0}) == list{2, 3, 5});
    CHECK(l.choose(rule::slurm_tree, {3, 8, 0}) == list{5, 6, 7});
    // Five span both: none holds them, so the fuller leaf first, then what is missing from the other.
    CHECK(l.choose(rule::slurm_tree, {4, 8, 0}) == list{2, 5, 6, 7});
    CHECK(l.choose(rule::slurm_tree, {6, 8, 0}).empty());
    CHECK(l.choose(rule::linear, {6, 8, 0}).empty());
}

TEST_CASE("tree prefers a leaf nearer to the first when it fits no worse") {
    // Two spines of two leaves. Leaf 0: 2 free, leaf 1: 1, leaf 2: 3, leaf 3: 1.
    lab l(tree_of({3, 3, 3, 3}, {2, 2}));
    for (const unsigned n : {2u, 4u, 5u, 10u, 11u}) l.free.set_free(n, 0);
    // Four: spine 1 holds them: leaf 2 with 3, then leaf 3 with one.
    CHECK(l.choose(rule::slurm_tree, {4, 8, 0}) == list{6, 7, 8, 9});
    // Six: from the top. Leaf 2 first, then leaf 0 with two is a better fit than leaf 3 with one and far:
    // leaf 3 is nearer but fits worse, so leaf 0 is taken only where the nearer one is not as good.
    const auto six = l.choose(rule::slurm_tree, {6, 8, 0});
    CHECK(six.size() == 6);
    CHECK(std::set<std::uint32_t>(six.begin(), six.end()).count(8) == 1);
}

TEST_CASE("tree and linear do not look at how full a node is; Kueue does") {
    lab l(tree_of({4}));
    l.free.set_free(1, 0x07);  // three free: one pod of two
    l.free.set_free(2, 0x03);  // two free: one pod of two
    CHECK(l.choose(rule::linear, {1, 2, 0}) == list{0});
    CHECK(l.choose(rule::slurm_tree, {1, 2, 0}) == list{0});
    CHECK(l.choose(rule::slurm_block, {1, 2, 0}) == list{0});
    CHECK(l.choose(rule::kueue_bestfit, {1, 2, 0}) == list{1});
    CHECK(l.choose(rule::kueue_bestfit, {1, 3, 0}) == list{1});
}

TEST_CASE("block: the smallest aggregate that holds the job, the tightest of those") {
    lab l(tree_of({2, 2, 2, 2}));
    l.free.set_free(0, 0);
    // Pairs of blocks: {0, 1} has three free nodes, {2, 3} four.
    CHECK(l.choose(rule::slurm_block, {3, 8, 0}) == list{1, 2, 3});
    CHECK(l.choose(rule::slurm_block, {4, 8, 0}) == list{4, 5, 6, 7});
    CHECK(l.choose(rule::slurm_tree, {4, 8, 0}) == list{2, 3, 4, 5});
    CHECK(l.choose(rule::slurm_block, {7, 8, 0}) == list{1, 2, 3, 4, 5, 6, 7});
    CHECK(l.choose(rule::slurm_block, {1, 8, 0}) == list{1});
    // Only single blocks and all four: a job of three goes to the four, to the fullest first.
    lab only_four(tree_of({2, 2, 2, 2}), {2, 8});
    only_four.free.set_free(0, 0);
    CHECK(only_four.choose(rule::slurm_block, {3, 8, 0}) == list{1, 2, 3});
}

TEST_CASE("Kueue: the tightest domain of the lowest level, then few children, the last the tightest") {
    lab l(tree_of({3, 3, 3, 3}));
    for (const unsigned n : {0u, 3u, 4u}) l.free.set_free(n, 0);
    CHECK(l.choose(rule::kueue_bestfit, {1, 8, 0}) == list{5});
    CHECK(l.choose(rule::kueue_bestfit, {2, 8, 0}) == list{1, 2});
    // Seven: leaves of 3 and 3, and for the last one the leaf with a single node.
    CHECK(l.choose(rule::kueue_bestfit, {7, 8, 0}) == list{5, 6, 7, 8, 9, 10, 11});
}

TEST_CASE("the rest of an odd job goes to the nearest node with room") {
    lab l(tree_of({3, 3}));
    l.free.set_free(0, 0);
    l.free.set_free(4, 0x0f);
    l.free.set_free(3, 0);
    CHECK(l.choose(rule::slurm_tree, {2, 8, 4}) == list{1, 2, 4});
    l.free.set_free(0, 0x0f);
    CHECK(l.choose(rule::slurm_tree, {2, 8, 4}) == list{1, 2, 0});
    CHECK(l.choose(rule::linear, {3, 8, 5}).empty());
}

TEST_CASE("no rule spans fabrics that do not meet") {
    lab l(tree_of({2, 3}, {0}));
    CHECK(l.free.roots() == 2);
    for (const auto r : {rule::linear, rule::slurm_tree, rule::slurm_block, rule::kueue_bestfit}) {
        CHECK(l.choose(r, {3, 8, 0}) == list{2, 3, 4});
        CHECK(l.choose(r, {4, 8, 0}).empty());
    }
    CHECK_FALSE(l.free.fits({4, 8, 0}));
}

TEST_CASE("every rule finds distinct nodes with room whenever it fits") {
    lab l(tree_of({5, 7, 6, 2, 4}, {2, 3}), {});
    std::mt19937 random(11);
    for (int step = 0; step < 4000; ++step) {
        l.free.set_free(random() % 24, random() % 4 == 0 ? 0xff : random() & 0xff);
        shape s{1u + static_cast<std::uint32_t>(random() % 8), 1u + static_cast<std::uint32_t>(random() % 8), 0};
        if (s.per_node > 1 && random() % 3 == 0) s.last = 1 + static_cast<std::uint32_t>(random() % (s.per_node - 1));
        for (const auto r : {rule::linear, rule::slurm_tree, rule::slurm_block, rule::kueue_bestfit}) {
            list out;
            const bool found = l.rules.choose(r, s, l.free, out);
            REQUIRE(found == l.free.fits(s));
            if (!found) continue;
            REQUIRE(out.size() == s.all_nodes());
            REQUIRE(std::set<std::uint32_t>(out.begin(), out.end()).size() == out.size());
            for (std::size_t i = 0; i < out.size(); ++i)
                REQUIRE(l.free.free_count(out[i]) >= (i < s.nodes ? s.per_node : s.last));
        }
    }
}

TEST_CASE("names") {
    for (const auto r : {rule::linear, rule::slurm_tree, rule::slurm_block, rule::kueue_bestfit})
        CHECK(rule_named(name_of(r)) == r);
    CHECK_FALSE(rule_named("tree").has_value());
    CHECK(policy_named("atoll-blind")->blind);
    CHECK_FALSE(policy_named("").has_value());
    CHECK(only(part::ranks, rule::linear).name == "linear+ranks");
}

// SPDX-License-Identifier: Apache-2.0
// Rank maps against every map there is: small grids and small free traffic on small trees of every shape. Which slot of
// a node a rank gets decides nothing, so brute force shares ranks out to nodes in every way.
#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <vector>

#include "placement/rank_map/map_cost.hpp"
#include "placement/rank_map/map_search.hpp"

using namespace placement;

namespace {

using matrix = std::vector<std::vector<double>>;  // bytes, each pair in both rows

struct instance {
    slot_tree tree;
    matrix bytes;
};

class brute_force {
public:
    explicit brute_force(const instance& i) : i_(i), node_(i.bytes.size()) {
        for (std::uint32_t n = 0; n < i.tree.nodes(); ++n) room_.push_back(i.tree.size_of(0, n));
    }
    double best() {
        descend(0, 0);
        return best_;
    }

private:
    void descend(std::size_t rank, double cost) {
        if (rank == node_.size()) {
            best_ = std::min(best_, cost);
            return;
        }
        for (std::uint32_t n = 0; n < room_.size(); ++n) {
            if (room_[n] == 0) continue;
            double more = cost;
            for (std::size_t other = 0; other < rank; ++other) {
                const double w = i_.bytes[rank][other];
                if (w == 0) continue;
                more += w * (node_[other] == n
                                 ? i_.tree.distance_at(0)
                                 : i_.tree.distance(i_.tree.first_slot(0, n), i_.tree.first_slot(0, node_[other])));
            }
            --room_[n];
            node_[rank] = n;
            descend(rank + 1, more);
            ++room_[n];
        }
    }
    const instance& i_;
    std::vector<std::uint32_t> room_, node_;
    double best_ = std::numeric_limits<double>::infinity();
};

// How many ways brute force looks at.
double ways(const slot_tree& t) {
    double out = 1;
    std::uint32_t left = t.slots();
    for (std::uint32_t n = 0; n < t.nodes(); ++n)
        for (std::uint32_t s = 1; s <= t.size_of(0, n); ++s) out = out * left-- / s;
    return out;
}

slot_tree random_tree(std::mt19937& random, std::uint32_t slots) {
    const auto pick = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
    const auto cut = [&](std::uint32_t total, std::uint32_t part) {  // equal parts, or any
        std::vector<std::uint32_t> out;
        const bool equal = total % part == 0 && pick(2) == 0;
        while (total > 0) {
            const std::uint32_t take = std::min(total, equal ? part : 1 + pick(2 * part - 1));
            out.push_back(take);
            total -= take;
        }
        return out;
    };
    for (;;) {
        std::vector<std::vector<std::uint32_t>> sizes{cut(slots, 1 + pick(6))};
        for (std::uint32_t k = pick(3); k > 0; --k)
            sizes.push_back(cut(static_cast<std::uint32_t>(sizes.back().size()), 1 + pick(3)));
        std::vector<double> distances{static_cast<double>(pick(3))};
        while (distances.size() <= sizes.size()) distances.push_back(distances.back() + pick(12));
        auto made = slot_tree::nested(sizes, distances);
        REQUIRE(made);
        if (ways(*made) <= 60000) return *made;
    }
}

rank_grid random_grid(std::mt19937& random) {
    constexpr std::array kinds = {axis_kind::ring, axis_kind::chain, axis_kind::all_to_all};
    for (;;) {
        std::vector<grid_axis> axes(1 + random() % 3);
        std::uint32_t ranks = 1;
        for (auto& a : axes) {
            a = {1 + static_cast<std::uint32_t>(random() % 6), static_cast<double>(random() % 50),
                 kinds[random() % kinds.size()]};
            ranks *= a.extent;
        }
        if (ranks < 2 || ranks > 12) continue;
        auto made = rank_grid::make(axes);
        REQUIRE(made);
        return *made;
    }
}

matrix bytes_of(const talk_graph& graph) {
    matrix out(graph.vertices(), std::vector<double>(graph.vertices(), 0));
    for (std::uint32_t v = 0; v < graph.vertices(); ++v)
        for (const auto& l : graph.row(v)) out[v][l.to] = l.bytes;
    return out;
}

void check_is_map(std::vector<std::uint32_t> map) {
    std::sort(map.begin(), map.end());
    for (std::uint32_t s = 0; s < map.size(); ++s) REQUIRE(map[s] == s);
}

struct score {
    std::uint32_t seen = 0, optimal = 0, proven = 0;
    double worst = 0;
    void add(double got, double best, bool was_proven) {
        ++seen;
        const double over = best > 0 ? got / best - 1 : got;
        optimal += over < 1e-9 ? 1u : 0u;
        proven += was_proven ? 1u : 0u;
        worst = std::max(worst, over);
        REQUIRE(over > -1e-9);
        if (was_proven) REQUIRE(over < 1e-9);
    }
};

}  // namespace

TEST_CASE("grids of 2 to 12 ranks: the cheapest map of all") {
    std::mt19937 random(20);
    score s;
    map_search search;
    for (int i = 0; i < 2000; ++i) {
        CAPTURE(i);
        const rank_grid grid = random_grid(random);
        const slot_tree tree = random_tree(random, grid.ranks());
        talk_graph graph;
        graph.assign(grid);
        std::vector<std::uint32_t> map(grid.ranks());
        const auto found = search.run(grid, tree, map);
        check_is_map(map);
        REQUIRE(found.cost == doctest::Approx(cost_of(grid, tree, map)).epsilon(1e-12));
        s.add(found.cost, brute_force({tree, bytes_of(graph)}).best(), found.optimal);
    }
    MESSAGE(s.optimal << " of " << s.seen << " optimal, " << s.proven << " proven, worst " << 100 * s.worst
                      << " % over");
    CHECK(s.optimal >= s.seen * 99 / 100);
    CHECK(s.proven >= s.seen * 99 / 100);
    CHECK(s.worst <= 0.02);
}

TEST_CASE("free traffic of 2 to 12 ranks: the cheapest map of all") {
    std::mt19937 random(21);
    score s;
    map_search search;
    for (int i = 0; i < 1500; ++i) {
        CAPTURE(i);
        const auto ranks = static_cast<std::uint32_t>(2 + random() % 11);
        std::vector<traffic_entry> entries;
        const std::uint32_t density = 1 + static_cast<std::uint32_t>(random() % 10);
        for (std::uint32_t a = 0; a < ranks; ++a)
            for (std::uint32_t b = 0; b < ranks; ++b)
                if (random() % 10 < density) entries.push_back({a, b, static_cast<double>(random() % 100)});
        const auto traffic = traffic_matrix::from_entries(ranks, entries);
        REQUIRE(traffic);
        const slot_tree tree = random_tree(random, ranks);
        matrix bytes(ranks, std::vector<double>(ranks, 0));
        for (const auto& e : entries)
            if (e.from != e.to) {
                bytes[e.from][e.to] += e.bytes;
                bytes[e.to][e.from] += e.bytes;
            }
        std::vector<std::uint32_t> map(ranks);
        const auto found = search.run(*traffic, tree, map);
        check_is_map(map);
        REQUIRE(found.cost == doctest::Approx(cost_of(*traffic, tree, map)).epsilon(1e-12));
        s.add(found.cost, brute_force({tree, bytes}).best(), found.optimal);
    }
    MESSAGE(s.optimal << " of " << s.seen << " optimal, " << s.proven << " proven, worst " << 100 * s.worst
                      << " % over");
    CHECK(s.optimal >= s.seen * 99 / 100);
    CHECK(s.worst <= 0.02);
}

// What swaps alone reach, without the proof: the search that larger jobs get.
TEST_CASE("swap search alone is near the optimum") {
    std::mt19937 random(22);
    score s;
    swap_search swaps;
    for (int i = 0; i < 500; ++i) {
        CAPTURE(i);
        const rank_grid grid = random_grid(random);
        const slot_tree tree = random_tree(random, grid.ranks());
        talk_graph graph;
        graph.assign(grid);
        std::vector<std::uint32_t> map(grid.ranks());
        for (std::uint32_t r = 0; r < grid.ranks(); ++r) map[r] = r;
        const double before = cost_of(grid, tree, map);
        std::uint64_t visits = 1'000'000;
        const double gain = swaps.run(graph, {&tree}, map, visits);
        check_is_map(map);
        const double after = cost_of(grid, tree, map);
        REQUIRE(before - after == doctest::Approx(gain).epsilon(1e-9));
        s.add(after, brute_force({tree, bytes_of(graph)}).best(), false);
    }
    MESSAGE(s.optimal << " of " << s.seen << " optimal by swaps from ranks in order");
    CHECK(s.optimal >= s.seen / 2);
}

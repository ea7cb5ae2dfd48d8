// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/scotch_map.hpp"

#ifndef ATOLL_SCOTCH

bench::scotch_result bench::scotch_map(const placement::rank_grid&, const placement::slot_tree&) { return {}; }

#else

#include <scotch.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <numeric>
#include <random>

#include "placement/rank_map/map_cost.hpp"
#include "placement/rank_map/talk_graph.hpp"

namespace bench {
namespace {

struct csr {
    std::vector<SCOTCH_Num> begin, to, bytes;
};

// Vertex number[rank] stands for a rank.
csr csr_of(const placement::rank_grid& grid, const std::vector<std::uint32_t>& number) {
    placement::talk_graph graph;
    graph.assign(grid);
    std::vector<std::uint32_t> rank_of(number.size());
    for (std::uint32_t r = 0; r < number.size(); ++r) rank_of[number[r]] = r;
    csr out;
    out.begin.push_back(0);
    for (std::uint32_t v = 0; v < number.size(); ++v) {
        for (const auto& l : graph.row(rank_of[v])) {
            out.to.push_back(static_cast<SCOTCH_Num>(number[l.to]));
            out.bytes.push_back(static_cast<SCOTCH_Num>(std::lround(l.bytes)));
        }
        out.begin.push_back(static_cast<SCOTCH_Num>(out.to.size()));
    }
    return out;
}

// Leaves as large as the largest; slots that are not there are left out of the sub-architecture.
struct architecture {
    SCOTCH_Arch whole, part;
    std::vector<SCOTCH_Num> slots;  // leaf number in `whole` of every slot
    std::array<SCOTCH_Num, 3> size, link;
    bool cut = false;

    explicit architecture(const placement::slot_tree& tree) {
        std::uint32_t widest = 0;
        for (std::uint32_t g = 0; g < tree.groups(1); ++g) widest = std::max(widest, tree.size_of(1, g));
        const std::uint32_t gpus = tree.size_of(0, 0);
        size = {static_cast<SCOTCH_Num>(tree.groups(1)), static_cast<SCOTCH_Num>(widest / gpus),
                static_cast<SCOTCH_Num>(gpus)};
        link = {static_cast<SCOTCH_Num>(tree.distance_at(2)), static_cast<SCOTCH_Num>(tree.distance_at(1)),
                static_cast<SCOTCH_Num>(tree.distance_at(0))};
        SCOTCH_archInit(&whole);
        SCOTCH_archTleaf(&whole, 3, size.data(), link.data());
        for (std::uint32_t s = 0; s < tree.slots(); ++s) {
            const std::uint32_t leaf = tree.group_of(1, s);
            slots.push_back(static_cast<SCOTCH_Num>(leaf * widest + s - tree.first_slot(1, leaf)));
        }
        cut = slots.size() < std::size_t{widest} * tree.groups(1);
        if (!cut) return;
        SCOTCH_archInit(&part);
        SCOTCH_archSub(&part, &whole, static_cast<SCOTCH_Num>(slots.size()), slots.data());
    }
    ~architecture() {
        if (cut) SCOTCH_archExit(&part);
        SCOTCH_archExit(&whole);
    }
    SCOTCH_Arch* get() { return cut ? &part : &whole; }
};

}  // namespace

scotch_result scotch_map(const placement::rank_grid& grid, const placement::slot_tree& tree) {
    const std::uint32_t n = grid.ranks();
    std::vector<std::uint32_t> number(n);
    std::iota(number.begin(), number.end(), 0u);
    std::shuffle(number.begin(), number.end(), std::mt19937(7));
    csr edges = csr_of(grid, number);
    architecture arch(tree);
    SCOTCH_Graph graph;
    SCOTCH_graphInit(&graph);
    SCOTCH_graphBuild(&graph, 0, static_cast<SCOTCH_Num>(n), edges.begin.data(), nullptr, nullptr, nullptr,
                      static_cast<SCOTCH_Num>(edges.to.size()), edges.to.data(), edges.bytes.data());
    scotch_result best;
    double least = 0;
    for (const SCOTCH_Num flags :
         {SCOTCH_STRATDEFAULT, SCOTCH_STRATQUALITY, SCOTCH_STRATSPEED, SCOTCH_STRATBALANCE, SCOTCH_STRATSAFETY}) {
        SCOTCH_randomReset();
        SCOTCH_Strat strategy;
        SCOTCH_stratInit(&strategy);
        SCOTCH_stratGraphMapBuild(&strategy, flags, static_cast<SCOTCH_Num>(n), 0.0);
        std::vector<SCOTCH_Num> where(n, -1);
        const auto start = std::chrono::steady_clock::now();
        const int failed = SCOTCH_graphMap(&graph, arch.get(), &strategy, where.data());
        const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - start;
        SCOTCH_stratExit(&strategy);
        if (failed != 0) continue;
        // A sub-architecture answers with numbers of its own or of the whole: either way they rank the slots.
        std::vector<SCOTCH_Num> sorted(where);
        std::sort(sorted.begin(), sorted.end());
        if (std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end() || sorted.front() < 0) continue;
        std::vector<std::uint32_t> map(n);
        for (std::uint32_t r = 0; r < n; ++r)
            map[r] = static_cast<std::uint32_t>(std::lower_bound(sorted.begin(), sorted.end(), where[number[r]]) -
                                                sorted.begin());
        const double cost = placement::cost_of(grid, tree, map);
        if (!best.slot_of_rank.empty() && cost >= least) continue;
        least = cost;
        best = {std::move(map), took.count()};
    }
    SCOTCH_graphExit(&graph);
    return best;
}

}  // namespace bench

#endif

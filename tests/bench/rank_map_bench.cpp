// SPDX-License-Identifier: Apache-2.0
// Rank maps: how long the choice takes and what the map costs (counter J, bytes × distance), beside ranks in order and,
// where Debian's libscotch-dev was there at configure time, Scotch's best of five strategies in the same run.
#include <benchmark/benchmark.h>

#include <numeric>

#include "placement/rank_map/map_cost.hpp"
#include "placement/rank_map/map_search.hpp"
#include "tests/bench/map_instances.hpp"
#include "tests/bench/scotch_map.hpp"

namespace {

using bench::map_instance;

double in_order(const map_instance& i) {
    std::vector<std::uint32_t> map(i.grid.ranks());
    std::iota(map.begin(), map.end(), 0u);
    return placement::cost_of(i.grid, i.tree, map);
}

// The best tiling, in closed form: what a step launcher needs to know before it writes any rank down.
void choose(benchmark::State& state, const map_instance& i) {
    double cost = 0;
    for (auto _ : state) {
        cost = placement::choose_tiling(i.grid, i.tree)->cost;
        benchmark::DoNotOptimize(cost);
    }
    state.counters["J"] = cost;
    state.counters["J_in_order"] = in_order(i);
}

// The same with the slot of every rank written out.
void write(benchmark::State& state, const map_instance& i) {
    std::vector<std::uint32_t> map(i.grid.ranks());
    for (auto _ : state) {
        placement::write_map(*placement::choose_tiling(i.grid, i.tree), i.grid, map);
        benchmark::DoNotOptimize(map.data());
    }
    state.counters["J"] = placement::cost_of(i.grid, i.tree, map);
}

void search(benchmark::State& state, const map_instance& i) {
    std::vector<std::uint32_t> map(i.grid.ranks());
    placement::map_search searcher;
    for (auto _ : state) benchmark::DoNotOptimize(searcher.run(i.grid, i.tree, map).cost);
    state.counters["J"] = placement::cost_of(i.grid, i.tree, map);
    state.counters["J_in_order"] = in_order(i);
}

[[maybe_unused]] void scotch(benchmark::State& state, const map_instance& i) {
    bench::scotch_result best;
    for (auto _ : state) best = bench::scotch_map(i.grid, i.tree);
    if (best.slot_of_rank.empty()) return state.SkipWithError("no one-to-one map");
    state.counters["J"] = placement::cost_of(i.grid, i.tree, best.slot_of_rank);
    state.counters["best_strategy_ms"] = best.milliseconds;
}

int add_all() {
    static const auto regular = bench::regular_instances();
    static const auto irregular = bench::irregular_instances();
    const auto add = [](std::string kind, const map_instance& i, auto how, benchmark::TimeUnit unit) {
        return benchmark::RegisterBenchmark((kind + "/" + i.name).c_str(),
                                            [&i, how](benchmark::State& s) { how(s, i); })
            ->Unit(unit);
    };
    for (const auto& i : regular) add("rank_map", i, choose, benchmark::kMicrosecond);
    for (const auto& i : regular) add("rank_map_written", i, write, benchmark::kMicrosecond);
    for (const auto& i : irregular) add("rank_map_irregular", i, search, benchmark::kMillisecond);
    if constexpr (bench::has_scotch) {
        for (const auto& i : regular)
            if (i.grid.ranks() <= 4096) add("scotch", i, scotch, benchmark::kMillisecond)->Iterations(1);
        for (const auto& i : irregular) add("scotch_irregular", i, scotch, benchmark::kMillisecond)->Iterations(1);
    }
    return 0;
}

[[maybe_unused]] const int added = add_all();

}  // namespace

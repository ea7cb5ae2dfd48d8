// SPDX-License-Identifier: Apache-2.0
// Speed of choosing GPUs inside a node, and of building the tables that it looks up.
#include <benchmark/benchmark.h>

#include <random>
#include <utility>
#include <vector>

#include "placement/subset_table.hpp"
#include "tests/bench/big_cluster.hpp"

namespace {

using topo::gpu_mask;

void build_table(benchmark::State& state) {
    const auto c = bench::board(static_cast<std::size_t>(state.range(0)), state.range(1) != 0);
    for (auto _ : state) {
        auto built = placement::subset_table::build(c, {});
        benchmark::DoNotOptimize(built);
    }
}

// Mean over random free sets and sizes.
void subset(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    const auto table = placement::subset_table::build(bench::board(n, state.range(1) != 0), {});
    std::mt19937_64 random(1);
    std::vector<std::pair<gpu_mask, unsigned>> questions(4096);
    for (auto& [free, k] : questions) {
        free = 1 + random() % topo::first_gpus(n);
        k = 1 + static_cast<unsigned>(random() % topo::count(free));
    }
    std::size_t i = 0;
    for (auto _ : state) {
        const auto& [free, k] = questions[i++ % questions.size()];
        benchmark::DoNotOptimize(table->best(free, k));
    }
}

}  // namespace

BENCHMARK(build_table)
    ->Name("subset_table")
    ->ArgNames({"", "irregular"})
    ->ArgsProduct({{8, 16}, {0, 1}})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(subset)->ArgNames({"", "irregular"})->ArgsProduct({{8, 16}, {0, 1}});

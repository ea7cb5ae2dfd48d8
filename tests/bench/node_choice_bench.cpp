// SPDX-License-Identifier: Apache-2.0
// Speed of choosing nodes of a cluster of 10,240 and of 65,536.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <utility>
#include <vector>

#include "placement/placer.hpp"
#include "tests/bench/big_cluster.hpp"

namespace {

using bench::clock_type;
using bench::random_free;
using placement::placer;
using topo::gpu_mask;

void report(benchmark::State& state, std::vector<double>& us, std::size_t placed) {
    std::sort(us.begin(), us.end());
    state.counters["p50_us"] = bench::quantile(us, 0.5);
    state.counters["p99_us"] = bench::quantile(us, 0.99);
    state.counters["max_us"] = us.back();
    state.counters["placed"] = static_cast<double>(placed) / static_cast<double>(us.size());
}

// Arguments: nodes of the cluster; nodes and GPUs a node of the job; fill in percent; 1 with ranks and runner-up.
void node_choice(benchmark::State& state) {
    const auto cluster_nodes = static_cast<std::uint32_t>(state.range(0));
    auto chooser = placer::make(bench::shared_cluster(cluster_nodes));
    const double fill = static_cast<double>(state.range(3)) / 100;
    std::mt19937_64 random(2);
    for (std::uint32_t n = 0; n < cluster_nodes; ++n) chooser->set_free(topo::node_id(n), random_free(random, fill));
    std::vector<std::uint64_t> filter(cluster_nodes / 64, ~std::uint64_t{0});
    for (int i = 0; i < 100; ++i) filter[random() % filter.size()] &= ~(std::uint64_t{1} << (random() % 64));
    placement::request r;
    r.nodes = static_cast<std::uint32_t>(state.range(1));
    r.gpus_per_node = static_cast<std::uint32_t>(state.range(2));
    r.details = state.range(4) != 0;
    placement::answer a;
    a.reserve(r.nodes, r.gpus_per_node);
    std::vector<double> us;
    us.reserve(1 << 20);
    std::size_t placed = 0;
    for (auto _ : state) {
        for (int i = 0; i < 8; ++i)
            chooser->set_free(topo::node_id(static_cast<std::uint32_t>(random() % cluster_nodes)),
                              random_free(random, fill));
        const auto start = clock_type::now();
        placed += chooser->choose(r, filter, a) == placement::outcome::placed ? 1 : 0;
        const std::chrono::duration<double> took = clock_type::now() - start;
        state.SetIterationTime(took.count());
        us.push_back(took.count() * 1e6);
    }
    report(state, us, placed);
}

void set_free(benchmark::State& state) {
    const auto cluster_nodes = static_cast<std::uint32_t>(state.range(0));
    auto chooser = placer::make(bench::shared_cluster(cluster_nodes));
    std::mt19937_64 random(3);
    std::vector<std::pair<std::uint32_t, gpu_mask>> changes(4096);
    for (auto& [n, free] : changes) {
        n = static_cast<std::uint32_t>(random() % cluster_nodes);
        free = random_free(random, 0.5);
    }
    std::size_t i = 0;
    for (auto _ : state) {
        const auto& [n, free] = changes[i++ % changes.size()];
        chooser->set_free(topo::node_id(n), free);
    }
}

void make_placer(benchmark::State& state) {
    const auto& cluster = bench::shared_cluster(static_cast<std::size_t>(state.range(0)));
    for (auto _ : state) {
        auto chooser = placer::make(cluster);
        benchmark::DoNotOptimize(chooser);
    }
}

void jobs(benchmark::internal::Benchmark* b) {
    for (const long details : {0, 1})
        for (const long cluster_nodes : {10240, 65536})
            for (const long fill : {1, 50, 90, 95, 99})
                for (const auto& [nodes, gpus] :
                     {std::pair{1L, 1L}, {1L, 4L}, {1L, 8L}, {8L, 4L}, {8L, 8L}, {64L, 8L}, {512L, 8L}, {4096L, 8L}})
                    if (nodes < cluster_nodes / 4) b->Args({cluster_nodes, nodes, gpus, fill, details});
}

}  // namespace

BENCHMARK(node_choice)
    ->ArgNames({"", "nodes", "gpus", "fill", "details"})
    ->Apply(jobs)
    ->UseManualTime()
    ->Iterations(3000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(set_free)->Arg(10240)->Arg(65536);
BENCHMARK(make_placer)->Arg(10240)->Arg(65536)->Unit(benchmark::kMillisecond);

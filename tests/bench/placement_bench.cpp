// SPDX-License-Identifier: Apache-2.0
// Speed of choosing: subsets inside a node, nodes of a cluster of 10,240. docs/measuring.md has commands and
// results.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "placement/placer.hpp"
#include "placement/subset_table.hpp"

namespace {

using clock_type = std::chrono::steady_clock;
using placement::placer;
using topo::gpu_mask;

constexpr std::size_t cluster_nodes = 10240;
constexpr std::size_t nodes_of_leaf = 32;
constexpr std::size_t leaves_of_spine = 16;

topo::cost cost(double alpha_us, double gb_per_s) {
    topo::cost c;
    c.alpha_us = alpha_us;
    c.gb_per_s = gb_per_s;
    c.from = c.alpha_from = topo::source::measured;
    return c;
}

topo::node_class board(std::size_t n, bool irregular) {
    std::mt19937_64 random(n);
    std::uniform_real_distribution<double> unit(0, 1);
    topo::node_class c;
    c.name = "board";
    topo::cost_layer layer;
    layer.by = topo::engine::sm_copy;
    layer.cells = topo::matrix<topo::cost>(n, n);
    for (std::size_t a = 0; a < n; ++a) {
        topo::gpu g;
        g.name = "GPU" + std::to_string(a);
        g.numa = a < n / 2 ? 0 : 1;
        c.gpus.push_back(g);
        topo::nic i;
        i.name = "nic" + std::to_string(a);
        i.numa = g.numa;
        i.gb_per_s = 50;
        c.nics.push_back(i);
        for (std::size_t b = 0; b < n; ++b)
            if (a != b)
                layer.cells(a, b) = irregular ? cost(1 + 9 * unit(random), 5 + 395 * unit(random)) : cost(2, 380);
    }
    for (int id : {0, 1}) {
        topo::numa_node numa;
        numa.id = id;
        numa.cpus.insert(static_cast<std::uint32_t>(id));
        c.numa.push_back(numa);
    }
    c.layers.push_back(std::move(layer));
    topo::cost_layer out;
    out.to = topo::endpoint::nic;
    out.by = topo::engine::rdma_write;
    out.cells = topo::matrix<topo::cost>(n, n);
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) out.cells(a, b) = cost(1, a == b ? 48 : 24);
    c.layers.push_back(std::move(out));
    return c;
}

topo::cluster big_cluster() {
    topo::cluster_description d;
    d.name = "bench";
    d.classes = {board(8, false)};
    d.nodes = {{"board", {}}};
    d.fabric.form = topo::fabric_form::tree;
    topo::switch_description top;
    top.name = "top";
    const std::size_t leaves = cluster_nodes / nodes_of_leaf;
    for (std::size_t l = 0; l < leaves; ++l) {
        topo::switch_description leaf;
        leaf.name = "leaf" + std::to_string(l);
        leaf.uplink_gb_per_s = 800;
        for (std::size_t i = 0; i < nodes_of_leaf; ++i) {
            leaf.nodes.push_back("g" + std::to_string(l * nodes_of_leaf + i));
            d.nodes[0].nodes.push_back(leaf.nodes.back());
        }
        d.fabric.switches.push_back(std::move(leaf));
    }
    for (std::size_t s = 0; s < leaves / leaves_of_spine; ++s) {
        topo::switch_description spine;
        spine.name = "spine" + std::to_string(s);
        for (std::size_t i = 0; i < leaves_of_spine; ++i)
            spine.switches.push_back("leaf" + std::to_string(s * leaves_of_spine + i));
        top.switches.push_back(spine.name);
        d.fabric.switches.push_back(std::move(spine));
    }
    d.fabric.switches.push_back(std::move(top));
    d.fabric.level_costs = {cost(3, 50), cost(4, 50), cost(5, 50)};
    auto built = topo::cluster::build(std::move(d));
    if (!built) {
        std::fprintf(stderr, "%s\n", built.failure().message().c_str());
        std::exit(2);
    }
    return std::move(*built);
}

const topo::cluster& shared_cluster() {
    static const topo::cluster c = big_cluster();
    return c;
}

void build_table(benchmark::State& state) {
    const auto c = board(static_cast<std::size_t>(state.range(0)), state.range(1) != 0);
    for (auto _ : state) {
        auto built = placement::subset_table::build(c, {});
        benchmark::DoNotOptimize(built);
    }
}

// Mean over random free sets and sizes.
void best_subset(benchmark::State& state) {
    const auto n = static_cast<std::size_t>(state.range(0));
    const auto table = placement::subset_table::build(board(n, state.range(1) != 0), {});
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

// A node is full with probability `fill`, or else free; one in ten of the others is partly taken.
gpu_mask random_free(std::mt19937_64& random, double fill) {
    std::uniform_real_distribution<double> unit(0, 1);
    if (unit(random) < fill) return 0;
    return unit(random) < 0.1 ? random() % 255 : 255;
}

void report(benchmark::State& state, std::vector<double>& us, std::size_t placed) {
    std::sort(us.begin(), us.end());
    const auto at = [&](double q) { return us[static_cast<std::size_t>(q * static_cast<double>(us.size() - 1))]; };
    state.counters["p50_us"] = at(0.5);
    state.counters["p99_us"] = at(0.99);
    state.counters["max_us"] = us.back();
    state.counters["placed"] = static_cast<double>(placed) / static_cast<double>(us.size());
}

// Arguments: nodes, GPUs a node, fill in percent, 1 with ranks and runner-up.
void choose_nodes(benchmark::State& state) {
    auto chooser = placer::make(shared_cluster());
    const double fill = static_cast<double>(state.range(2)) / 100;
    std::mt19937_64 random(2);
    for (std::uint32_t n = 0; n < cluster_nodes; ++n) chooser->set_free(topo::node_id(n), random_free(random, fill));
    std::vector<std::uint64_t> filter(cluster_nodes / 64, ~std::uint64_t{0});
    for (int i = 0; i < 100; ++i) filter[random() % filter.size()] &= ~(std::uint64_t{1} << (random() % 64));
    placement::request r;
    r.nodes = static_cast<std::uint32_t>(state.range(0));
    r.gpus_per_node = static_cast<std::uint32_t>(state.range(1));
    r.details = state.range(3) != 0;
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
    auto chooser = placer::make(shared_cluster());
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
    for (auto _ : state) {
        auto chooser = placer::make(shared_cluster());
        benchmark::DoNotOptimize(chooser);
    }
}

void sizes(benchmark::internal::Benchmark* b) {
    for (const long details : {0, 1})
        for (const long fill : {1, 50, 95, 99})
            for (const auto& [nodes, gpus] :
                 {std::pair{1L, 1L}, {1L, 4L}, {1L, 8L}, {8L, 4L}, {8L, 8L}, {64L, 8L}, {512L, 8L}})
                b->Args({nodes, gpus, fill, details});
}

}  // namespace

BENCHMARK(build_table)
    ->ArgNames({"gpus", "irregular"})
    ->Args({8, 0})
    ->Args({8, 1})
    ->Args({16, 0})
    ->Args({16, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK(best_subset)->ArgNames({"gpus", "irregular"})->Args({8, 0})->Args({8, 1})->Args({16, 0})->Args({16, 1});
BENCHMARK(choose_nodes)
    ->ArgNames({"nodes", "gpus", "fill", "details"})
    ->Apply(sizes)
    ->UseManualTime()
    ->Iterations(3000)
    ->Unit(benchmark::kMicrosecond);
BENCHMARK(set_free);
BENCHMARK(make_placer)->Unit(benchmark::kMillisecond);
BENCHMARK_MAIN();

// SPDX-License-Identifier: Apache-2.0
// Speed of predicting a step of each pattern, for jobs of 64 and of 512 ranks on 8-GPU nodes.
#include <benchmark/benchmark.h>

#include <string>

#include "placement/placer.hpp"
#include "tests/bench/big_cluster.hpp"

namespace {

void predict(benchmark::State& state, placement::pattern talks, std::uint32_t nodes) {
    const auto chooser = placement::placer::make(bench::shared_cluster(10240));
    placement::request r;
    r.nodes = nodes;
    r.gpus_per_node = 8;
    placement::answer a;
    if (chooser->choose(r, {}, a) != placement::outcome::placed) return state.SkipWithError("not placed");
    r.talks = talks;
    r.parallel.tp = 8;
    r.parallel.pp = 4;
    for (auto _ : state) benchmark::DoNotOptimize(chooser->predict_ranks(r, a.ranks).step_us);
}

int add_all() {
    using placement::pattern;
    for (const pattern p : {pattern::ring_allreduce, pattern::tree_allreduce, pattern::hierarchical_allreduce,
                            pattern::allreduce, pattern::all_to_all, pattern::composite, pattern::halo_exchange})
        for (const std::uint32_t nodes : {8u, 64u}) {
            const std::string name = "predict/" + std::string(placement::name_of(p)) + "/" + std::to_string(nodes * 8);
            benchmark::RegisterBenchmark(name.c_str(), predict, p, nodes)->Unit(benchmark::kMicrosecond);
        }
    return 0;
}

[[maybe_unused]] const int added = add_all();

}  // namespace

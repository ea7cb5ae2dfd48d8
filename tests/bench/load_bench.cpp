// SPDX-License-Identifier: Apache-2.0
// Loading a cluster file of 10,240 nodes under 320 leaves: read, parse, build, and the placer over it.
// docs/measuring.md has the command and the figures.
#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

#include "placement/placer.hpp"
#include "tests/topo/sample_cluster.hpp"
#include "topo/cluster.hpp"
#include "topo/file.hpp"

namespace {

constexpr std::size_t leaf_count = 320;
constexpr std::size_t nodes_of_leaf = 32;
constexpr std::size_t leaves_of_spine = 16;

// Three tiers. `alternating`: the class changes with every node, the worst case for folding host names.
topo::cluster_description large(bool alternating) {
    topo::cluster_description c;
    c.name = "large";
    c.classes = {sample::board("dgx"), sample::board("half", 4), sample::board("slow")};
    for (auto& layer : c.classes[2].layers)
        for (auto& cell : layer.cells.cells()) cell.gb_per_s *= 0.8;
    for (const auto& hardware : c.classes) c.nodes.push_back({hardware.name, {}});
    const std::size_t total = leaf_count * nodes_of_leaf;
    for (std::size_t n = 0; n < total; ++n)
        c.nodes[alternating ? n % 3 : n * 3 / total].nodes.push_back(fmt::format("n{:05}", n + 1));
    c.fabric.form = topo::fabric_form::tree;
    topo::switch_description top;
    top.name = "top";
    for (std::size_t s = 0; s < leaf_count / leaves_of_spine; ++s) {
        topo::switch_description spine;
        spine.name = fmt::format("spine{:02}", s + 1);
        for (std::size_t l = s * leaves_of_spine; l < (s + 1) * leaves_of_spine; ++l) {
            topo::switch_description leaf;
            leaf.name = fmt::format("leaf{:03}", l + 1);
            for (std::size_t n = 0; n < nodes_of_leaf; ++n)
                leaf.nodes.push_back(fmt::format("n{:05}", l * nodes_of_leaf + n + 1));
            spine.switches.push_back(leaf.name);
            c.fabric.switches.push_back(std::move(leaf));
        }
        top.switches.push_back(spine.name);
        c.fabric.switches.push_back(std::move(spine));
    }
    c.fabric.switches.push_back(std::move(top));
    return c;
}

class scratch_file {
public:
    explicit scratch_file(const std::string& text) {
        const int fd = mkstemp(path_.data());
        if (fd < 0) std::abort();
        close(fd);
        std::ofstream(path_.data()) << text;
    }
    scratch_file(const scratch_file&) = delete;
    scratch_file& operator=(const scratch_file&) = delete;
    ~scratch_file() { std::remove(path_.data()); }
    [[nodiscard]] std::string path() const { return path_.data(); }

private:
    std::array<char, 32> path_{"/tmp/atoll-load-XXXXXX"};
};

double resident_mb() {
    std::ifstream statm("/proc/self/statm");
    double size = 0, resident = 0;
    statm >> size >> resident;
    return resident * static_cast<double>(sysconf(_SC_PAGESIZE)) / 1e6;
}

// Argument: whether classes alternate.
void load(benchmark::State& state) {
    const std::string text = write_cluster(large(state.range(0) != 0));
    const scratch_file file(text);
    const double before = resident_mb();
    double after = before;
    for (auto _ : state) {
        auto got = topo::load_cluster(file.path());
        if (!got) state.SkipWithError(got.failure().message().c_str());
        after = resident_mb();
    }
    state.counters["file_bytes"] = static_cast<double>(text.size());
    state.counters["resident_more_MB"] = after - before;
}
BENCHMARK(load)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void parse_only(benchmark::State& state) {
    const std::string text = write_cluster(large(state.range(0) != 0));
    for (auto _ : state) benchmark::DoNotOptimize(topo::parse_cluster(text, "large.yaml"));
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(text.size()));
}
BENCHMARK(parse_only)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void write(benchmark::State& state) {
    const auto c = large(state.range(0) != 0);
    for (auto _ : state) benchmark::DoNotOptimize(write_cluster(c));
}
BENCHMARK(write)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// What slurmctld does once at its start: the file, then the tables of every class.
void load_and_make_placer(benchmark::State& state) {
    const scratch_file file(write_cluster(large(state.range(0) != 0)));
    for (auto _ : state) {
        auto got = topo::load_cluster(file.path());
        if (!got) return state.SkipWithError(got.failure().message().c_str());
        auto p = placement::placer::make(*got);
        if (!p) return state.SkipWithError(p.failure().message().c_str());
    }
}
BENCHMARK(load_and_make_placer)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace

BENCHMARK_MAIN();

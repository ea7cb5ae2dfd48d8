// SPDX-License-Identifier: Apache-2.0
#include "placement/launch_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <vector>

namespace placement {
namespace {

struct run {
    node_id node;
    std::size_t ranks = 0;
};

// Neighbouring ranks of one host.
std::vector<run> runs_of(rank_list ranks) {
    std::vector<run> out;
    for (const rank_place& r : ranks) {
        if (out.empty() || out.back().node != r.node) out.push_back({r.node, 0});
        ++out.back().ranks;
    }
    return out;
}

topo::result<std::vector<run>> one_run_each(rank_list ranks, const topo::cluster& c, const char* who) {
    std::vector<run> runs = runs_of(ranks);
    std::set<std::uint32_t> seen;
    for (const run& r : runs)
        if (!seen.insert(r.node.value).second)
            return topo::error{topo::errc::bad_input, c.nodes()[r.node.value].name,
                               fmt::format("{} numbers the ranks of a host one after the other, and here they do not "
                                           "stand together",
                                           who),
                               "use --format slurm or openmpi"};
    return runs;
}

const std::string& name_of(const topo::cluster& c, node_id n) { return c.nodes()[n.value].name; }

// CPUs near a GPU: those of its NUMA node, else what the driver told.
topo::id_set cpus_near(const topo::node_class& hardware, std::uint8_t gpu) {
    const topo::gpu& g = hardware.gpus[gpu];
    for (const topo::numa_node& n : hardware.numa)
        if (n.id == g.numa && !n.cpus.empty()) return n.cpus;
    return g.cpus;
}

// The share-th of `of` even parts of the CPUs; all of them when there are fewer than parts.
std::string part_of(const topo::id_set& cpus, std::size_t share, std::size_t of) {
    const std::vector<std::uint32_t> ids = cpus.ids();
    if (ids.size() < of) return cpus.text();
    topo::id_set out;
    for (std::size_t i = ids.size() * share / of; i < ids.size() * (share + 1) / of; ++i) out.insert(ids[i]);
    return out.text();
}

}  // namespace

std::string slurm_hostfile(const topo::cluster& c, rank_list ranks) {
    std::string out;
    for (const rank_place& r : ranks) out += name_of(c, r.node) + "\n";
    return out;
}

topo::result<std::string> open_mpi_rankfile(const topo::cluster& c, rank_list ranks) {
    std::vector<std::vector<std::uint8_t>> gpus_of(c.nodes().size());
    for (const rank_place& r : ranks) gpus_of[r.node.value].push_back(r.gpu);
    std::string out;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
        const rank_place& r = ranks[i];
        const topo::node_class& hardware = c.class_of(r.node);
        const topo::id_set cpus = cpus_near(hardware, r.gpu);
        if (cpus.empty())
            return topo::error{topo::errc::bad_input,
                               fmt::format("class {}, {}", hardware.name, hardware.gpus[r.gpu].name),
                               "the cluster file does not say which CPUs are near it, and a rank file needs them",
                               "calibrate the node on its own host, or use --format slurm"};
        std::size_t share = 0;
        std::size_t of = 0;
        for (const std::uint8_t g : gpus_of[r.node.value]) {
            if (cpus_near(hardware, g) != cpus) continue;
            if (g < r.gpu) ++share;
            ++of;
        }
        out += fmt::format("rank {}={} slot={}\n", i, name_of(c, r.node), part_of(cpus, share, of));
    }
    return out;
}

std::string hydra_hosts(const topo::cluster& c, rank_list ranks) {
    std::string out;
    for (const run& r : runs_of(ranks)) out += fmt::format("{}:{}\n", name_of(c, r.node), r.ranks);
    return out;
}

topo::result<std::string> deepspeed_hostfile(const topo::cluster& c, rank_list ranks) {
    const auto runs = one_run_each(ranks, c, "DeepSpeed");
    if (!runs) return runs.failure();
    std::string out;
    for (const run& r : *runs) out += fmt::format("{} slots={}\n", name_of(c, r.node), r.ranks);
    return out;
}

topo::result<std::string> torchrun_lines(const topo::cluster& c, rank_list ranks) {
    const auto runs = one_run_each(ranks, c, "torchrun");
    if (!runs) return runs.failure();
    std::string out;
    for (std::size_t i = 0; i < runs->size(); ++i) {
        const run& r = (*runs)[i];
        if (r.ranks != runs->front().ranks)
            return topo::error{topo::errc::bad_input, name_of(c, r.node),
                               fmt::format("it has {} ranks and {} has {}; torchrun wants equal numbers", r.ranks,
                                           name_of(c, runs->front().node), runs->front().ranks),
                               "ask for --gpus-per-node, or use --format slurm"};
        out += fmt::format("{} --nnodes={} --nproc-per-node={} --node-rank={} --master-addr={} --master-port=29500\n",
                           name_of(c, r.node), runs->size(), r.ranks, i, name_of(c, runs->front().node));
    }
    return out;
}

}  // namespace placement

// SPDX-License-Identifier: GPL-2.0-or-later
// A cluster on disk and a glue over it, as the shim would hold it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "plugin/slurm/glue.h"
#include "topo/cluster.hpp"

namespace glue_test {

// 8 GPUs with bridges 0-2, 1-3, 4-6, 5-7; GPUs 0-3 on NUMA node 0, 4-7 on 1; 32 cores. Costs estimated.
[[nodiscard]] topo::node_class bridge_board();
// g1 … g<n> of that board, `per_leaf` nodes a leaf under one spine.
[[nodiscard]] topo::cluster_description bridge_cluster(int nodes, int per_leaf);
void make_simulated(topo::node_class& hardware);
[[nodiscard]] std::uint64_t allocations_so_far() noexcept;  // of the whole program

struct line {
    atoll_log_level level;
    std::string text;
};

class world {
public:
    world();
    ~world();
    world(const world&) = delete;
    world& operator=(const world&) = delete;

    void write(const std::string& name, const std::string& text) const;
    void write_cluster(const topo::cluster_description& c) const;
    [[nodiscard]] std::string path(const std::string& name) const { return (folder_ / name).string(); }

    // Slurm's table: g1 … gn in that order, 2 sockets, 32 CPUs each.
    void table(int nodes);
    int load();
    // All GPUs, CPUs and memory of a node free.
    [[nodiscard]] static atoll_node_state whole_node();
    void free_all();
    [[nodiscard]] atoll_wish wish(std::uint32_t nodes, std::uint64_t gpus_per_node) const;
    [[nodiscard]] std::string lines(atoll_log_level level) const;

    atoll_glue* glue = nullptr;
    std::vector<line> log;
    bool throwing_log = false;
    std::vector<std::string> names;
    std::vector<std::uint64_t> all;  // every node allowed

private:
    std::filesystem::path folder_;
};

}  // namespace glue_test

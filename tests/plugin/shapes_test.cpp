// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/shapes.hpp"

#include <doctest/doctest.h>

#include <utility>
#include <vector>

using slurm_plugin::node_limits;
using slurm_plugin::shapes_of;

namespace {

using shapes = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

shapes list(const atoll_wish& w, node_limits limits = {8, 64}) {
    const auto found = shapes_of(w, limits);
    shapes out;
    for (std::size_t i = 0; i < found.count; ++i) out.emplace_back(found.items[i].nodes, found.items[i].gpus_per_node);
    return out;
}

atoll_wish nodes(std::uint32_t least, std::uint32_t wanted, std::uint32_t most) {
    atoll_wish w{};
    w.min_nodes = least;
    w.req_nodes = wanted;
    w.max_nodes = most;
    return w;
}

}  // namespace

TEST_CASE("GPUs per node: the count asked for, then fewer") {
    auto w = nodes(4, 4, 4);
    w.gpus_per_node = 2;
    CHECK(list(w) == shapes{{4, 2}});
    w = nodes(2, 4, 4);
    w.gpus_per_node = 8;
    CHECK(list(w) == shapes{{4, 8}, {3, 8}, {2, 8}});
    w = nodes(1, 1000, 1000);
    w.gpus_per_node = 8;
    const auto many = list(w);
    CHECK(many.size() == slurm_plugin::max_shapes);
    CHECK(many.front().first == 1000);
    CHECK(many.back().first == 1);
}

TEST_CASE("GPUs per node that no node has are left to Slurm") {
    auto w = nodes(1, 1, 1);
    w.gpus_per_node = 9;
    CHECK(list(w).empty());
    w.gpus_per_node = UINT64_MAX;
    CHECK(list(w, {64, 0}).empty());
}

TEST_CASE("CPUs and tasks that need more nodes than asked") {
    auto w = nodes(1, 1, 1000);
    w.gpus_per_node = 8;
    w.cpus_total = 130;
    CHECK(list(w) == shapes{{3, 8}});
    w.cpus_total = 0;
    w.tasks = 20;
    w.tasks_per_node = 8;
    CHECK(list(w) == shapes{{3, 8}});
    w = nodes(1, 1, 2);
    w.gpus_per_node = 8;
    w.cpus_total = 130;
    CHECK(list(w).empty());
}

TEST_CASE("GPUs in total: as few nodes as hold them, unless more are wanted") {
    const auto totals = [](const atoll_wish& w) {
        const auto found = shapes_of(w, {8, 64});
        std::vector<slurm_plugin::shape> out(found.items.begin(), found.items.begin() + found.count);
        return out;
    };
    using slurm_plugin::shape;
    auto w = nodes(1, 1, 10000);
    w.gpus_total = 9;
    CHECK(totals(w) == std::vector{shape{.gpus_total = 9, .min_nodes = 1, .max_nodes = 9}});
    w = nodes(2, 2, 2);
    w.gpus_total = 8;
    CHECK(totals(w).back() == shape{.gpus_total = 8, .min_nodes = 2, .max_nodes = 2});
    w = nodes(1, 4, 4);
    w.gpus_total = 8;
    CHECK(totals(w) == std::vector{shape{.gpus_total = 8, .min_nodes = 4, .max_nodes = 4},
                                   shape{.gpus_total = 8, .min_nodes = 1, .max_nodes = 4}});
    w = nodes(1, 1, 1);
    w.gpus_total = 9;
    CHECK(totals(w).empty());
    w = nodes(4, 4, 4);
    w.gpus_total = 3;
    CHECK(totals(w).empty());
}

TEST_CASE("GPUs per task: the fewest nodes, if that is even") {
    auto w = nodes(1, 1, 10000);
    w.gpus_per_task = 2;
    w.tasks = 8;
    CHECK(list(w) == shapes{{2, 8}});
    w.gpus_per_task = 3;
    w.tasks = 3;  // 2 + 1 tasks: Slurm's own packing
    CHECK(list(w).empty());
    w = nodes(3, 3, 3);
    w.gpus_per_task = 1;
    w.tasks = 6;
    CHECK(list(w) == shapes{{3, 2}});
    w.tasks = 0;
    CHECK(list(w).empty());
    w.tasks = 4;
    w.gpus_per_task = 9;
    CHECK(list(w).empty());
}

TEST_CASE("wishes that make no sense give no shape") {
    CHECK(list(nodes(1, 1, 1)).empty());
    auto w = nodes(5, 5, 2);
    w.gpus_per_node = 1;
    CHECK(list(w).empty());
    w = nodes(1, 1, 1);
    w.gpus_per_node = 1;
    w.gpus_total = 1;
    CHECK(list(w).empty());
    w = nodes(0, 0, 0);
    w.gpus_total = UINT64_MAX;
    CHECK(list(w).empty());
    w = nodes(1, 1, 1);
    w.gpus_per_node = 1;
    CHECK(list(w, {0, 0}).empty());
}

TEST_CASE("what a node must have free is a lower bound") {
    atoll_wish w{};
    w.cpus_total = 7;
    w.cpus_per_node = 2;
    w.cpus_per_gpu = 1;
    CHECK(slurm_plugin::cpus_needed(w, {2, 4}) == 4);
    CHECK(slurm_plugin::cpus_needed(w, {1, 1}) == 7);
    w.memory_per_node = 100;
    w.memory_per_gpu = 60;
    CHECK(slurm_plugin::memory_needed(w, {1, 2}) == 120);
    w.memory_per_gpu = UINT64_MAX;
    CHECK(slurm_plugin::memory_needed(w, {1, 2}) == UINT64_MAX);
}

// SPDX-License-Identifier: Apache-2.0
#include "topo/node_class.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "tests/topo/sample_cluster.hpp"

namespace {

using namespace topo;

bool names_fault(const node_class& c, const char* part) {
    const auto faults = check(c);
    return std::any_of(faults.begin(), faults.end(), [part](const finding& f) {
        return f.level == severity::error && f.what.find(part) != std::string::npos && !f.remedy.empty();
    });
}

}  // namespace

TEST_CASE("a sound class has no faults") {
    CHECK(check(sample::board("a")).empty());
    const auto full = check(sample::board("a", 64));
    CHECK_MESSAGE(full.empty(), full.front().message());
    CHECK(check(sample::board("a", 1)).empty());
}

TEST_CASE("every fault of a class is named") {
    const node_class good = sample::board("a");
    node_class c = good;
    c.gpus[3].name = "mlx5_2";
    CHECK(names_fault(c, "mlx5_2 stands twice"));
    c = good;
    c.gpus[3].name.clear();
    CHECK(names_fault(c, "no name"));
    c = good;
    c.nics[3].pci = c.gpus[0].pci;
    CHECK(names_fault(c, "0000:10:00.0"));
    c = good;
    c.gpus[0].numa = -2;
    CHECK(names_fault(c, "NUMA node -2"));
    c = good;
    c.gpus[5].numa = 7;
    CHECK(names_fault(c, "NUMA node 7 of GPU5 is not in the numa list"));
    c = good;
    c.nics[2].numa = 2;
    CHECK(names_fault(c, "NUMA node 2 of mlx5_2 is not in the numa list"));
    c.numa.push_back({2, {}});  // memory only
    CHECK_FALSE(names_fault(c, "NUMA node 2"));
    c = good;
    c.gpus[0].numa = c.nics[0].numa = unknown_numa;
    CHECK(check(c).empty());
    c = good;
    c.gpus[0].numa = 7;
    c.numa.clear();  // unknown: nothing to hold the 7 against
    CHECK_FALSE(names_fault(c, "NUMA node"));
    c = good;
    c.numa[1].id = 0;
    CHECK(names_fault(c, "NUMA node 0"));
    c = good;
    c.nics[0].gb_per_s = std::numeric_limits<double>::quiet_NaN();
    CHECK(names_fault(c, "port speed of mlx5_0"));
    c = good;
    c.gpu_links = matrix<topo::link>(7, 8);
    CHECK(names_fault(c, "gpu_links"));
    c = good;
    c.nic_links = matrix<topo::link>(8, 7);
    CHECK(names_fault(c, "nic_links"));
    c = good;
    c.layers.push_back(c.layers[0]);
    CHECK(names_fault(c, "sm-copy layer stands twice"));
    c = good;
    c.layers[0].cells = matrix<cost>(8, 7);
    CHECK(names_fault(c, "8 × 7"));
    c = good;
    c.layers[0].cells(2, 5) = {};
    CHECK(names_fault(c, "GPU2 → GPU5: the cost is missing"));
    c = good;
    c.layers[2].cells(2, 5).alpha_us = -1;
    CHECK(names_fault(c, "GPU2 → mlx5_5: not a cost"));
    CHECK(names_fault(sample::board("a", 65), "65 GPUs"));
    CHECK(names_fault(sample::board(""), "no name"));
}

TEST_CASE("layers by purpose") {
    node_class c = sample::board("a");
    CHECK(c.best_layer(endpoint::gpu, endpoint::gpu)->by == engine::sm_copy);
    CHECK(c.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine)->cells(0, 1).gb_per_s == 377.5);
    CHECK(c.layer(endpoint::nic, endpoint::gpu, engine::rdma_write) == nullptr);
    c.layers[0].loaded = true;
    CHECK(c.best_layer(endpoint::gpu, endpoint::gpu)->by == engine::copy_engine);
    CHECK_FALSE(c.simulated());
    CHECK(c.worst_source() == source::estimated);
    c.layers[1].cells(0, 1).from = source::simulated;
    CHECK(c.simulated());
}

TEST_CASE("NUMA nodes without CPUs never count as CPU locality") {
    node_class c = sample::board("a");
    CHECK(c.numa_of(0xff) == std::vector<int>{0, 1});
    CHECK(c.numa_of(0xf1) == std::vector<int>{1, 0});
    numa_node memory;
    memory.id = 2;
    c.numa.push_back(memory);
    c.gpus[0].numa = 2;
    c.gpus[1].numa = unknown_numa;
    CHECK(c.numa_of(0x3).empty());
    CHECK_FALSE(c.numa_has_cpus(2));
    CHECK_FALSE(c.numa_has_cpus(unknown_numa));
}

TEST_CASE("islands by links, else by bandwidth") {
    node_class c = sample::board("a", 4);
    CHECK(islands(c) == std::vector<gpu_mask>{0xf});
    for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < 4; ++b)
            if (a != b && a % 2 != b % 2) c.gpu_links(a, b) = {link_class::sys, 0};
    CHECK(islands(c) == std::vector<gpu_mask>{0x5, 0xa});
    c.gpu_links = {};
    CHECK(islands(c) == std::vector<gpu_mask>{0xf});
    for (auto& l : c.layers)
        if (l.by == engine::sm_copy)
            for (std::size_t a = 0; a < 4; ++a)
                for (std::size_t b = 0; b < 4; ++b)
                    if (a != b && a / 2 != b / 2) l.cells(a, b).gb_per_s = 20;
    CHECK(islands(c) == std::vector<gpu_mask>{0x3, 0xc});
    c.layers.clear();
    CHECK(islands(c) == std::vector<gpu_mask>{1, 2, 4, 8});
    CHECK(islands(node_class{}).empty());
}

TEST_CASE("nearest NICs share ties and skip NICs that jobs do not use") {
    node_class c = sample::board("a", 4);
    CHECK(nearest_nics(c) == std::vector<int>{0, 1, 2, 3});
    // All equal within noise, also where rounding would tell them apart: each GPU gets its own.
    for (auto& l : c.layers)
        if (l.to == endpoint::nic)
            for (std::size_t g = 0; g < 4; ++g)
                for (std::size_t k = 0; k < 4; ++k)
                    l.cells(g, k).gb_per_s = 48 + 0.4 * static_cast<double>((g * 3 + k) % 4);
    CHECK(nearest_nics(c) == std::vector<int>{0, 1, 2, 3});
    c.nics[0].compute = false;
    CHECK(nearest_nics(c) == std::vector<int>{1, 2, 3, 1});
    c.layers.clear();
    c.nics[0].compute = true;
    CHECK(nearest_nics(c) == std::vector<int>{0, 1, 2, 3});
    c.nic_links = {};
    std::swap(c.nics[0].pci, c.nics[1].pci);
    c.nics[3].pci.reset();
    CHECK(nearest_nics(c) == std::vector<int>{1, 0, 2, 3});
    c.nics.clear();
    CHECK(nearest_nics(c) == std::vector<int>{-1, -1, -1, -1});
}

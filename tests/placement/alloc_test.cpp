// SPDX-License-Identifier: Apache-2.0
// The choose path allocates nothing: every operator new of this program is counted.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <random>

#include "grids.hpp"
#include "placement/placer.hpp"

namespace {
std::atomic<std::size_t> allocations{0};

void* counted(std::size_t size) noexcept {
    ++allocations;
    return std::malloc(size == 0 ? 1 : size);
}

void* counted_or_throw(std::size_t size) {
    if (void* p = counted(size)) return p;
    throw std::bad_alloc{};
}
}  // namespace

// Every form that a standard library may call: a form left out would come from the sanitizer and be freed by ours.
void* operator new(std::size_t size) { return counted_or_throw(size); }
void* operator new[](std::size_t size) { return counted_or_throw(size); }
void* operator new(std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void* operator new[](std::size_t size, const std::nothrow_t&) noexcept { return counted(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete[](void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
void operator delete[](void* p, std::size_t) noexcept { std::free(p); }

TEST_CASE("the counter counts") {
    const std::size_t before = allocations;
    std::vector<int> some(100);
    CHECK(allocations > before);
}

TEST_CASE("after make and reserve neither choosing nor freeing allocates") {
    boards::tree shape;
    shape.leaves.assign(24, 16);
    shape.leaves_of_spine = {8, 8, 8};
    shape.spine_uplink = 400;
    auto slow = boards::with_nics(boards::switched("slow", 8, 100));
    std::vector<std::size_t> classes(384, 0);
    for (std::size_t i = 200; i < 220; ++i) classes[i] = 1;
    const auto c = boards::cluster(
        {boards::with_nics(boards::paired(8, {{0, 2}, {1, 3}, {4, 6}, {5, 7}})), std::move(slow)}, shape, classes);
    auto p = placement::placer::make(c);
    REQUIRE(p);
    placement::answer a;
    a.reserve(384, 8);
    std::mt19937_64 random(1);
    std::size_t placed = 0, runner_ups = 0, mapped = 0;
    std::size_t spent = 0;
    for (int round = 0; round < 4000; ++round) {
        placement::request r;
        r.nodes = std::uint32_t{1} << (random() % 8);
        r.gpus_per_node = 1 + static_cast<std::uint32_t>(random() % 8);
        if (random() % 4 == 0) {
            r.gpus_total = r.nodes * r.gpus_per_node;
            r.nodes = 0;
        }
        r.talks = placement::all_patterns[random() % placement::all_patterns.size()];
        r.parallel.tp = 2;
        r.parallel.ep = random() % 2 == 0 ? 1 : 2;
        r.parallel.dp_bytes = 1e9;
        const std::size_t before = allocations;
        for (int i = 0; i < 4; ++i)
            p->set_free(topo::node_id(random() % 384), random() % 3 == 0 ? 255 : random() % 256);
        const auto how = p->choose(r, {}, a);
        p->predict(r, a);
        (void)p->table(topo::class_id(0)).best(random() % 256, 3, 1);
        (void)p->table(topo::class_id(0)).runner_up(255, 3, 7);
        spent += allocations - before;
        placed += how == placement::outcome::placed ? 1 : 0;
        runner_ups += a.has_runner_up ? 1 : 0;
        mapped += a.mapped_ranks ? 1 : 0;
    }
    CHECK(spent == 0);
    CHECK(placed > 1000);
    CHECK(runner_ups > 500);
    CHECK(mapped > 50);
}

TEST_CASE("nor does it on a torus, a hypercube, a dragonfly, in segments or with nodes kept back") {
    const auto four = boards::with_nics(boards::switched("four", 4));
    const std::vector<topo::cost> hop = {boards::cost(2, 48), boards::cost(2.5, 24)};
    boards::tree shape;
    shape.leaves.assign(8, 16);
    topo::cluster_description racks;
    racks.name = "racks";
    racks.fabric = boards::fabric_of(shape);
    racks.fabric.spare_nodes = 2;
    racks.classes = {four};
    racks.nodes = {{"four", {}}};
    for (const auto& leaf : racks.fabric.switches)
        racks.nodes[0].nodes.insert(racks.nodes[0].nodes.end(), leaf.nodes.begin(), leaf.nodes.end());
    auto built = topo::cluster::build(std::move(racks));
    REQUIRE(built);
    std::vector<topo::cluster> clusters;
    clusters.push_back(boards::grid_cluster(topo::fabric_form::torus, {6, 5, 4}, hop, {four}, 12.5));
    clusters.push_back(
        boards::grid_cluster(topo::fabric_form::hypercube, std::vector<std::uint32_t>(7, 2), hop, {four}));
    clusters.push_back(boards::dragonfly(6, 4, 5, 40, four));
    clusters.push_back(std::move(*built));
    std::mt19937_64 random(2);
    std::size_t spent = 0, placed = 0;
    for (const auto& c : clusters) {
        auto p = placement::placer::make(c);
        REQUIRE(p);
        placement::answer a;
        a.reserve(128, 4);
        for (int round = 0; round < 500; ++round) {
            placement::request r;
            r.nodes = 1 + static_cast<std::uint32_t>(random() % 40);
            r.gpus_per_node = 1 + static_cast<std::uint32_t>(random() % 4);
            if (random() % 3 == 0) r.max_nodes = r.nodes + static_cast<std::uint32_t>(random() % 20);
            if (random() % 3 == 0) r.segment_nodes = 1 + static_cast<std::uint32_t>(random() % 4);
            if (random() % 2 == 0) r.talks = placement::pattern::all_to_all;
            const std::size_t before = allocations;
            p->set_free(topo::node_id(random() % c.nodes().size()), random() % 16);
            placed += p->choose(r, {}, a) == placement::outcome::placed ? 1 : 0;
            spent += allocations - before;
        }
    }
    CHECK(spent == 0);
    CHECK(placed > 500);
}

// SPDX-License-Identifier: Apache-2.0
// Slow links made up from a seed: which cells they slow, and that only who knows them avoids them.
#include <doctest/doctest.h>

#include "placement/simulate/degrade.hpp"
#include "placement/simulate/mix.hpp"
#include "placement/simulate/replay.hpp"
#include "placement/simulate/report.hpp"
#include "simulate_help.hpp"

using namespace placement;
using namespace placement::simulate;
using simulate_help::nodes_of;
using simulate_help::tree_of;

namespace {

topo::cluster built(const degraded& d) {
    auto c = topo::cluster::build(d.cluster);
    REQUIRE(c);
    return std::move(*c);
}

}  // namespace

TEST_CASE("about the asked share of the links is slow, each to the asked bandwidth, once") {
    const auto c = nodes_of(tree_of({50, 50}));
    degrade_options how;
    how.share = 0.05;
    how.bandwidth = 0.25;
    how.seed = 3;
    const auto d = degrade(c.description(), how);
    CHECK(d.links == 1600);  // 8 GPUs into the switches, 8 NICs, on 100 nodes
    CHECK(d.slow_links > 50);
    CHECK(d.slow_links < 115);
    const auto slow = built(d);
    REQUIRE(slow.nodes().size() == 100);
    std::uint64_t links = 0;
    std::uint32_t nodes = 0;
    for (std::uint32_t n = 0; n < 100; ++n) {
        CHECK(slow.nodes()[n].name == c.nodes()[n].name);
        const auto& hardware = slow.class_of(node_id(n));
        const auto* gpu = hardware.best_layer(topo::endpoint::gpu, topo::endpoint::gpu);
        const auto* nic = hardware.best_layer(topo::endpoint::gpu, topo::endpoint::nic);
        const auto* back = hardware.best_layer(topo::endpoint::nic, topo::endpoint::gpu);
        unsigned here = 0;
        for (std::size_t g = 0; g < 8; ++g) {
            std::size_t slow_pairs = 0;
            for (std::size_t b = 0; b < 8; ++b) {
                if (b == g) continue;
                const double bw = gpu->cells(g, b).gb_per_s;
                CHECK((bw == 400 || bw == 100));  // never a quarter of a quarter
                CHECK(gpu->cells(b, g).gb_per_s == bw);
                slow_pairs += bw == 100 ? 1 : 0;
            }
            here += slow_pairs == 7 ? 1 : 0;
            const bool slow_nic = nic->cells(0, g).gb_per_s < 20;
            for (std::size_t a = 0; a < 8; ++a) {
                CHECK((nic->cells(a, g).gb_per_s < 45 * 0.25 + 0.1) == slow_nic);
                CHECK((back->cells(g, a).gb_per_s < 45 * 0.25 + 0.1) == slow_nic);
            }
            here += slow_nic ? 1 : 0;
        }
        links += here;
        nodes += here > 0 ? 1 : 0;
        CHECK((here > 0) == (hardware.name != "h"));
        CHECK(hardware.simulated() == (here > 0));
    }
    CHECK(links == d.slow_links);
    CHECK(nodes == d.slow_nodes);
    CHECK(degrade(c.description(), how).cluster == d.cluster);
    how.seed = 4;
    CHECK_FALSE(degrade(c.description(), how).cluster == d.cluster);
}

TEST_CASE("pairs are links where not all are alike; kinds can be left out") {
    const auto board = boards::paired(4, {{0, 1}, {2, 3}});
    const auto c = boards::cluster({board}, tree_of({3}));
    degrade_options how;
    how.share = 1;
    const auto all = degrade(c.description(), how);
    CHECK(all.links == 6);  // two pairs on three nodes: the slow ways between pairs are no links of their own
    CHECK(all.slow_links == 6);
    const auto slow = built(all);
    const auto* costs = slow.class_of(node_id(0)).best_layer(topo::endpoint::gpu, topo::endpoint::gpu);
    CHECK(costs->cells(0, 1).gb_per_s == 100);
    CHECK(costs->cells(0, 2).gb_per_s == 20);
    CHECK(slow.classes().size() == 2);  // one healthy, one shared by the three
    how.gpu_links = false;
    CHECK(degrade(c.description(), how).links == 0);
    how = {};
    how.share = 0;
    CHECK(degrade(c.description(), how).cluster == c.description());
}

TEST_CASE("who knows the slow links places beside them; who is blind to them does not") {
    // Four nodes under one leaf; GPU 2 of nodes 0 and 1 is slow.
    auto healthy = boards::with_nics(boards::switched("h", 8));
    const auto c = boards::cluster({healthy}, tree_of({4}));
    auto description = c.description();
    topo::node_class bad = healthy;
    bad.name = "bad";
    for (auto& layer : bad.layers)
        if (layer.from == topo::endpoint::gpu && layer.to == topo::endpoint::gpu)
            for (std::size_t g = 0; g < 8; ++g)
                if (g != 2) layer.cells(g, 2).gb_per_s = layer.cells(2, g).gb_per_s = 100;
    description.classes.push_back(bad);
    description.nodes = {{"bad", {c.nodes()[0].name, c.nodes()[1].name}},
                         {"h", {c.nodes()[2].name, c.nodes()[3].name}}};
    auto truth = topo::cluster::build(description);
    REQUIRE(truth);
    trace t;
    t.jobs = {{0, 10, 16, 0}};
    const auto step = [&](const char* name) {
        auto by = decider::make(*truth, c, *policy_named(name), 1e9);
        REQUIRE(by);
        return replay(t, *truth, *by, {}).started.at(0).step_us;
    };
    CHECK(step("slurm-tree") > 3 * step("atoll"));
    CHECK(step("atoll-blind") == step("slurm-tree"));
}

TEST_CASE("knowing slow links is worth something over a whole mix, and only knowing them is") {
    const auto c = nodes_of(tree_of({16, 16, 16, 16}));
    degrade_options how;
    how.bandwidth = 0.25;
    const auto truth = built(degrade(c.description(), how));
    const trace t = make_mix({mix_kind::llm, 1500, 0.6, 512, 64, 2});
    const auto mean = [&](const char* name) {
        auto by = decider::make(truth, c, *policy_named(name), 1e9);
        REQUIRE(by);
        return summarise(replay(t, truth, *by, {}), t).all.mean_us;
    };
    const double atoll = mean("atoll");
    CHECK(atoll < mean("slurm-tree"));
    CHECK(atoll < mean("atoll-blind"));
}

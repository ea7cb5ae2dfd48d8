// SPDX-License-Identifier: Apache-2.0
// Patterns by hand on small machines, their names, the layouts that are refused, in-network reduction, and the bytes of
// a model.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "boards.hpp"
#include "placement/model_bytes.hpp"
#include "placement/placer.hpp"

using placement::pattern;
using placement::placer;

namespace {

placement::prediction predict(const topo::cluster& c, const placement::request& job) {
    const auto p = placer::make(c);
    REQUIRE(p);
    placement::answer a;
    REQUIRE(p->choose(job, {}, a) == placement::outcome::placed);
    CHECK(p->predict_ranks(job, a.ranks).step_us == doctest::Approx(a.predicted.step_us));
    return a.predicted;
}

placement::request job_of(std::uint32_t nodes, std::uint32_t gpus, pattern p, double bytes = 1e8) {
    placement::request r;
    r.nodes = nodes;
    r.gpus_per_node = gpus;
    r.talks = p;
    r.message_bytes = bytes;
    return r;
}

// Two leaves of two nodes; leaf 3 µs, spine 4 µs, 50 GB/s each; NICs 1 µs, 45 GB/s; GPUs 2 µs, 400 GB/s.
topo::cluster small(bool adds_up) {
    topo::cluster_description d;
    d.name = "test";
    d.classes = {boards::with_nics(boards::switched("board", 4))};
    d.nodes = {{"board", {}}};
    for (std::size_t i = 0; i < 4; ++i) d.nodes[0].nodes.push_back(boards::node_name(i));
    d.fabric = boards::fabric_of({{2, 2}, {}, 0, true});
    d.fabric.in_network_reduction = adds_up;
    auto built = topo::cluster::build(std::move(d));
    REQUIRE(built);
    return std::move(*built);
}

}  // namespace

TEST_CASE("every pattern has a name that reads back, and the short forms") {
    for (const auto p : placement::all_patterns) CHECK(placement::pattern_named(placement::name_of(p)) == p);
    CHECK(placement::pattern_named("all-to-all") == pattern::all_to_all);
    CHECK(placement::pattern_named("sharp") == pattern::in_network_allreduce);
    CHECK(!placement::pattern_named(""));
    CHECK(!placement::pattern_named("ringg"));
    CHECK(!placement::pattern_named(std::string(100000, 'x')));
}

TEST_CASE("all-to-all of a node: each pair its share, and the port of a GPU for all of them") {
    const auto c = boards::cluster({boards::switched("board", 4)}, {{1}, {}, 0, true});
    const auto got = predict(c, job_of(1, 4, pattern::all_to_all));
    CHECK(got.latency_us == doctest::Approx(3 * 2));
    CHECK(got.transfer_us == doctest::Approx(3 * 25e6 / 400e3));
}

TEST_CASE("hierarchical all-reduce: the node's ring, then a ring a rail") {
    const auto got = predict(small(false), job_of(2, 4, pattern::hierarchical_allreduce));
    CHECK(got.terms[0].how == pattern::hierarchical_allreduce);
    CHECK(got.latency_us == doctest::Approx(2 * 3 * 2 + 2 * 1 * 5));
    CHECK(got.transfer_us == doctest::Approx(2 * 0.75 * 1e8 / 400e3 + 25e6 / 45e3));
}

TEST_CASE("switches that add up: half of the ring's bytes over the NICs, and only where they are switched on") {
    const auto with = predict(small(true), job_of(4, 4, pattern::in_network_allreduce));
    CHECK(with.terms[0].how == pattern::in_network_allreduce);
    CHECK(with.latency_us == doctest::Approx(1 + 4 + 1 + 2 * 3 * 2));
    CHECK(with.transfer_us == doctest::Approx(1e8 / 4 / 45e3 + 2 * 0.75 * 1e8 / 400e3));
    const auto without = predict(small(false), job_of(4, 4, pattern::in_network_allreduce));
    CHECK(without.terms[0].how == pattern::ring_allreduce);
    CHECK(predict(small(true), job_of(4, 4, pattern::allreduce)).step_us <= with.step_us);
    // Inside one node no switch of the fabric is used.
    CHECK(predict(small(true), job_of(1, 4, pattern::in_network_allreduce)).terms[0].how == pattern::ring_allreduce);
}

TEST_CASE("sharded data parallel takes what the ring takes, and small messages take the tree") {
    const auto c = small(false);
    CHECK(predict(c, job_of(4, 4, pattern::reduce_scatter_all_gather)).step_us ==
          doctest::Approx(predict(c, job_of(4, 4, pattern::ring_allreduce)).step_us));
    CHECK(predict(c, job_of(4, 4, pattern::allreduce, 8)).terms[0].how == pattern::tree_allreduce);
}

TEST_CASE("gradients hide behind the backward pass, never below nothing") {
    auto job = job_of(2, 4, pattern::data_parallel);
    const double whole = predict(small(false), job).step_us;
    job.parallel.compute_us = whole;
    job.parallel.overlap = 0.5;
    auto got = predict(small(false), job);
    CHECK(got.terms[1].hidden_us == doctest::Approx(whole / 3));
    CHECK(got.step_us == doctest::Approx(whole + whole * 2 / 3));
    job.parallel.compute_us = 100 * whole;
    got = predict(small(false), job);
    CHECK(got.terms[1].shown_us() == doctest::Approx(0));
    CHECK(got.step_us == doctest::Approx(100 * whole));
}

TEST_CASE("layouts that do not make so many ranks are refused with a remedy") {
    const auto c = small(false);
    const auto p = placer::make(c);
    REQUIRE(p);
    placement::answer a;
    const auto refused = [&](const placement::request& r) {
        CHECK(placement::fault_of(r, std::uint64_t{r.nodes} * r.gpus_per_node).find("; ") != std::string_view::npos);
        CHECK(p->choose(r, {}, a) == placement::outcome::bad_request);
        CHECK(a.nodes.empty());
    };
    auto job = job_of(2, 4, pattern::composite);
    job.parallel.tp = 3;
    refused(job);
    job.parallel.tp = 4;
    job.parallel.dp = 4;
    refused(job);
    job.parallel.dp = 2;
    job.parallel.ep = 3;
    refused(job);
    auto halo = job_of(2, 4, pattern::halo_exchange);
    halo.halo.extent = {3, 3, 1};
    refused(halo);
    halo.halo.extent = {1u << 31, 1u << 31, 8};
    refused(halo);
    refused(job_of(2, 4, pattern::traffic_matrix));
    auto bytes = job_of(2, 4, pattern::composite);
    bytes.parallel.tp_bytes = std::numeric_limits<double>::quiet_NaN();
    CHECK(p->choose(bytes, {}, a) == placement::outcome::bad_request);
    bytes.parallel.tp_bytes = 0;
    bytes.parallel.overlap = 1.5;
    CHECK(p->choose(bytes, {}, a) == placement::outcome::bad_request);
    bytes.parallel.overlap = 0;
    bytes.parallel.tp = 0;
    CHECK(p->choose(bytes, {}, a) == placement::outcome::bad_request);
}

TEST_CASE("a grid without extents is as near to a cube as the ranks allow") {
    using extent = std::array<std::uint32_t, 3>;
    CHECK(placement::grid_of({}, 64).extent == extent{4, 4, 4});
    CHECK(placement::grid_of({}, 512).extent == extent{8, 8, 8});
    CHECK(placement::grid_of({}, 24).extent == extent{4, 3, 2});
    CHECK(placement::grid_of({}, 7).extent == extent{7, 1, 1});
    CHECK(placement::grid_of({}, 1).extent == extent{1, 1, 1});
}

TEST_CASE("bytes of a model: GPT-3 175B has the layers and width that were published") {
    placement::model_size m;
    m.parameters = 175e9;
    CHECK(placement::layer_count(m) == 96);
    CHECK(placement::hidden_size(m) == doctest::Approx(12288).epsilon(0.005));
    placement::parallel_plan plan;
    plan.tp = 8;
    plan.pp = 4;
    m.sequence = 2048;
    const auto with = placement::with_bytes_of(m, plan);
    CHECK(with.dp_bytes == doctest::Approx(175e9 / 32 * 2));
    CHECK(with.tp_bytes == doctest::Approx(2048 * placement::hidden_size(m) * 2));
    CHECK(with.layers == 96);
    CHECK(placement::bytes_of_precision("fp32") == 4);
    CHECK(!placement::bytes_of_precision("int3"));
}

// SPDX-License-Identifier: Apache-2.0
#include "placement/placer.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <set>

#include "boards.hpp"

using boards::mask;
using placement::answer;
using placement::outcome;
using placement::placer;
using placement::request;
using topo::gpu_mask;
using topo::node_id;

namespace {

placer chooser_for(const topo::cluster& c, const placement::placer_options& options = {}) {
    auto made = placer::make(c, options);
    if (!made) MESSAGE(made.failure().message());
    REQUIRE(made);
    return std::move(*made);
}

request job(std::uint32_t nodes, std::uint32_t gpus) {
    request r;
    r.nodes = nodes;
    r.gpus_per_node = gpus;
    return r;
}

request total(std::uint32_t gpus, std::uint32_t min = 1, std::uint32_t max = 0) {
    request r;
    r.nodes = 0;
    r.gpus_total = gpus;
    r.min_nodes = min;
    r.max_nodes = max;
    return r;
}

std::vector<std::uint32_t> ids(const answer& a) {
    std::vector<std::uint32_t> out;
    for (const auto& n : a.nodes) out.push_back(n.node.value);
    return out;
}

std::vector<std::uint32_t> range(std::uint32_t first, std::uint32_t last) {
    std::vector<std::uint32_t> out;
    for (std::uint32_t i = first; i <= last; ++i) out.push_back(i);
    return out;
}

using v = std::vector<std::uint32_t>;

}  // namespace

TEST_CASE("whole-node jobs stay under one leaf, in the smallest one that holds them") {
    const auto c = boards::cluster({boards::switched("h", 8)}, {{4, 2, 4}, {}, 0, true});
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(2, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{4, 5});  // fits exactly: nothing is broken
    for (const auto n : {4u, 5u}) p.set_free(node_id(n), 0);
    REQUIRE(p.choose(job(2, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{0, 1});
    for (const auto n : {0u, 1u}) p.set_free(node_id(n), 0);
    // The broken leaf serves a small job, the untouched one the large.
    REQUIRE(p.choose(job(1, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{2});
    REQUIRE(p.choose(job(4, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{6, 7, 8, 9});
    CHECK(a.damage == 0);
    REQUIRE(p.choose(job(5, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{2, 6, 7, 8, 9});
    CHECK(p.choose(job(7, 8), {}, a) == outcome::too_few_gpus);
    CHECK(a.nodes.empty());
    CHECK(a.ranks.empty());
    CHECK(!placement::text_of(outcome::too_few_gpus).empty());
}

TEST_CASE("ranks go node by node in ring order, with NIC and NUMA node") {
    const auto c = boards::cluster({boards::with_nics(boards::paired(4, {{0, 2}, {1, 3}}))}, {{2}, {0}, 0, true});
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(2, 4), {}, a) == outcome::placed);
    REQUIRE(a.ranks.size() == 8);
    std::set<std::pair<std::uint32_t, unsigned>> seen;
    for (std::size_t r = 0; r < 8; ++r) {
        CHECK(a.ranks[r].node.value == r / 4);
        CHECK(a.ranks[r].nic == a.ranks[r].gpu);
        CHECK(a.ranks[r].numa == (a.ranks[r].gpu < 2 ? 0 : 1));
        seen.emplace(a.ranks[r].node.value, a.ranks[r].gpu);
    }
    CHECK(seen.size() == 8);
    CHECK(a.ranks[0].gpu == 0);
}

TEST_CASE("the predicted time is the formula, term by term") {
    const auto hardware = boards::with_nics(boards::switched("h", 4, 400, 2), 45, 1);
    const auto c = boards::cluster({hardware}, {{2, 2}, {}, 100, true});
    auto p = chooser_for(c);
    answer a;
    request r = job(1, 4);
    r.message_bytes = 1e8;
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    CHECK(a.predicted.latency_us == doctest::Approx(2 * 3 * 2));
    CHECK(a.predicted.transfer_us == doctest::Approx(2.0 * 3 / 4 * 1e8 / 400e3));
    CHECK(a.predicted.step_us == a.predicted.latency_us + a.predicted.transfer_us);
    CHECK(a.predicted.slowest_level == 0);

    // Two nodes of one leaf: four rails of 45 GB/s against 400 inside; α = 1 + 3 + 1.
    r = job(2, 4);
    r.message_bytes = 1e8;
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    CHECK(a.predicted.latency_us == doctest::Approx(2 * 7 * 5));
    CHECK(a.predicted.slowest_gb_per_s == doctest::Approx(180));
    CHECK(a.predicted.transfer_us == doctest::Approx(2.0 * 7 / 8 * 1e8 / 180e3));
    CHECK(a.predicted.slowest_level == 1);
    CHECK(a.predicted.slowest_from == 3);
    CHECK(a.predicted.slowest_to == 4);
    CHECK(!a.predicted.simulated);
    CHECK(!a.predicted.estimated);

    // Over two leaves with 100 GB/s upwards each: one hop leaves each leaf, so 100 GB/s; α = 1 + 4 + 1.
    r = job(3, 4);
    r.message_bytes = 1e8;
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    CHECK(a.predicted.slowest_gb_per_s == doctest::Approx(100));
    CHECK(a.predicted.latency_us == doctest::Approx(2 * 11 * 6));
    CHECK(a.predicted.slowest_level == 2);

    // In an order that crosses twice, each crossing has half the uplink.
    a.nodes = {{node_id(0), 15}, {node_id(2), 15}, {node_id(1), 15}, {node_id(3), 15}};
    p.predict(r, a);
    CHECK(a.predicted.slowest_gb_per_s == doctest::Approx(50));
    CHECK(a.ranks.size() == 16);

    // One GPU a node: one rail; one GPU in all: nothing to send.
    r = job(2, 1);
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    CHECK(a.predicted.slowest_gb_per_s == doctest::Approx(45));
    REQUIRE(p.choose(job(1, 1), {}, a) == outcome::placed);
    CHECK(a.predicted.step_us == 0);
    CHECK(a.predicted.slowest_gb_per_s == 0);
}

TEST_CASE("what choose states is what predict states, and simulated or estimated costs are told") {
    auto hardware = boards::with_nics(boards::paired(8, {{0, 2}, {1, 3}, {4, 6}, {5, 7}}));
    for (auto& layer : hardware.layers)
        for (auto& cell : layer.cells.cells())
            if (cell.present()) cell.from = topo::source::simulated;
    const auto c = boards::cluster({hardware}, {{3, 3, 3}, {}, 60, true});
    auto p = chooser_for(c);
    p.set_free(node_id(4), mask({0, 1, 5}));
    p.set_free(node_id(7), mask({2, 3, 4, 6, 7}));
    for (const auto& [nodes, gpus] : {std::pair{1u, 2u}, {1u, 8u}, {2u, 3u}, {5u, 4u}, {6u, 8u}}) {
        answer a;
        REQUIRE(p.choose(job(nodes, gpus), {}, a) == outcome::placed);
        answer again;
        again.nodes = a.nodes;
        p.predict(job(nodes, gpus), again);
        CHECK(again.predicted.step_us == a.predicted.step_us);
        CHECK(again.damage == a.damage);
        CHECK(again.ranks.size() == a.ranks.size());
        CHECK(a.predicted.simulated);
        CHECK(a.damage >= 0);
        CHECK(a.damage <= 1);
        REQUIRE(a.has_runner_up);
        answer second;
        second.nodes = a.runner_up_nodes;
        p.predict(job(nodes, gpus), second);
        CHECK(second.predicted.step_us == a.runner_up.step_us);
        CHECK(second.damage == a.runner_up_damage);
        bool same = true;
        for (std::size_t i = 0; i < a.nodes.size(); ++i)
            same &= a.nodes[i].node == a.runner_up_nodes[i].node && a.nodes[i].gpus == a.runner_up_nodes[i].gpus;
        CHECK(!same);
    }
}

TEST_CASE("parts of nodes: tightest node first, no whole node or leaf broken while another serves") {
    const auto c = boards::cluster({boards::paired(8, {{0, 2}, {1, 3}, {4, 6}, {5, 7}})}, {{3, 3}, {}, 0, true});
    auto p = chooser_for(c);
    p.set_free(node_id(1), mask({0, 1, 2, 3, 4}));
    p.set_free(node_id(2), mask({5, 6, 7}));
    answer a;
    REQUIRE(p.choose(job(1, 2), {}, a) == outcome::placed);
    CHECK(ids(a) == v{2});
    CHECK(a.nodes[0].gpus == mask({5, 7}));
    REQUIRE(p.choose(job(1, 4), {}, a) == outcome::placed);
    CHECK(ids(a) == v{1});
    CHECK(a.nodes[0].gpus == mask({0, 1, 2, 3}));
    REQUIRE(p.choose(job(1, 6), {}, a) == outcome::placed);
    CHECK(ids(a) == v{0});  // the leaf that is broken already
    // A tight node without a whole pair is not good enough for two GPUs.
    p.set_free(node_id(2), mask({5, 6}));
    REQUIRE(p.choose(job(1, 2), {}, a) == outcome::placed);
    CHECK(ids(a) == v{1});
    // but is the first for one GPU,
    REQUIRE(p.choose(job(1, 1), {}, a) == outcome::placed);
    CHECK(ids(a) == v{2});
    // and for two when nothing better is left.
    for (const auto n : {0u, 1u, 3u, 4u, 5u}) p.set_free(node_id(n), 0);
    REQUIRE(p.choose(job(1, 2), {}, a) == outcome::placed);
    CHECK(ids(a) == v{2});
    // Several nodes with parts of them: first those that are broken already.
    for (const auto n : {0u, 3u, 4u}) p.set_free(node_id(n), 255);
    p.set_free(node_id(5), mask({0, 2, 4}));
    p.set_free(node_id(1), mask({4, 6}));
    p.set_free(node_id(2), mask({1, 3}));
    REQUIRE(p.choose(job(2, 2), {}, a) == outcome::placed);
    CHECK(ids(a) == v{1, 2});
}

TEST_CASE("the filter is obeyed, also when it is short") {
    const auto c = boards::cluster({boards::switched("h", 2)}, {{40, 40, 40}, {}, 0, true});
    auto p = chooser_for(c);
    const std::vector<std::uint64_t> some = {0, 0x3c};  // nodes 66 … 69
    answer a;
    REQUIRE(p.choose(job(4, 2), some, a) == outcome::placed);
    CHECK(ids(a) == v{66, 67, 68, 69});
    CHECK(p.choose(job(5, 2), some, a) == outcome::too_few_gpus);
    const std::vector<std::uint64_t> first_word = {0xff};
    CHECK(p.choose(job(9, 2), first_word, a) == outcome::too_few_gpus);
    REQUIRE(p.choose(job(1, 1), first_word, a) == outcome::placed);
    CHECK(a.nodes[0].node.value < 8);
    const std::vector<std::uint64_t> nothing = {0, 0, 0, 0, 0, 0};
    CHECK(p.choose(job(1, 1), nothing, a) == outcome::too_few_gpus);
}

TEST_CASE("case 48: no job over fabrics that do not meet") {
    const auto c = boards::cluster({boards::switched("h", 8)}, {{3, 3, 4}, {2, 1}, 0, false});
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(6, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == range(0, 5));
    CHECK(p.choose(job(7, 8), {}, a) == outcome::unreachable);
    CHECK(a.nodes.empty());
    CHECK(p.choose(job(11, 8), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(total(56), {}, a) == outcome::unreachable);
    // The runner-up keeps to it, too.
    REQUIRE(p.choose(job(4, 8), {}, a) == outcome::placed);
    if (a.has_runner_up) CHECK(std::isfinite(a.runner_up.step_us));
    // And predict() says so of a set that was made up.
    a.nodes = {{node_id(0), 255}, {node_id(9), 255}};
    p.predict(job(2, 8), a);
    CHECK(std::isinf(a.predicted.step_us));
}

TEST_CASE("case 52: eighteen nodes do not fit a short block, and there are no fake nodes") {
    // Two racks of 18 and 14 that are not joined.
    const auto apart = boards::cluster({boards::switched("h", 4)}, {{14, 18}, {0}, 0, true});
    auto p = chooser_for(apart);
    answer a;
    REQUIRE(p.choose(job(18, 4), {}, a) == outcome::placed);
    CHECK(ids(a) == range(14, 31));
    REQUIRE(p.choose(job(14, 4), {}, a) == outcome::placed);
    CHECK(ids(a) == range(0, 13));
    p.set_free(node_id(20), 0);
    CHECK(p.choose(job(18, 4), {}, a) == outcome::unreachable);
    // Joined above, a job may use both, and the largest block first.
    const auto joined = boards::cluster({boards::switched("h", 4)}, {{14, 18}, {}, 0, true});
    auto q = chooser_for(joined);
    REQUIRE(q.choose(job(20, 4), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 20);
    CHECK(a.predicted.slowest_level <= 2);
}

TEST_CASE("nodes that hang nowhere serve one-node jobs only") {
    topo::cluster_description d;
    d.name = "loose";
    d.classes = {boards::switched("h", 8)};
    d.nodes = {{"h", {"a", "b", "c", "d"}}};
    topo::switch_description leaf;
    leaf.name = "leaf";
    leaf.nodes = {"a", "b"};
    d.fabric.form = topo::fabric_form::tree;
    d.fabric.switches = {leaf};
    auto built = topo::cluster::build(std::move(d));
    REQUIRE(built);
    auto p = chooser_for(*built);
    answer a;
    REQUIRE(p.choose(job(2, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{0, 1});
    CHECK(p.choose(job(3, 8), {}, a) == outcome::unreachable);
    p.set_free(node_id(0), 0);
    p.set_free(node_id(1), 0);
    REQUIRE(p.choose(job(1, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{2});
    CHECK(p.choose(job(2, 8), {}, a) == outcome::unreachable);
}

TEST_CASE("a degraded node is left out while the level has another") {
    const auto good = boards::with_nics(boards::switched("good", 8, 400));
    auto link = boards::with_nics(boards::switched("link", 8, 400));
    link.layers[0].cells(0, 1) = boards::cost(2, 20);  // a lost NVLink both ways …
    link.layers[0].cells(1, 0) = boards::cost(2, 20);
    for (std::size_t g = 0; g < 8; ++g) link.layers[0].cells(g, 7) = boards::cost(2, 30);  // … and a slow GPU
    auto nic = boards::with_nics(boards::switched("nic", 8, 400), 45);
    for (std::size_t g = 0; g < 8; ++g) nic.layers[1].cells(g, 5).gb_per_s /= 4;
    const auto c = boards::cluster({link, good, nic}, {{4, 4}, {}, 0, true}, {0, 1, 1, 1, 1, 1, 1, 2});
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(3, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{1, 2, 3});
    for (const auto n : {1u, 2u, 3u}) p.set_free(node_id(n), 0);
    REQUIRE(p.choose(job(3, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{4, 5, 6});
    for (const auto n : {1u, 2u, 3u}) p.set_free(node_id(n), 255);
    // One node, all of it: the slow link matters, the slow NIC does not.
    for (const auto n : {1u, 2u, 3u, 4u, 5u, 6u}) p.set_free(node_id(n), 0);
    REQUIRE(p.choose(job(1, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{7});
    // Where nothing else is left they are taken, and the time says what it costs.
    REQUIRE(p.choose(job(2, 8), {}, a) == outcome::placed);
    CHECK(ids(a) == v{0, 7});
    CHECK(a.predicted.slowest_gb_per_s < 45 * 8);
}

TEST_CASE("classes are not mixed while one of them serves") {
    const auto c = boards::cluster({boards::switched("a", 8, 400), boards::switched("b", 8, 400)},
                                   {{4, 4}, {}, 0, true}, {0, 0, 1, 1, 1, 1, 0, 0});
    auto p = chooser_for(c);
    for (const auto n : {0u, 4u}) p.set_free(node_id(n), 0);
    answer a;
    REQUIRE(p.choose(job(2, 8), {}, a) == outcome::placed);
    CHECK(c.nodes()[a.nodes[0].node.value].hardware == c.nodes()[a.nodes[1].node.value].hardware);
    REQUIRE(p.choose(job(6, 8), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 6);
}

TEST_CASE("nodes of different size: exactly the number asked for on each") {
    const auto c =
        boards::cluster({boards::switched("eight", 8), boards::switched("four", 4)}, {{4}, {0}, 0, true}, {0, 0, 1, 1});
    auto p = chooser_for(c);
    answer a;
    REQUIRE(p.choose(job(4, 4), {}, a) == outcome::placed);
    for (const auto& n : a.nodes) CHECK(topo::count(n.gpus) == 4);
    REQUIRE(p.choose(job(2, 4), {}, a) == outcome::placed);
    CHECK(ids(a) == v{2, 3});  // whole small nodes before parts of large ones
    CHECK(p.choose(job(3, 5), {}, a) == outcome::too_few_gpus);
    p.set_free(node_id(2), ~gpu_mask{0});
    CHECK(p.free(node_id(2)) == 15);  // bits beyond the class are ignored
    CHECK(p.free(node_id(99)) == 0);
}

TEST_CASE("a total of GPUs goes on the fewest nodes") {
    const auto c = boards::cluster({boards::switched("h", 8)}, {{4, 4}, {}, 0, true});
    auto p = chooser_for(c);
    answer a;
    const auto counts = [&] {
        std::multiset<unsigned> out;
        for (const auto& n : a.nodes) out.insert(topo::count(n.gpus));
        return out;
    };
    REQUIRE(p.choose(total(16), {}, a) == outcome::placed);
    CHECK(counts() == std::multiset<unsigned>{8, 8});
    REQUIRE(p.choose(total(3), {}, a) == outcome::placed);
    CHECK(counts() == std::multiset<unsigned>{3});
    p.set_free(node_id(2), mask({0, 1, 2, 3}));
    REQUIRE(p.choose(total(12), {}, a) == outcome::placed);
    CHECK(counts() == std::multiset<unsigned>{4, 8});
    CHECK(ids(a) == v{0, 2});
    CHECK(a.ranks.size() == 12);
    CHECK(a.has_runner_up);
    REQUIRE(p.choose(total(4, 2, 2), {}, a) == outcome::placed);
    CHECK(counts() == std::multiset<unsigned>{2, 2});
    REQUIRE(p.choose(total(7, 3), {}, a) == outcome::placed);
    CHECK(counts() == std::multiset<unsigned>{2, 2, 3});
    REQUIRE(p.choose(total(60), {}, a) == outcome::placed);
    CHECK(a.ranks.size() == 60);
    CHECK(p.choose(total(61), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(total(20, 1, 2), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(total(2, 3), {}, a) == outcome::bad_request);
    CHECK(p.choose(total(2, 3, 2), {}, a) == outcome::bad_request);
    // Fragments only: unequal shares.
    for (std::uint32_t n = 0; n < 8; ++n) p.set_free(node_id(n), n < 3 ? mask({0, 1, 2}) : n == 3 ? mask({5}) : 0);
    REQUIRE(p.choose(total(8), {}, a) == outcome::placed);
    CHECK(counts() == std::multiset<unsigned>{2, 3, 3});
    REQUIRE(p.choose(total(10), {}, a) == outcome::placed);
    CHECK(counts() == std::multiset<unsigned>{1, 3, 3, 3});
    REQUIRE(p.choose(total(10, 4, 4), {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 4);
}

TEST_CASE("wrong requests are told apart from full clusters") {
    const auto c = boards::cluster({boards::switched("h", 8)}, {{2}, {0}, 0, true});
    auto p = chooser_for(c);
    answer a;
    CHECK(p.choose(job(0, 1), {}, a) == outcome::bad_request);
    CHECK(p.choose(job(1, 0), {}, a) == outcome::bad_request);
    CHECK(p.choose(job(1, 65), {}, a) == outcome::bad_request);
    CHECK(p.choose(job(1, 9), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(job(4000000000u, 8), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(total(4000000000u), {}, a) == outcome::too_few_gpus);
    for (const double bytes :
         {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
        auto r = job(1, 1);
        r.message_bytes = bytes;
        CHECK(p.choose(r, {}, a) == outcome::bad_request);
    }
    auto quick = job(2, 8);
    quick.details = false;
    REQUIRE(p.choose(quick, {}, a) == outcome::placed);
    CHECK(a.ranks.empty());
    CHECK(!a.has_runner_up);
    CHECK(a.predicted.step_us > 0);
    CHECK(!placer::make(c, {{}, std::numeric_limits<double>::quiet_NaN(), nullptr}));
}

TEST_CASE("an empty cluster and nodes without GPUs") {
    topo::node_class cpu;
    cpu.name = "cpu";
    const auto c = boards::cluster({cpu}, {{2}, {0}, 0, true});
    auto p = chooser_for(c);
    answer a;
    CHECK(p.choose(job(1, 1), {}, a) == outcome::too_few_gpus);
    CHECK(p.choose(total(2), {}, a) == outcome::too_few_gpus);
    topo::cluster_description none;
    none.name = "none";
    auto built = topo::cluster::build(std::move(none));
    REQUIRE(built);
    auto q = chooser_for(*built);
    CHECK(q.choose(job(1, 1), {}, a) == outcome::too_few_gpus);
    CHECK(q.choose(job(2, 1), {}, a) == outcome::too_few_gpus);
}

TEST_CASE("a deadline that has passed leaves the first candidate and no runner-up") {
    const auto c = boards::cluster({boards::switched("h", 8)}, {{4, 4}, {}, 0, true});
    placement::placer_options options;
    options.now_us = []() noexcept -> std::uint64_t {
        static thread_local std::uint64_t ticks = 0;
        return ticks += 1000;
    };
    auto p = chooser_for(c, options);
    answer a;
    auto r = job(2, 8);
    r.deadline_us = 10;
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    CHECK(a.nodes.size() == 2);
    CHECK(!a.has_runner_up);
    r.deadline_us = 1000000000;
    REQUIRE(p.choose(r, {}, a) == outcome::placed);
    CHECK(a.has_runner_up);
}

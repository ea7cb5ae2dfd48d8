// SPDX-License-Identifier: Apache-2.0
// Replays small enough to work out by hand, and what must hold in any replay.
#include <doctest/doctest.h>

#include <cmath>
#include <map>
#include <optional>

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

constexpr const char* all_policies[] = {"atoll", "linear", "slurm-tree", "slurm-block", "kueue-bestfit"};

trace jobs(std::vector<job> list) {
    trace t;
    t.form = "test";
    t.jobs = std::move(list);
    return t;
}

struct placed {
    started_job at;
    std::vector<node_share> nodes;
};

struct watched {
    replayed result;
    std::vector<placed> starts;
    [[nodiscard]] double start_of(std::uint32_t job) const {
        for (const auto& s : starts)
            if (s.at.job == job) return s.at.start_s;
        return -1;
    }
};

watched run(const topo::cluster& c, const trace& t, const std::string& name, discipline queue,
            std::uint32_t depth = 100) {
    auto by = decider::make(c, c, *policy_named(name), 64e6);
    REQUIRE(by);
    watched w;
    replay_options how;
    how.queue = queue;
    how.backfill_depth = depth;
    how.on_start = [&](const started_job& at, std::span<const node_share> nodes) {
        w.starts.push_back({at, {nodes.begin(), nodes.end()}});
    };
    w.result = replay(t, c, *by, how);
    return w;
}

// The earliest time from `now` on at which so many nodes have so many free GPUs, when only what has started by then
// runs.
double earliest(const topo::cluster& c, const trace& t, const std::vector<placed>& started, const shape& s,
                double now) {
    std::vector<double> times{now};
    for (const auto& p : started) times.push_back(p.at.start_s + t.jobs[p.at.job].duration_s);
    std::sort(times.begin(), times.end());
    for (const double at : times) {
        if (at < now) continue;
        std::vector<gpu_mask> free(c.nodes().size(), 0xff);
        for (const auto& p : started)
            if (p.at.start_s + t.jobs[p.at.job].duration_s > at)
                for (const auto& share : p.nodes) free[share.node.value] &= ~share.gpus;
        std::uint32_t enough = 0, rest = 0;
        for (const auto f : free) {
            enough += topo::count(f) >= s.per_node ? 1 : 0;
            rest += topo::count(f) >= s.last ? 1 : 0;
        }
        if (enough >= s.nodes && (s.last == 0 || rest > s.nodes)) return at;
    }
    return INFINITY;
}

}  // namespace

TEST_CASE("FIFO by hand") {
    const auto c = nodes_of(tree_of({2}));
    const trace t = jobs({{0, 10, 16, 0}, {1, 5, 16, 0}, {2, 3, 8, 0}});
    for (const auto* name : all_policies) {
        CAPTURE(name);
        const auto w = run(c, t, name, discipline::fifo);
        CHECK(w.start_of(0) == 0);
        CHECK(w.start_of(1) == 10);
        CHECK(w.start_of(2) == 15);
        CHECK(w.result.end_s == 18);
        const summary s = summarise(w.result, t);
        CHECK(s.wait_mean_s == doctest::Approx((0 + 9 + 13) / 3.0));
        CHECK(s.wait_p95_s == 13);
        CHECK(s.started == 3);
        CHECK(s.not_placed == 0);
        CHECK(s.decisions == 3);
    }
}

TEST_CASE("EASY by hand: what ends in time goes first, what would delay the first does not") {
    const auto c = nodes_of(tree_of({2}));
    const trace t = jobs({{0, 10, 8, 0}, {1, 5, 16, 0}, {2, 3, 8, 0}, {3, 20, 8, 0}});
    for (const auto* name : all_policies) {
        CAPTURE(name);
        const auto w = run(c, t, name, discipline::easy);
        CHECK(w.start_of(2) == 2);  // ends at 5, job 1 cannot start before 10
        CHECK(w.start_of(1) == 10);
        CHECK(w.start_of(3) == 15);  // would still run at 10
        const auto fifo = run(c, t, name, discipline::fifo);
        CHECK(fifo.start_of(1) == 10);
        CHECK(fifo.start_of(2) == 15);
        CHECK(fifo.start_of(3) == 15);
        const auto shallow = run(c, t, name, discipline::easy, 0);
        CHECK(shallow.start_of(2) == 15);
    }
}

TEST_CASE("EASY by hand: a long job may use what the first does not need") {
    const auto c = nodes_of(tree_of({3}));
    const trace t = jobs({{0, 10, 16, 0}, {1, 5, 16, 0}, {2, 100, 8, 0}, {3, 100, 8, 0}});
    for (const auto* name : all_policies) {
        CAPTURE(name);
        const auto w = run(c, t, name, discipline::easy);
        CHECK(w.start_of(2) == 2);  // at 10 two of three nodes are left for job 1
        CHECK(w.start_of(1) == 10);
        CHECK(w.start_of(3) == 15);
    }
}

TEST_CASE("steps and link bytes by hand") {
    // Two leaves of one node: a job of 16 crosses them with both hops of its ring of nodes.
    const auto c = nodes_of(tree_of({1, 1}, {}, 100));
    const trace t = jobs({{0, 10, 16, 0}, {0, 10, 1, 0}, {20, 1, 4, 0}});
    const auto w = run(c, t, "linear", discipline::fifo);
    const auto p = placer::make(c);
    REQUIRE(p);
    answer a;
    a.nodes = {{node_id(0), 0xff}, {node_id(1), 0xff}};
    p->predict(request_of({2, 8, 0}, 64e6), a);
    REQUIRE(w.starts.size() == 3);
    CHECK(w.starts[0].at.step_us == a.predicted.step_us);
    CHECK(w.starts[0].at.leaves == 2);
    CHECK(w.starts[1].at.step_us == 0);
    CHECK(w.starts[1].at.start_s == 10);  // FIFO, and nothing was free
    // 4 GPUs behind a switch: 2·3·α + 2·3/4·n/B.
    CHECK(w.starts[2].at.step_us == doctest::Approx(6 * 2 + 1.5 * 64e6 / 400e3));
    REQUIRE(w.result.level_bytes.size() == 2);
    CHECK(w.result.level_bytes[0] == doctest::Approx(2 * 2 * 15.0 / 16 * 64e6));
    CHECK(w.result.level_bytes[1] == doctest::Approx(2 * 2 * 15.0 / 16 * 64e6));
    const summary s = summarise(w.result, t);
    CHECK(s.all.gpus == 21);
    CHECK(s.all.mean_us == doctest::Approx((16 * a.predicted.step_us + 4 * w.starts[2].at.step_us) / 21));
    CHECK(s.all.p99_us == a.predicted.step_us);
    REQUIRE(s.classes.size() == 3);
    CHECK(s.classes[0].up_to == 1);
    CHECK(s.classes[1].up_to == 4);
    CHECK(s.classes[2].up_to == 16);
    CHECK(s.classes[2].steps.leaves_mean == 2);
}

TEST_CASE("fragmentation and utilisation by hand") {
    // One leaf of two nodes. From 0 to 10: 2 GPUs of one node busy, of 14 free 8 are on a whole node; then all idle.
    const auto c = nodes_of(tree_of({2}));
    trace t = jobs({{0, 10, 2, 0}, {20, 1, 1, 0}});
    const auto w = run(c, t, "atoll", discipline::fifo);
    // The window is 2 … 20 s.
    CHECK(w.result.measured.seconds == doctest::Approx(18));
    CHECK(w.result.measured.busy == doctest::Approx(2 * 8));
    CHECK(w.result.measured.free == doctest::Approx(14 * 8 + 16 * 10));
    CHECK(w.result.measured.unusable[0] == doctest::Approx(6 * 8));
    CHECK(w.result.measured.unusable[1] == doctest::Approx(14 * 8));
    CHECK(w.result.measured.unusable[2] == doctest::Approx(w.result.measured.free));
    double seconds = 0, busy = 0;
    for (const auto& p : w.result.over_time.points()) {
        seconds += p.seconds;
        busy += p.busy;
    }
    CHECK(seconds == doctest::Approx(21));
    CHECK(busy == doctest::Approx(2 * 10 + 1));
}

TEST_CASE("jobs larger than the cluster are left out and counted, the others run") {
    const auto c = nodes_of(tree_of({2, 2}, {0}));
    const trace t = jobs({{0, 5, 24, 0}, {1, 5, 16, 0}, {2, 5, 33, 0}});
    const auto w = run(c, t, "atoll", discipline::fifo);
    CHECK(w.result.never_fits == 2);
    CHECK(w.starts.size() == 1);
    CHECK(w.result.not_placed == 0);
}

TEST_CASE("any replay: nothing double-booked, everything runs, in order; EASY never delays the first") {
    const auto c = nodes_of(tree_of({4, 6, 5}, {2, 1}));
    for (const auto kind : {mix_kind::lognormal, mix_kind::pow2}) {
        const trace t = make_mix({kind, 600, 0.95, 120, 120, 9});
        for (const auto* name : all_policies)
            for (const auto queue : {discipline::fifo, discipline::easy}) {
                CAPTURE(name);
                CAPTURE(static_cast<int>(queue));
                const auto w = run(c, t, name, queue);
                REQUIRE(w.result.complete);
                REQUIRE(w.starts.size() == 600);
                REQUIRE(w.result.not_placed == 0);
                std::vector<std::size_t> order(600);
                for (std::size_t i = 0; i < 600; ++i) order[w.starts[i].at.job] = i;
                double last = 0;
                for (std::size_t i = 0; i < 600; ++i) {
                    const placed& p = w.starts[i];
                    const job& j = t.jobs[p.at.job];
                    REQUIRE(p.at.start_s >= j.submit_s);
                    REQUIRE(p.at.start_s >= last);
                    last = p.at.start_s;
                    if (queue == discipline::fifo) REQUIRE(p.at.job == i);
                    REQUIRE(p.at.step_us >= 0);
                    REQUIRE(std::isfinite(p.at.step_us));
                    std::uint32_t gpus = 0;
                    for (const auto& share : p.nodes) gpus += topo::count(share.gpus);
                    REQUIRE(gpus == j.gpus);
                    for (std::size_t k = 0; k < i; ++k) {
                        const placed& q = w.starts[k];
                        if (q.at.start_s + t.jobs[q.at.job].duration_s <= p.at.start_s) continue;
                        for (const auto& a : p.nodes)
                            for (const auto& b : q.nodes)
                                if (a.node == b.node) REQUIRE((a.gpus & b.gpus) == 0);
                    }
                }
                // When a job becomes the first that waits, everything that will run before it is known.
                double first_since = 0;
                for (std::uint32_t job = 0; job < 600; ++job) {
                    first_since = std::max(first_since, t.jobs[job].submit_s);
                    std::vector<placed> before;
                    for (const auto& p : w.starts) {
                        if (p.at.job == job || p.at.start_s > first_since) break;
                        if (p.at.start_s < first_since || p.at.job < job) before.push_back(p);
                    }
                    const double bound = earliest(c, t, before, shape_of(t.jobs[job], 8), first_since);
                    const double start = w.starts[order[job]].at.start_s;
                    REQUIRE(start <= bound + 1e-6);
                    first_since = std::max(first_since, start);
                }
            }
    }
}

TEST_CASE("the same again gives the same") {
    const auto c = nodes_of(tree_of({8, 8, 8}));
    const trace t = make_mix({mix_kind::llm, 400, 0.9, 192, 64, 4});
    for (const auto* name : all_policies) {
        const auto a = run(c, t, name, discipline::easy);
        const auto b = run(c, t, name, discipline::easy);
        REQUIRE(a.starts.size() == b.starts.size());
        for (std::size_t i = 0; i < a.starts.size(); ++i) {
            REQUIRE(a.starts[i].at.job == b.starts[i].at.job);
            REQUIRE(a.starts[i].at.start_s == b.starts[i].at.start_s);
            REQUIRE(a.starts[i].at.step_us == b.starts[i].at.step_us);
        }
        CHECK(a.result.level_bytes == b.result.level_bytes);
    }
}

TEST_CASE("a replay that is stopped says so and keeps what it has") {
    const auto c = nodes_of(tree_of({8}));
    const trace t = make_mix({mix_kind::pow2, 5000, 0.5, 64, 64, 4});
    auto by = decider::make(c, c, *policy_named("linear"), 64e6);
    REQUIRE(by);
    replay_options how;
    std::uint64_t seen = 0;
    how.watch = [&](std::uint64_t done) {
        seen = done;
        return done < 1000;
    };
    const auto r = replay(t, c, *by, how);
    CHECK_FALSE(r.complete);
    CHECK(seen >= 1000);
    CHECK(r.started.size() == seen);
    CHECK(r.started.size() < 2000);
    CHECK(summarise(r, t).started == seen);
}

TEST_CASE("parts alone: whose nodes, whose GPUs") {
    // Pairs 0-3 and 1-2: the lowest two free indices are no pair, the table knows one.
    const auto c = boards::cluster({boards::paired(4, {{0, 3}, {1, 2}})}, tree_of({2}));
    const trace t = jobs({{0, 10, 2, 0}});
    const auto gpus = [&](const policy& by_whom) {
        auto by = decider::make(c, c, by_whom, 64e6);
        REQUIRE(by);
        gpu_mask mask = 0;
        replay_options how;
        how.on_start = [&](const started_job&, std::span<const node_share> nodes) { mask = nodes[0].gpus; };
        const auto r = replay(t, c, *by, how);
        CHECK(r.started.size() == 1);
        return std::pair(mask, r.started[0].step_us);
    };
    const auto stock = gpus(*policy_named("slurm-tree"));
    const auto subset = gpus(only(part::subset, rule::slurm_tree));
    const auto atoll = gpus(*policy_named("atoll"));
    CHECK(stock.first == boards::mask({0, 1}));
    CHECK(subset.first == boards::mask({1, 2}));
    CHECK(atoll.first == boards::mask({1, 2}));
    CHECK(gpus(only(part::nodes, rule::slurm_tree)).first == boards::mask({0, 1}));
    CHECK(gpus(only(part::ranks, rule::slurm_tree)).first == boards::mask({0, 1}));
    CHECK(subset.second == atoll.second);
    CHECK(stock.second > 5 * subset.second);
}

TEST_CASE("ranks alone: the ring goes over the links") {
    // A chain 0-2-1-3-0 of fast links: the order of index crosses slow ones.
    const auto c = boards::cluster({boards::paired(4, {{0, 2}, {2, 1}, {1, 3}, {3, 0}})}, tree_of({1}));
    const trace t = jobs({{0, 10, 4, 0}});
    const auto step = [&](const policy& by_whom) {
        auto by = decider::make(c, c, by_whom, 64e6);
        REQUIRE(by);
        return replay(t, c, *by, {}).started.at(0).step_us;
    };
    CHECK(step(*policy_named("linear")) == doctest::Approx(6 * 6 + 1.5 * 64e6 / 20e3));
    CHECK(step(only(part::ranks, rule::linear)) == doctest::Approx(6 * 2 + 1.5 * 64e6 / 200e3));
    CHECK(step(only(part::subset, rule::linear)) == step(*policy_named("linear")));
}

// SPDX-License-Identifier: Apache-2.0
// Replays a trace on a cluster under one policy, event by event.
//
// Example:
//   auto by = decider::make(cluster, cluster, *policy_named("slurm-tree"), 64e6);
//   replayed r = replay(t, cluster, *by, {.queue = discipline::easy});
//   summary s = summarise(r, t);                                       // report.hpp
//
// Pure and deterministic but for the decision times, which come from the caller's clock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "placement/simulate/policy.hpp"
#include "placement/simulate/pool.hpp"
#include "placement/simulate/series.hpp"
#include "placement/simulate/trace.hpp"

namespace placement::simulate {

enum class discipline : std::uint8_t {
    fifo,  // a job starts when all before it have started
    easy,  // EASY backfill (Lifka 1995): a later job may start if the first that waits starts no later for it
};

struct started_job {
    std::uint32_t job = 0;  // index in the trace
    double start_s = 0;
    double step_us = 0;  // predicted; 0 for one GPU
    std::uint32_t nodes = 0;
    std::uint32_t leaves = 0;  // leaf groups it touches
};

struct replay_options {
    discipline queue = discipline::fifo;
    std::uint32_t backfill_depth = 100;            // waiting jobs behind the first that are looked at
    std::uint64_t (*now_ns)() noexcept = nullptr;  // the caller's clock; none: decision times are 0
    // Called every few hundred events with the jobs that have started or were left out; false ends the replay.
    std::function<bool(std::uint64_t done)> watch = {};
    // Called for every job that starts, with its nodes in rank order.
    std::function<void(const started_job&, std::span<const node_share>)> on_start = {};
};

struct replayed {
    std::string policy;
    bool complete = true;              // false: ended by watch()
    std::vector<started_job> started;  // in order of start
    std::uint64_t never_fits = 0;      // jobs larger than the empty cluster, left out
    std::uint64_t not_placed = 0;      // left waiting with everything free; 0 unless the policy fails
    double end_s = 0;                  // when the last job ended
    bool simulated = false;            // any prediction rests on simulated costs
    bool estimated = false;
    // Bytes that one step of every job puts on links, one direction: [0] node to leaf, [1] leaf to the level above, …
    std::vector<double> level_bytes;
    std::vector<std::uint64_t> decision_ns;  // one for each time the policy was asked
    time_shares measured;                    // from a tenth of the span of the arrivals to the last arrival
    series over_time;                        // all of the replay
    std::uint64_t gpus = 0;
};

// O(events × cost of a decision). Memory: O(jobs + nodes).
[[nodiscard]] replayed replay(const trace& t, const topo::cluster& c, decider& by, const replay_options& options);

}  // namespace placement::simulate

// SPDX-License-Identifier: Apache-2.0
// What to measure, in which order. Cells that share no device and no bus segment form a round and are
// measured at once; everything else waits for its turn.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "calibrate/machine.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace calibrate {

// One directed cost to find. sm_copy cells take their bandwidth from SM copies and their latency from
// the flag ping-pong, which is what a kernel that talks to a peer sees.
struct cell {
    place from;
    place to;
    topo::engine by = topo::engine::copy_engine;
    friend bool operator==(const cell&, const cell&) = default;
};

struct round {
    std::vector<cell> cells;  // all by one engine, between the same kinds of endpoints
};

// Which parts to measure (--only gpu-gpu | gpu-nic | host-gpu).
struct plan_options {
    bool gpu_gpu = true;
    bool gpu_nic = true;
    bool host_gpu = true;
};

struct plan {
    inventory what;
    std::vector<round> rounds;
    std::size_t cells = 0;
    double seconds = 0;  // estimate; from the link classes, so good to a factor of two at best
};

// Enumerates the machine and colours the pairs. Fails as enumerate() does, and with missing when there
// is nothing to measure (no GPU). O(cells × rounds).
[[nodiscard]] topo::result<plan> make_plan(machine& m, const plan_options& options);

// "GPU0 → mlx5_3, rdma-write".
[[nodiscard]] std::string text_of(const cell& c, const topo::node_class& hardware);
[[nodiscard]] std::string name_of(const place& p, const topo::node_class& hardware);

}  // namespace calibrate

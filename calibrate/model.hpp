// SPDX-License-Identifier: Apache-2.0
// What a simulated machine is made of, as its YAML file says it (docs/calibration.md has the format).
// The truths in here are for the simulated machine and for tests that check what was recovered;
// calibration itself never sees them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "calibrate/machine.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace calibrate {

// What one link class is worth between two kinds of endpoints, by one engine.
struct path_rule {
    topo::endpoint from = topo::endpoint::gpu;
    topo::endpoint to = topo::endpoint::gpu;
    topo::link_class link = topo::link_class::unknown;  // `self`: a NUMA node and the GPU whose memory it is
    topo::engine by = topo::engine::copy_engine;
    double alpha_us = 0;
    double gb_per_s = 0;    // 0: the engine moves no bulk (sm_flag, sm_load)
    bool per_link = false;  // gb_per_s counts once for each bonded link
    bool staged = false;    // no direct access: the bytes go through the host
};

struct noise_law {
    double sigma = 0;        // of the log-normal factor
    double outliers = 0;     // probability of one, a sample
    double outlier_low = 1;  // factor of an outlier, uniform between the two
    double outlier_high = 1;
    double jitter_us = 0;  // mean of what is added to a sample, exponential
    double timer_us = 0;   // samples are rounded up to multiples of it; 0: exact
};

// What several transfers at once share, GB/s in one direction.
struct shared_capacity {
    double bridge_gb_per_s = 0;  // PCIe of one NUMA node, for what passes its root
    double socket_gb_per_s = 0;  // between NUMA nodes
};

struct machine_model {
    std::string name;
    std::string description;
    topo::node_class hardware;   // devices and links, no layer
    std::vector<int> memory_of;  // by NUMA index: the GPU whose memory the node is, or -1
    int pcie_generation = 0;
    int nvlinks_per_gpu = 0;                                              // ports, up or not
    std::vector<std::pair<topo::link_class, topo::link_class>> reported;  // GPU ↔ NIC: true class, what drivers say
    std::vector<path_rule> rules;
    noise_law noise;
    shared_capacity shared;
};

inline constexpr std::size_t max_model_bytes = 1u << 20;

// Unknown or doubled keys, wrong types, NaN, numbers out of range, a link table that does not fit the
// devices, a link class without a rule: bad_input with "file:line", what and remedy. More than
// max_model_bytes: limit. Never throws.
[[nodiscard]] topo::result<machine_model> parse_model(std::string_view text, const std::string& file);

// How two places are joined. NUMA nodes: `self` to the GPU whose memory they are, that GPU's link to
// the others, else `node` to GPUs of the same NUMA node and `sys` to the rest.
[[nodiscard]] topo::link link_between(const machine_model& m, place a, place b);

// The link class a pair of GPUs falls back to when all its NVLinks are down.
[[nodiscard]] topo::link_class without_nvlink(const machine_model& m, std::size_t a, std::size_t b);

struct true_path {
    double alpha_us = 0;
    double gb_per_s = 0;  // 0: no bulk
    bool staged = false;
};
// Empty where no rule holds. O(rules).
[[nodiscard]] std::optional<true_path> path_of(const machine_model& m, topo::endpoint from, topo::endpoint to,
                                               topo::link l, topo::engine by);
// The same between two places of the model; a NIC's port caps the bandwidth at 97 % of its speed.
[[nodiscard]] std::optional<true_path> path_between(const machine_model& m, place from, place to, topo::link l,
                                                    topo::engine by);

}  // namespace calibrate

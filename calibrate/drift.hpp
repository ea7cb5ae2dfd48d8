// SPDX-License-Identifier: Apache-2.0
// Has a node changed since it was calibrated? Three tiers: facts (devices, links, slots, ports; under a second), a
// sample of the costs (every GPU and its NIC, both directions), all costs.
//
// A cost has changed when |ln(now / before)| is above max(5 %, 3 × the median absolute deviation of its like in the
// stored node, the two spreads), at most 8 %, in two measurements one after the other. So 10 % is always seen, and
// noise of a few percent never is.
//
// Example:
//   auto got = calibrate::check_drift(*m, stored, nullptr, {.tier = check_tier::sample}, bar);
//   if (got && got->changed) … got->changes names what
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/machine.hpp"
#include "calibrate/run.hpp"
#include "topo/finding.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace calibrate {

inline constexpr double drift_least = 0.05;  // bandwidths that differ by less are equal
inline constexpr double drift_most = 0.08;   // and by more, twice, never

enum class check_tier : std::uint8_t { facts, sample, full };
[[nodiscard]] std::string_view name_of(check_tier t) noexcept;

struct drift_options {
    check_tier tier = check_tier::sample;
    std::uint64_t seed = 1;  // of the bootstrap; also which pairs of GPUs a sample takes
    std::string tool = "atoll check";
    bool force = false;  // measure although other processes use a GPU
    const std::atomic<bool>* cancel = nullptr;
};

// One cost that was looked at.
struct drift_cell {
    cell where;            // indices of the node as it is now
    topo::cost before;     // as stored
    topo::cost now;        // as measured, the second time if there was one
    double limit = 0;      // of |ln(now / before)|
    bool changed = false;  // beyond the limit twice
    bool noisy = false;
    bool staged = false;  // a NIC's bytes went through host memory
    [[nodiscard]] double share() const noexcept { return now.gb_per_s / before.gb_per_s; }
};

struct drift_report {
    check_tier tier = check_tier::sample;
    bool complete = false;          // false: cancelled; what is known so far is there
    bool changed = false;           // anything in `changes` that is no mere note
    std::vector<drift_cell> cells;  // empty for facts
    std::size_t stored_costs = 0;   // that the baseline holds
    double seconds = 0;             // by the machine's clock
    // What changed, each beginning with its name: device_missing, device_added, degraded_nvlink, link_changed,
    // pcie_width, pcie_gen, nic_down, slow_port, gdr_lost, swapped_nic, slow_rail, slow_gpu, slow_numa, slow_pair,
    // faster, noisy, driver_changed, firmware_changed. Faults that the stored file already names are left out.
    topo::findings changes;
    // The stored node with what changed taken over, for writing. Only when acceptable is empty.
    topo::node_description accepted;
    std::string not_acceptable;  // why the changes cannot be taken over, with the remedy; else empty
};

// class_of: the node class of the cluster file, same devices in the same order, or nullptr. A cost that left its own
// baseline but is now as its class has it is told as such (a note, "as_class"), for then the baseline was off.
// Fails as run_node() and enumerate() do.
[[nodiscard]] topo::result<drift_report> check_drift(machine& m, const topo::node_description& stored,
                                                     const topo::node_class* class_of, const drift_options& options,
                                                     observer& watcher);

}  // namespace calibrate

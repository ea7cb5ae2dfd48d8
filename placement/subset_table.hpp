// SPDX-License-Identifier: Apache-2.0
// The best GPUs inside one node, for any number of GPUs and any set of free ones.
//
// Example:
//   auto table = placement::subset_table::build(hardware, {});
//   auto two = table->best(free_mask, 2);          // e.g. {0,2} on a board with crossed bridges
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "placement/request.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace placement {

inline constexpr std::size_t max_table_gpus = 16;  // above, subsets are searched, not tabulated

struct subset_options {
    double message_bytes = 64e6;  // size at which subsets are compared
};

// A subset and why it was taken. Compared in this order: predicted ring time (classes of 1 %, so that
// noise does not decide), damage, NUMA nodes touched, NIC distance, then lowest mask.
struct subset_choice {
    gpu_mask gpus = 0;
    double ring_us = 0;           // predicted ring all-reduce of message_bytes over the subset; 0 for one GPU
    double damage = 0;            // what the free GPUs left over lose, 0 … 1 (broken pairs and islands)
    std::uint8_t numa_nodes = 0;  // CPU-bearing NUMA nodes touched; 0 unknown
};

class subset_table {
public:
    subset_table();
    ~subset_table();
    subset_table(subset_table&&) noexcept;
    subset_table& operator=(subset_table&&) noexcept;

    // Complete tables for ≤ 16 GPUs (exact: the ring order of every subset is the best one);
    // for more, tables a block of islands and a search (never worse than greedy; exact() is false).
    // Fails with bad_input when the class has no GPU→GPU cost layer. 16 irregular GPUs: ≤ 1 s.
    [[nodiscard]] static topo::result<subset_table> build(const topo::node_class& hardware,
                                                          const subset_options& options);

    [[nodiscard]] bool exact() const noexcept;
    [[nodiscard]] std::size_t gpus() const noexcept;

    // The best `wanted` GPUs out of `free` that include all of `must`. Exactly `wanted` bits, or none
    // when impossible (fewer free, must not free). Damage depends on `free`: a job of one GPU takes the rest of an
    // already broken pair. Never allocates. ≤ 0.1 µs for 8 GPUs, ≤ 0.5 µs for 16 (mean).
    [[nodiscard]] std::optional<subset_choice> best(gpu_mask free, unsigned wanted, gpu_mask must = 0) const noexcept;
    // The best that differs from `taken`.
    [[nodiscard]] std::optional<subset_choice> runner_up(gpu_mask free, unsigned wanted, gpu_mask taken,
                                                         gpu_mask must = 0) const noexcept;

    // Score of one given subset against `free` (the numbers best() compares). gpus must be ⊆ free.
    [[nodiscard]] subset_choice score(gpu_mask gpus, gpu_mask free) const noexcept;

    // GPUs of the subset in the order of its best ring, lowest GPU first; written to `out` (size ≥ count). O(count).
    std::size_t ring_order(gpu_mask gpus, std::span<std::uint8_t> out) const noexcept;

private:
    struct state;
    std::unique_ptr<const state> state_;
};

}  // namespace placement

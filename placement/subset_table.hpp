// SPDX-License-Identifier: Apache-2.0
// The best GPUs inside one node, for any number of GPUs and any set of free ones.
//
// Example:
//   auto table = placement::subset_table::build(hardware, {});
//   auto two = table->best(free_mask, 2);          // e.g. {0,2} on a board with crossed bridges
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "placement/request.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace placement {

inline constexpr std::size_t max_table_gpus = 16;  // above, subsets are searched, not tabulated

// What subsets are compared by: a ring all-reduce, or an all-to-all (every pair at once).
enum class subset_objective : std::uint8_t { ring, all_pairs };
[[nodiscard]] subset_objective objective_of(pattern p) noexcept;

struct subset_options {
    double message_bytes = 64e6;  // size at which subsets are compared, ≥ 0
    // Ring times of one subset size that differ by less are equal: a measured board repeats within ±2 %,
    // and such noise must not break a pair or cross a socket. 0: the exact time decides.
    double equal_within = 0.05;
    // GPUs of a subset keep the order of their index when the ring through them in that order is slower than the
    // fastest one by no more than this; up to 16 GPUs. 0: only when it is as fast.
    double order_within = 0.02;
    subset_objective objective = subset_objective::ring;  // above max_table_gpus always the ring
};

// A subset and why it was taken. Compared in this order: time class, damage, V of the subset itself (whole pairs and
// islands inside it), NUMA nodes touched, damage to NUMA-whole sets, GPUs that share a NIC, distance to the NICs, then
// lowest mask.
//
// Time classes: the times (by subset_options::objective) of all subsets of one size, sorted, are cut into windows [t, t
// · (1 + equal_within)], each starting at the first time that the window before does not hold. The order is total
// (hence transitive), and the fastest ring of the chosen subset is never slower than that of any other by more than
// equal_within.
//
// Damage of taking S from F: 1 − V(F∖S) / (the greatest V of any set of that size), 0 when nothing is left. V(R) is
// the most that R can hold of disjoint subsets of the usual job sizes (2, 4, 8, half a node, an island), each worth
// its size × (best ring time of that size / its own time class). Damage to NUMA-whole sets is the same with 5 % off for
// each NUMA node that a subset touches beyond the fewest possible; it comes after the job's own NUMA nodes.
struct subset_choice {
    gpu_mask gpus = 0;
    double ring_us = 0;           // predicted ring all-reduce of message_bytes over the subset; 0 for one GPU
    double damage = 0;            // how far the free GPUs left over are from the best so many, 0 … 1
    std::uint8_t numa_nodes = 0;  // CPU-bearing NUMA nodes touched; 0 unknown
};

// The two numbers that decide a ring's time, over the hops of the ring of a subset:
//   time(n bytes) = 2(p−1) · alpha_us + 2(p−1)/p · n / gb_per_s      (p GPUs; n/1000 for µs)
struct ring_cost {
    double alpha_us = 0;                                        // slowest latency of a hop
    double gb_per_s = std::numeric_limits<double>::infinity();  // lowest bandwidth of a hop; infinite for one GPU
    [[nodiscard]] double time_us(unsigned p, double bytes) const noexcept {
        if (p < 2) return 0;
        return 2.0 * (p - 1) * alpha_us + 2.0 * (p - 1) / p * bytes / (gb_per_s * 1e3);
    }
};

class subset_table {
public:
    subset_table();
    ~subset_table();
    subset_table(subset_table&&) noexcept;
    subset_table& operator=(subset_table&&) noexcept;

    // Complete tables for ≤ 16 GPUs (exact: subsets are compared by the fastest ring of each);
    // for more, a search at every call (greedy growth from every free GPU, then swaps; exact() is false).
    // Fails with bad_input when a class of two or more GPUs has no GPU→GPU cost layer, a cell of it is missing or is
    // not a cost, or an option is no finite number ≥ 0. 8 GPUs: ≈ 1 ms, 16 irregular GPUs: ≤ 1 s.
    [[nodiscard]] static topo::result<subset_table> build(const topo::node_class& hardware,
                                                          const subset_options& options);

    [[nodiscard]] bool exact() const noexcept;
    [[nodiscard]] std::size_t gpus() const noexcept;

    // The best `wanted` GPUs out of `free` that include all of `must`. Exactly `wanted` bits, or none
    // when impossible (fewer free, must not free). Damage depends on `free`: a job of one GPU takes the rest of an
    // already broken pair. Never allocates. One look-up (≤ 0.1 µs) up to 16 GPUs when `must` is empty; otherwise a
    // scan of the subsets of that size. Above 16 GPUs a search: milliseconds at worst.
    [[nodiscard]] std::optional<subset_choice> best(gpu_mask free, unsigned wanted, gpu_mask must = 0) const noexcept;
    // The best that differs from `taken`. A scan of the subsets of that size: ≤ 20 µs for 16 GPUs.
    [[nodiscard]] std::optional<subset_choice> runner_up(gpu_mask free, unsigned wanted, gpu_mask taken,
                                                         gpu_mask must = 0) const noexcept;

    // Score of one given subset against `free` (the numbers best() compares). gpus must be ⊆ free.
    [[nodiscard]] subset_choice score(gpu_mask gpus, gpu_mask free) const noexcept;

    // What decides the time of the subset's ring, that of ring_order(). O(1) up to 16 GPUs.
    [[nodiscard]] ring_cost ring(gpu_mask gpus) const noexcept;

    // GPUs of the subset in the order of its ring (order of index, or the fastest), lowest GPU first; written to `out`
    // (size ≥ count, else nothing is written). Returns how many. O(count).
    std::size_t ring_order(gpu_mask gpus, std::span<std::uint8_t> out) const noexcept;

private:
    struct state;
    std::unique_ptr<const state> state_;
};

}  // namespace placement

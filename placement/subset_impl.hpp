// SPDX-License-Identifier: Apache-2.0
// The two ways behind subset_table: complete tables and search. Internal to placement/.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "placement/locality.hpp"
#include "placement/ring.hpp"
#include "placement/subset_table.hpp"

namespace placement {

// Time of each subset, [mask], µs: of its ring, and of an all-to-all. O(2^n × n).
[[nodiscard]] std::vector<double> ring_times(const ring_table& rings, double bytes);
[[nodiscard]] std::vector<double> all_pairs_times(const topo::matrix<double>& alpha_us,
                                                  const topo::matrix<double>& gb_per_s, const port_rates& ports,
                                                  double bytes);

// Up to 16 GPUs: everything that best() compares is in arrays of 2^n, and best itself in one of 2^n × (n + 1).
class complete_subsets {
public:
    // Subsets are compared by time[mask] and used with these rings.
    complete_subsets(const locality& where, std::span<const double> time, ring_table used,
                     const subset_options& options);

    [[nodiscard]] gpu_mask best(gpu_mask free, unsigned wanted) const noexcept;  // 0: none
    // The least in order among the subsets that hold `must` and are not `not_this` (0: any); 0: none. A scan.
    [[nodiscard]] gpu_mask scan(gpu_mask free, unsigned wanted, gpu_mask must, gpu_mask not_this) const noexcept;
    [[nodiscard]] subset_choice score(gpu_mask gpus, gpu_mask free) const noexcept;
    [[nodiscard]] ring_cost ring(gpu_mask gpus) const noexcept;
    std::size_t ring_order(gpu_mask gpus, std::span<std::uint8_t> out) const noexcept;

private:
    void classify(std::span<const double> time, double equal_within);
    void value_rests(const locality& where);
    void order_ties(const locality& where);
    void choose_all();
    [[nodiscard]] std::uint64_t high_key(std::uint32_t subset, std::uint32_t free) const noexcept;
    [[nodiscard]] std::uint32_t low_key(std::uint32_t subset, std::uint32_t free) const noexcept;

    std::size_t gpus_ = 0;
    double bytes_ = 0;
    ring_table rings_;
    std::vector<std::uint16_t> time_class_;  // [mask], 0 the fastest of its size
    std::vector<double> class_time_;         // [mask] the time its class starts at
    std::vector<std::uint32_t> value_;       // [mask] worth of it as a rest, by links
    std::vector<std::uint32_t> near_value_;  // [mask] the same when NUMA counts
    std::vector<std::uint32_t> most_by_size_;
    std::uint32_t most_value_ = 0;
    std::uint32_t most_near_ = 0;
    std::vector<std::uint64_t> high_;        // [mask] the parts of its key that do not depend on what is free
    std::vector<std::uint32_t> low_;         // [mask]
    std::vector<std::uint8_t> numa_nodes_;   // [mask]
    std::vector<std::uint16_t> by_size_;     // masks of one size after the other, by (time class, tie rank)
    std::vector<std::uint32_t> size_begin_;  // [k] … [k + 1] in by_size_
    std::vector<std::uint16_t> best_;        // [free × (n + 1) + wanted]
};

// More than 16 GPUs: nothing is tabulated. Time classes are powers of 1 + equal_within here.
class searched_subsets {
public:
    searched_subsets(locality where, topo::matrix<double> alpha_us, topo::matrix<double> gb_per_s,
                     const subset_options& options);

    [[nodiscard]] gpu_mask best(gpu_mask free, unsigned wanted, gpu_mask must, gpu_mask not_this) const noexcept;
    [[nodiscard]] subset_choice score(gpu_mask gpus, gpu_mask free) const noexcept;
    [[nodiscard]] ring_cost ring(gpu_mask gpus) const noexcept;
    std::size_t ring_order(gpu_mask gpus, std::span<std::uint8_t> out) const noexcept;

private:
    using key_type = std::array<double, 7>;
    [[nodiscard]] key_type key(gpu_mask gpus, gpu_mask free) const noexcept;
    [[nodiscard]] static double whole_sets(std::span<const gpu_mask> parts, gpu_mask rest) noexcept;
    [[nodiscard]] gpu_mask grow(gpu_mask seed, gpu_mask free, unsigned wanted) const noexcept;
    [[nodiscard]] gpu_mask improve(gpu_mask from, gpu_mask free, gpu_mask must, gpu_mask not_this) const noexcept;

    std::size_t gpus_;
    double bytes_;
    double log_step_;  // ln(1 + equal_within), or 0
    locality where_;
    topo::matrix<double> alpha_;
    topo::matrix<double> bw_;
    std::vector<gpu_mask> numa_masks_;
};

}  // namespace placement

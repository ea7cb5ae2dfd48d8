// SPDX-License-Identifier: Apache-2.0
// From samples of time to α and bandwidth.
//
// Per size the median; through the medians the line t = α + n / B with *relative* weights (an error of
// 1 % counts the same at 64 bytes and at 256 MiB) and Huber's weights against sizes that stray (Huber
// 1964), by iteratively re-weighted least squares. The interval is a 95 % bootstrap interval over the
// samples of each size. It says how well the fit repeats, not how far it is from a noise-free truth:
// jitter that is only ever positive moves α up by more than the interval is wide.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topo/result.hpp"

namespace calibrate {

struct size_samples {
    double bytes = 0;
    std::vector<double> us;  // time of one operation of that size, one entry a sample; unsorted
};

// A line that holds from some size on, up to the next segment's. Today there is one; protocol switches
// will add more.
struct segment {
    double from_bytes = 0;
    double alpha_us = 0;
    double gb_per_s = 0;
};

struct fitted {
    std::vector<segment> segments;  // ascending; never empty
    double alpha_spread = 0;        // relative half-width of α's 95 % interval (0 where α is 0)
    double spread = 0;              // of the bandwidth's
    std::uint32_t samples = 0;      // all sizes together
    std::uint32_t outliers = 0;     // samples more than 6 MAD and 10 % above the median of their size

    [[nodiscard]] double alpha_us() const noexcept { return segments.front().alpha_us; }
    [[nodiscard]] double gb_per_s() const noexcept { return segments.back().gb_per_s; }
};

// Needs two different sizes with a sample each; every time finite and > 0, every size ≥ 0: else
// bad_input. Times that do not grow with the size (no bandwidth to be had) are bad_input too.
// α is never negative. Same input and seed: same output. O(samples log samples + resamples × sizes).
[[nodiscard]] topo::result<fitted> fit(std::span<const size_samples> sizes, std::uint64_t seed);

struct fitted_median {
    double value = 0;
    double spread = 0;  // relative half-width of the 95 % bootstrap interval
    std::uint32_t outliers = 0;
};
// Of at least one finite sample > 0; else bad_input.
[[nodiscard]] topo::result<fitted_median> fit_median(std::span<const double> samples, std::uint64_t seed);

// Stop rule: enough when the half-widths of α and bandwidth are within 2 %, or at 63 samples a size.
inline constexpr double wanted_spread = 0.02;
inline constexpr std::size_t max_samples = 63;
// How many samples a size should have next: 9 or 31 at first, then about half as many again, always an
// odd number so that the median is a sample.
[[nodiscard]] std::size_t next_sample_count(std::size_t now) noexcept;

}  // namespace calibrate

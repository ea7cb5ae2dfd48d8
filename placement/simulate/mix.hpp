// SPDX-License-Identifier: Apache-2.0
// Seeded mixes of jobs, for when there is no trace. Own distributions, named and documented in docs/simulate.md; the
// same seed gives the same jobs everywhere.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "placement/simulate/trace.hpp"

namespace placement::simulate {

enum class mix_kind : std::uint8_t {
    llm,        // 1 … 512 GPUs, most jobs small, most GPU time in jobs of 64 and more
    lognormal,  // any size from 1 to 512: exp(1.2 + 1.5 z), rounded; larger than 8 also odd
    pow2,       // 1, 2, 4 … 512, each size as likely as any other
};
[[nodiscard]] std::string_view name_of(mix_kind k) noexcept;  // "mix:llm"
[[nodiscard]] std::optional<mix_kind> mix_named(std::string_view text) noexcept;

struct mix_options {
    mix_kind kind = mix_kind::llm;
    std::uint32_t jobs = 10'000;  // ≤ max_jobs
    double load = 0.85;           // of `gpus`, over the span of the arrivals
    double gpus = 8192;           // of the cluster
    std::uint32_t largest = 512;  // larger jobs become this large
    std::uint64_t seed = 1;
};

// Poisson arrivals, lognormal durations; the arrivals are stretched so that the load is exactly the one asked for.
// Load, GPUs or largest of 0 or less give no job. O(jobs).
[[nodiscard]] trace make_mix(const mix_options& options);

}  // namespace placement::simulate

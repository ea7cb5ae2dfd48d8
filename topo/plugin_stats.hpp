// SPDX-License-Identifier: Apache-2.0
// Counters of the Slurm plugin as slurmctld keeps them in a small file, and their reader.
//
// The file has one fixed size and is a row of 64-bit words in the byte order of the host. The plugin maps it and stores
// each word by itself; there is no lock, so a reader may find counters of a decision half added. Layout, version 1:
//   0 magic   1 version   2 pid   3 started   4 loaded   5 last decision (s since 1970)   6 state   7-9 nodes known,
//   unknown, differing   10 starts   16-31 decisions by step   32-34 sums of the histograms, ns
//   64-687 three histograms of 208 buckets   688-943 32 reasons: 7 words of text, 1 word of count   944-1023 zero
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topo/result.hpp"

namespace topo::stats {

inline constexpr std::size_t file_words = 1024;
inline constexpr std::uint64_t magic = 0x3153544c4c4f5441;  // "ATOLLST1"
inline constexpr std::uint64_t version = 1;
inline constexpr std::size_t steps = 6, buckets = 208, histograms = 3, reasons = 32, reason_words = 8;
enum place : std::size_t {
    at_magic,
    at_version,
    at_pid,
    at_started,
    at_loaded,
    at_decided,
    at_state,
    at_known,
    at_unknown,
    at_differing,
    at_steps = 16,
    at_sums = 32,
    at_histograms = 64,
    at_reasons = 688,
};
enum class state : std::uint64_t { off = 0, on = 1, simulated = 2, stopped = 3 };

// Bucket i holds times up to 2^(i/4) ns, from 1 ns to about 50 days.
struct histogram {
    std::array<std::uint64_t, buckets> counts{};
    std::uint64_t sum_ns = 0;
    [[nodiscard]] std::uint64_t count() const noexcept;
    // Upper bound of the bucket that holds the q-quantile (0 < q ≤ 1), ns; 0 when empty. O(buckets).
    [[nodiscard]] std::uint64_t quantile(double q) const noexcept;
};
[[nodiscard]] std::size_t bucket_of(std::uint64_t ns) noexcept;
[[nodiscard]] std::uint64_t bound_of(std::size_t bucket) noexcept;  // ns

struct counters {
    std::uint64_t pid = 0;
    std::int64_t started = 0, loaded = 0, decided = 0;  // 0: never
    state now = state::off;
    std::uint64_t nodes_known = 0, nodes_unknown = 0, nodes_differing = 0;
    std::array<std::uint64_t, steps> by_step{};               // as atoll_step of plugin/slurm/glue.h
    histogram total, own, books;                              // of decisions, of Atoll's share of them, of bookkeeping
    std::vector<std::pair<std::string, std::uint64_t>> left;  // jobs left to Slurm from the start, by reason

    [[nodiscard]] std::uint64_t decisions() const noexcept;
};

// bad_input with `file` as its place for another size, magic or unknown state; unsupported_version for a newer version.
// Texts are cut at the first byte that is not printable ASCII. O(file_words).
[[nodiscard]] result<counters> parse(std::span<const std::uint8_t> bytes, const std::string& file);

}  // namespace topo::stats

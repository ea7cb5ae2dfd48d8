// SPDX-License-Identifier: Apache-2.0
// What it costs to move bytes from one endpoint to another: the α/β model of Hockney (1994),
//   time(n bytes) = α + n / B,   α in µs, B in GB/s (10⁹ bytes a second),
// with where the two numbers come from. A cost belongs to one *ordered* pair and one engine.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string_view>

namespace topo {

// Where a number comes from, best first. `none` marks a cell that holds no cost (the diagonal).
enum class source : std::uint8_t {
    none,
    measured,   // by a probe of calibrate/ on this very node
    class_,     // measured on another node of the same class
    composed,   // put together from measured parts of the path
    imported,   // a measured matrix printed by another tool (nvbandwidth, p2pBandwidthLatencyTest)
    estimated,  // from the link class alone (link_table.hpp)
    simulated,  // by the simulated machine; plugins refuse it unless told otherwise
};

// Who moves the bytes. Engines differ by tens of percent on one pair, so they are never mixed.
enum class engine : std::uint8_t {
    copy_engine,  // "ce"
    sm_copy,      // "sm-copy": what NCCL-like kernels see
    sm_load,      // "sm-load": pointer chase
    sm_flag,      // "sm-flag": flag ping-pong
    rdma_write,   // "rdma-write"
    rdma_read,    // "rdma-read"
    host,         // "host": staged through or started by the CPU
};

struct cost {
    double alpha_us = 0;               // latency of an empty message, µs, finite and ≥ 0
    double gb_per_s = 0;               // bandwidth, GB/s, finite and > 0
    source from = source::none;        // of the bandwidth
    source alpha_from = source::none;  // of the latency (a bandwidth matrix brings none)
    std::uint32_t samples = 0;         // behind the fit; 0 when not measured
    double spread = 0;                 // relative half-width of the bandwidth's interval (0.02 = ±2 %); 0 unknown
    std::int64_t time = 0;             // seconds since 1970 when measured; 0 unknown

    [[nodiscard]] bool present() const noexcept { return from != source::none; }

    // Time in µs to move `bytes`; only for a present cost.
    [[nodiscard]] double time_us(double bytes) const noexcept { return alpha_us + bytes / (gb_per_s * 1e3); }
    // Finite α ≥ 0, finite bandwidth > 0, spread ≥ 0, and both sources named.
    [[nodiscard]] bool valid() const noexcept {
        return present() && alpha_from != source::none && std::isfinite(alpha_us) && alpha_us >= 0 &&
               std::isfinite(gb_per_s) && gb_per_s > 0 && std::isfinite(spread) && spread >= 0;
    }
    friend bool operator==(const cost&, const cost&) = default;
};

// The names used in files and --json ("measured", "class", …; "ce", "sm-copy", …), and back.
// Unknown text gives an empty optional.
[[nodiscard]] std::string_view name_of(source s) noexcept;
[[nodiscard]] std::string_view name_of(engine e) noexcept;
[[nodiscard]] std::optional<source> source_named(std::string_view text) noexcept;
[[nodiscard]] std::optional<engine> engine_named(std::string_view text) noexcept;

}  // namespace topo

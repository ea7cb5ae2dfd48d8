// SPDX-License-Identifier: Apache-2.0
// Seeded numbers that are the same everywhere: splitmix64 (Steele, Lea, Flood 2014). Internal to placement/simulate/.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>

namespace placement::simulate {

class random_source {
public:
    explicit random_source(std::uint64_t seed) noexcept : state_(seed) {}

    [[nodiscard]] std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    // In [0, 1): 53 bits.
    [[nodiscard]] double unit() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }
    [[nodiscard]] double exponential(double mean) noexcept { return -mean * std::log1p(-unit()); }
    // Standard normal (Box and Muller 1958), one of the pair.
    [[nodiscard]] double normal() noexcept {
        const double radius = std::sqrt(-2 * std::log1p(-unit()));
        return radius * std::cos(2 * std::numbers::pi * unit());
    }

private:
    std::uint64_t state_;
};

}  // namespace placement::simulate

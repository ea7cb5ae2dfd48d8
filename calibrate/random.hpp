// SPDX-License-Identifier: Apache-2.0
// Seeded random numbers that are the same on every machine and compiler, unlike the distributions of
// <random>. SplitMix64 (Steele, Lea, Flood 2014): one addition and two multiplications a number.
#pragma once

#include <cmath>
#include <cstdint>
#include <numbers>
#include <string_view>

namespace calibrate {

class random_stream {
public:
    explicit random_stream(std::uint64_t seed) noexcept : state_(seed) {}

    [[nodiscard]] std::uint64_t next() noexcept {
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return z ^ (z >> 31);
    }
    [[nodiscard]] double uniform() noexcept { return static_cast<double>(next() >> 11) * 0x1p-53; }  // [0, 1)
    [[nodiscard]] double uniform(double low, double high) noexcept { return low + (high - low) * uniform(); }
    [[nodiscard]] double exponential() noexcept { return -std::log1p(-uniform()); }  // mean 1
    [[nodiscard]] double normal() noexcept {                                         // Box and Muller 1958
        const double radius = std::sqrt(2 * exponential());
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

private:
    std::uint64_t state_;
};

// One number out of several, for seeds of independent streams.
[[nodiscard]] constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) noexcept {
    std::uint64_t z = a ^ (b + 0x9e3779b97f4a7c15u + (a << 6) + (a >> 2));
    z = (z ^ (z >> 32)) * 0xd6e8feb86659fd93u;
    return z ^ (z >> 32);
}
// FNV-1a, 64 bits.
[[nodiscard]] constexpr std::uint64_t hash_of(std::string_view text) noexcept {
    std::uint64_t h = 0xcbf29ce484222325u;
    for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return h;
}

}  // namespace calibrate

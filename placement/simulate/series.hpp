// SPDX-License-Identifier: Apache-2.0
// Time-weighted means during a replay, over a window and as a series of a bounded number of points.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "placement/simulate/pool.hpp"

namespace placement::simulate {

// Integrals over time.
struct time_shares {
    double seconds = 0;
    double busy = 0;                                          // GPU seconds
    double free = 0;                                          // GPU seconds
    std::array<double, fragment_sizes.size()> unusable = {};  // of the free ones, for jobs of fragment_sizes[i]
    double waiting = 0;                                       // jobs × seconds

    void add(const time_shares& more) noexcept;
    // Σ unusable ÷ Σ free; 0 when nothing was ever free.
    [[nodiscard]] double fragmentation(std::size_t i) const noexcept { return free > 0 ? unusable[i] / free : 0; }
    [[nodiscard]] double utilisation() const noexcept { return busy + free > 0 ? busy / (busy + free) : 0; }
};

// The state of the pool held for some seconds.
[[nodiscard]] time_shares held(const pool& p, std::size_t waiting, double seconds) noexcept;

class series {
public:
    static constexpr std::size_t most_points = 400;
    explicit series(double width_s = 60) : width_(width_s > 0 ? width_s : 1) {}

    // Points are twice as wide whenever there are more than most_points. O(points covered).
    void add(double from_s, double to_s, const pool& p, std::size_t waiting);
    [[nodiscard]] double width_s() const noexcept { return width_; }
    [[nodiscard]] const std::vector<time_shares>& points() const noexcept { return points_; }

private:
    double width_;
    std::vector<time_shares> points_;
};

}  // namespace placement::simulate

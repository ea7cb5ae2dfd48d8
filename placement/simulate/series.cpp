// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/series.hpp"

#include <algorithm>

namespace placement::simulate {

void time_shares::add(const time_shares& more) noexcept {
    seconds += more.seconds;
    busy += more.busy;
    free += more.free;
    for (std::size_t i = 0; i < unusable.size(); ++i) unusable[i] += more.unusable[i];
    waiting += more.waiting;
}

time_shares held(const pool& p, std::size_t waiting, double seconds) noexcept {
    time_shares out;
    out.seconds = seconds;
    const auto free = static_cast<double>(p.free_gpus());
    out.busy = (static_cast<double>(p.gpus()) - free) * seconds;
    out.free = free * seconds;
    for (std::size_t i = 0; i < out.unusable.size(); ++i)
        out.unusable[i] = (free - static_cast<double>(p.usable(i))) * seconds;
    out.waiting = static_cast<double>(waiting) * seconds;
    return out;
}

void series::add(double from_s, double to_s, const pool& p, std::size_t waiting) {
    while (to_s > width_ * static_cast<double>(most_points)) {
        const std::size_t half = (points_.size() + 1) / 2;
        for (std::size_t i = 0; i < half; ++i) {
            time_shares joined = points_[2 * i];
            if (2 * i + 1 < points_.size()) joined.add(points_[2 * i + 1]);
            points_[i] = joined;
        }
        points_.resize(half);
        width_ *= 2;
    }
    while (from_s < to_s) {
        auto at = static_cast<std::size_t>(from_s / width_);
        if (static_cast<double>(at + 1) * width_ <= from_s) ++at;  // from_s is the end of a point, but for rounding
        const double until = std::min(to_s, static_cast<double>(at + 1) * width_);
        if (points_.size() <= at) points_.resize(at + 1);
        points_[at].add(held(p, waiting, until - from_s));
        from_s = until;
    }
}

}  // namespace placement::simulate

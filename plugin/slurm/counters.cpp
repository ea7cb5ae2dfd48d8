// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/counters.hpp"

#include <algorithm>
#include <cmath>

namespace slurm_plugin {

void time_histogram::add(std::uint64_t ns) noexcept {
    const double position = ns < 2 ? 0.0 : std::ceil(4 * std::log2(static_cast<double>(ns)));
    ++buckets_[std::min(buckets_.size() - 1, static_cast<std::size_t>(position))];
    ++count_;
}

std::uint64_t time_histogram::quantile(double q) const noexcept {
    if (count_ == 0) return 0;
    const auto wanted = static_cast<std::uint64_t>(std::ceil(q * static_cast<double>(count_)));
    std::uint64_t seen = 0;
    for (std::size_t i = 0; i < buckets_.size(); ++i) {
        seen += buckets_[i];
        if (seen >= wanted) return static_cast<std::uint64_t>(std::ceil(std::exp2(static_cast<double>(i) / 4)));
    }
    return 0;
}

const char* name_of(atoll_step step) noexcept {
    switch (step) {
        case ATOLL_STEP_FULL: return "placed";
        case ATOLL_STEP_NEAR_CORES: return "placed, far cores allowed";
        case ATOLL_STEP_GPU_MASK: return "placed, GPUs left to Slurm";
        case ATOLL_STEP_NODES: return "chosen nodes refused, left to Slurm";
        case ATOLL_STEP_NO_FIT: return "nothing fits now, left to Slurm";
        case ATOLL_STEP_PASSED: return "left to Slurm";
        case ATOLL_STEP_COUNT: break;
    }
    return "?";
}

}  // namespace slurm_plugin

// SPDX-License-Identifier: GPL-2.0-or-later
// Counts of decisions and their times. Fixed memory, no allocation, O(1) a sample.
#pragma once

#include <array>
#include <cstdint>

#include "plugin/slurm/glue.h"

namespace slurm_plugin {

// A histogram whose buckets grow by the fourth root of two (19 %), from 1 ns to about 50 days.
class time_histogram {
public:
    void add(std::uint64_t ns) noexcept;
    // Upper bound of the bucket that holds the q-quantile (0 < q ≤ 1); 0 when empty.
    [[nodiscard]] std::uint64_t quantile(double q) const noexcept;
    [[nodiscard]] std::uint64_t count() const noexcept { return count_; }

private:
    std::array<std::uint64_t, 208> buckets_{};
    std::uint64_t count_ = 0;
};

struct counters {
    std::array<std::uint64_t, ATOLL_STEP_COUNT> steps{};
    time_histogram own;    // only decisions that were not passed on
    time_histogram total;  // the same
    time_histogram books;  // looking at changed nodes, outside of decisions
};

[[nodiscard]] const char* name_of(atoll_step step) noexcept;

}  // namespace slurm_plugin

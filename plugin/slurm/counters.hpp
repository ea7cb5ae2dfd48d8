// SPDX-License-Identifier: GPL-2.0-or-later
// What the counters of decisions and of their times mean.
#pragma once

#include <cstddef>

#include "plugin/slurm/glue.h"

namespace slurm_plugin {

// Which of the file's histograms holds what.
enum histogram_of : std::size_t { total_times, own_times, books_times };

[[nodiscard]] const char* name_of(atoll_step step) noexcept;

}  // namespace slurm_plugin

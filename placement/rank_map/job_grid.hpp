// SPDX-License-Identifier: Apache-2.0
// A request's pattern as a grid of ranks that talk along its axes, when it has that form.
#pragma once

#include <optional>

#include "placement/rank_map/rank_grid.hpp"
#include "placement/request.hpp"

namespace placement {

// composite: tensor, expert, data and pipeline axes with the bytes of a step (rings of 2(n−1)/n · bytes a hop for
// all-reduces, bytes / n a pair for all-to-alls, each as often as the step does it; docs/patterns.md). halo_exchange:
// its grid. Anything else, or one that fault_of() refuses: nothing. The order of ranks decides nothing for patterns
// that treat all ranks alike. O(1).
[[nodiscard]] std::optional<rank_grid> grid_of_job(const request& wanted, std::uint32_t ranks) noexcept;

}  // namespace placement

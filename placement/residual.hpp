// SPDX-License-Identifier: Apache-2.0
// What a set of free GPUs is still worth to later jobs. Internal to placement/.
//
// V(R) = Σ over job sizes s of s × (the most that disjoint subsets of s GPUs inside R are worth together). It is exact:
// for each size, the best packing of R either leaves its lowest GPU out or has it in one of the subsets of that size.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace placement {

// worth[mask] is what one subset is worth (0 … 1000) to a job of its size. Sizes of 1 or ≥ gpus are ignored: they
// are worth the same whatever is taken. [mask] → V. O(Σ sizes C(n, s) · 2^(n−s)).
[[nodiscard]] std::vector<std::uint32_t> residual_values(std::size_t gpus, std::span<const unsigned> sizes,
                                                         std::span<const std::uint32_t> worth);

}  // namespace placement

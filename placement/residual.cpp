// SPDX-License-Identifier: Apache-2.0
#include "placement/residual.hpp"

#include <algorithm>
#include <bit>

namespace placement {
namespace {

// packed[R]: the most that disjoint subsets of s GPUs inside R are worth.
void pack(std::size_t gpus, unsigned s, std::span<const std::uint32_t> worth, std::vector<std::uint32_t>& packed) {
    const std::uint32_t all = (1u << gpus) - 1;
    packed[0] = 0;
    // From the highest lowest-GPU down: what is left of R without its lowest GPU is then already known.
    for (unsigned low = static_cast<unsigned>(gpus); low-- > 0;) {
        const std::uint32_t lowest = 1u << low;
        const std::uint32_t above = all & ~(lowest | (lowest - 1));
        for (std::uint32_t rest = above;; rest = (rest - 1) & above) {
            packed[rest | lowest] = packed[rest];
            if (rest == 0) break;
        }
        for (std::uint32_t others = above;; others = (others - 1) & above) {
            if (static_cast<unsigned>(std::popcount(others)) + 1 == s) {
                const std::uint32_t subset = others | lowest;
                const std::uint32_t gain = worth[subset];
                const std::uint32_t outside = above & ~others;
                for (std::uint32_t rest = outside;; rest = (rest - 1) & outside) {
                    packed[rest | subset] = std::max(packed[rest | subset], packed[rest] + gain);
                    if (rest == 0) break;
                }
            }
            if (others == 0) break;
        }
    }
}

}  // namespace

std::vector<std::uint32_t> residual_values(std::size_t gpus, std::span<const unsigned> sizes,
                                           std::span<const std::uint32_t> worth) {
    const std::size_t subsets = std::size_t{1} << gpus;
    std::vector<std::uint32_t> value(subsets, 0);
    std::vector<std::uint32_t> packed(subsets, 0);
    for (const unsigned s : sizes) {
        if (s < 2 || s >= gpus) continue;
        pack(gpus, s, worth, packed);
        for (std::size_t r = 0; r < subsets; ++r) value[r] += s * packed[r];
    }
    return value;
}

}  // namespace placement

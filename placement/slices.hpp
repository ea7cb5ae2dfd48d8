// SPDX-License-Identifier: Apache-2.0
// Slices of GPUs: MIG instances, or shares of a GPU that several containers use.
//
// Slices of one GPU are as near as can be (distance 0); slices of two GPUs are as far apart as the GPUs. So the choice
// is one of GPUs, and how many slices of each.
//
// Example: two of the free slices, on one GPU if one has two
//   placement::slice_counts free{}; free[0] = 1; free[3] = 4;
//   auto taken = placement::choose_slices(table, free, {}, 2, placement::slice_policy::pack);   // two of GPU 3
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "placement/subset_table.hpp"

namespace placement {

using slice_counts = std::array<std::uint16_t, topo::max_gpus_per_node>;  // [gpu]

enum class slice_policy : std::uint8_t {
    pack,    // on the fewest GPUs; of those the sets that leave the fewest slices free on GPUs already in use
    spread,  // on as many GPUs as possible, as evenly as they allow
};
[[nodiscard]] std::optional<slice_policy> slice_policy_named(std::string_view text) noexcept;  // "pack", "spread"

// Exactly `wanted` slices out of `free` that include `must` (counts a GPU, ≤ free); nothing when that is impossible or
// wanted is 0. Ties go to the GPUs that the table finds best together, then to the lowest GPUs. GPUs beyond the table's
// class are ignored. Deterministic, allocates nothing. Up to 16 GPUs every set of GPUs is looked at (≤ 65,536, about a
// millisecond at worst); above, sets grow greedily.
[[nodiscard]] std::optional<slice_counts> choose_slices(const subset_table& table, const slice_counts& free,
                                                        const slice_counts& must, std::uint32_t wanted,
                                                        slice_policy policy) noexcept;

}  // namespace placement

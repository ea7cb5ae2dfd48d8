// SPDX-License-Identifier: Apache-2.0
// The ranks of a job as a Cartesian grid, and who talks with whom along each axis.
//
// Rank index: mixed radix, the first axis fastest. With extents 8, 4, 2 the rank at (x, y, z) is x + 8·(y + 4·z).
// A tensor × data × pipeline job with TP groups of consecutive ranks is {tp, dp, pp}; a halo exchange is {x, y, z}.
//
// Example: 8 × 8 × 8 ranks of a halo exchange that is not periodic, 10 bytes over every face
//   const placement::grid_axis face{8, 10, placement::axis_kind::chain};
//   auto grid = placement::rank_grid::make(std::array{face, face, face});
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "topo/result.hpp"

namespace placement {

enum class axis_kind : std::uint8_t {
    ring,        // each with the next, the last with the first (two ranks: one pair)
    chain,       // each with the next
    all_to_all,  // each with every other of its line
};

struct grid_axis {
    std::uint32_t extent = 1;  // ranks along it, ≥ 1
    double bytes = 0;          // a step between two that talk, both directions together; 0 … 1e18
    axis_kind kind = axis_kind::ring;
};

class rank_grid {
public:
    static constexpr std::size_t max_axes = 5;
    static constexpr std::uint32_t max_ranks = 1u << 20;

    // Fails with bad_input or limit: no axis or too many, an extent of 0, too many ranks, bytes that are negative or
    // not finite. O(axes).
    [[nodiscard]] static topo::result<rank_grid> make(std::span<const grid_axis> axes);

    [[nodiscard]] std::span<const grid_axis> axes() const noexcept { return {axes_.data(), count_}; }
    [[nodiscard]] std::uint32_t ranks() const noexcept { return ranks_; }

    // Pairs along axis `a`, all its lines together.
    [[nodiscard]] double pairs(std::size_t a) const noexcept;

private:
    rank_grid() = default;
    std::array<grid_axis, max_axes> axes_{};
    std::size_t count_ = 0;
    std::uint32_t ranks_ = 1;
};

// Pairs of one line of `extent` ranks that lie inside blocks of `block` consecutive ranks (block divides extent).
[[nodiscard]] double pairs_inside(axis_kind kind, std::uint32_t extent, std::uint32_t block) noexcept;

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/rank_grid.hpp"

#include <fmt/format.h>

#include <cmath>

namespace placement {
namespace {

constexpr double max_bytes = 1e18;  // sums over all pairs stay far from the end of double

topo::error fault(topo::errc code, std::string what, std::string remedy) {
    return {code, "rank grid", std::move(what), std::move(remedy)};
}

}  // namespace

topo::result<rank_grid> rank_grid::make(std::span<const grid_axis> axes) {
    if (axes.empty() || axes.size() > max_axes)
        return fault(topo::errc::bad_input, fmt::format("{} axes", axes.size()),
                     fmt::format("give 1 to {} axes", max_axes));
    rank_grid grid;
    for (std::size_t a = 0; a < axes.size(); ++a) {
        const auto& axis = axes[a];
        if (axis.extent == 0)
            return fault(topo::errc::bad_input, fmt::format("axis {} has no ranks", a + 1),
                         "give an extent of 1 or more");
        if (axis.extent > max_ranks / grid.ranks_)
            return fault(topo::errc::limit, fmt::format("more than {} ranks", max_ranks), "make an axis shorter");
        if (!std::isfinite(axis.bytes) || axis.bytes < 0 || axis.bytes > max_bytes)
            return fault(topo::errc::bad_input, fmt::format("axis {} carries {} bytes", a + 1, axis.bytes),
                         fmt::format("give 0 to {} bytes", max_bytes));
        if (axis.kind > axis_kind::all_to_all)
            return fault(topo::errc::bad_input,
                         fmt::format("axis {} has unknown kind {}", a + 1, static_cast<unsigned>(axis.kind)),
                         "use ring, chain or all_to_all");
        grid.ranks_ *= axis.extent;
        grid.axes_[a] = axis;
    }
    grid.count_ = axes.size();
    return grid;
}

double rank_grid::pairs(std::size_t a) const noexcept {
    const auto& axis = axes_[a];
    return pairs_inside(axis.kind, axis.extent, axis.extent) * (ranks_ / axis.extent);
}

double pairs_inside(axis_kind kind, std::uint32_t extent, std::uint32_t block) noexcept {
    const double steps = static_cast<double>(extent / block) * (block - 1);
    if (kind == axis_kind::all_to_all) return steps * block / 2;
    return kind == axis_kind::ring && block == extent && extent > 2 ? steps + 1 : steps;
}

}  // namespace placement

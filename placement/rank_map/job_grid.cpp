// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/job_grid.hpp"

#include <algorithm>
#include <array>

namespace placement {
namespace {

double or_else(double given, double otherwise) noexcept { return given > 0 ? given : otherwise; }

// A hop of a ring all-reduce over n.
double ring_bytes(std::uint32_t n, double bytes) noexcept { return n > 1 ? 2.0 * (n - 1) / n * bytes : 0; }

// Ratios are all that counts: sums stay within what a grid takes.
void scale(std::span<grid_axis> axes) noexcept {
    double most = 0;
    for (const auto& a : axes) most = std::max(most, a.bytes);
    if (most > 0)
        for (auto& a : axes) a.bytes *= 1e6 / most;
}

std::optional<rank_grid> made(std::span<grid_axis> axes) noexcept {
    scale(axes);
    auto grid = rank_grid::make(axes);
    if (!grid) return std::nullopt;
    return *grid;
}

std::optional<rank_grid> composite_grid(const request& wanted, std::uint32_t ranks) noexcept {
    const parallel_plan& p = wanted.parallel;
    const std::uint32_t dp = p.dp > 0 ? p.dp : ranks / (p.tp * p.pp);
    if (dp % p.ep != 0) return std::nullopt;
    const double exchanges = 4.0 * p.layers / p.pp * (p.microbatches + p.pp - 1.0);
    const double each = wanted.message_bytes;
    const double gradients = ring_bytes(dp, or_else(p.dp_bytes, each));
    std::array<grid_axis, 4> axes{
        grid_axis{p.tp, exchanges * ring_bytes(p.tp, or_else(p.tp_bytes, each)), axis_kind::ring},
        grid_axis{dp / p.ep, gradients, axis_kind::ring},
        grid_axis{p.pp, 4.0 * (p.microbatches + p.pp - 1.0) * or_else(p.pp_bytes, each), axis_kind::chain},
    };
    if (p.ep > 1) {  // ep consecutive data-parallel ranks are an expert group
        axes[3] = axes[2];
        axes[2] = axes[1];
        axes[1] = {p.ep, 2 * exchanges * or_else(p.ep_bytes, each) / p.ep + 2 * gradients / p.ep,
                   axis_kind::all_to_all};
    }
    return made(std::span(axes).first(p.ep > 1 ? 4 : 3));
}

}  // namespace

std::optional<rank_grid> grid_of_job(const request& wanted, std::uint32_t ranks) noexcept {
    if (ranks == 0 || !fault_of(wanted, ranks).empty()) return std::nullopt;
    if (wanted.talks == pattern::composite) return composite_grid(wanted, ranks);
    if (wanted.talks != pattern::halo_exchange) return std::nullopt;
    const halo_grid g = grid_of(wanted.halo, ranks);
    std::array<grid_axis, 3> axes;
    for (std::size_t d = 0; d < axes.size(); ++d)
        axes[d] = {g.extent[d], 2 * or_else(g.bytes[d], wanted.message_bytes),
                   g.periodic ? axis_kind::ring : axis_kind::chain};
    return made(axes);
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "placement/pattern.hpp"

#include <algorithm>
#include <utility>

namespace placement {
namespace {

using named = std::pair<std::string_view, pattern>;
constexpr named short_names[] = {
    {"ring", pattern::ring_allreduce},
    {"tree", pattern::tree_allreduce},
    {"hierarchical", pattern::hierarchical_allreduce},
    {"sharp", pattern::in_network_allreduce},
    {"in_network", pattern::in_network_allreduce},
    {"fsdp", pattern::reduce_scatter_all_gather},
    {"zero", pattern::reduce_scatter_all_gather},
    {"alltoall", pattern::all_to_all},
    {"a2a", pattern::all_to_all},
    {"p2p", pattern::point_to_point},
    {"pp", pattern::pipeline},
    {"tp", pattern::tensor_parallel},
    {"dp", pattern::data_parallel},
    {"ep", pattern::expert_parallel},
    {"3d", pattern::composite},
    {"halo", pattern::halo_exchange},
    {"stencil", pattern::halo_exchange},
    {"matrix", pattern::traffic_matrix},
};

bool same_name(std::string_view given, std::string_view name) noexcept {
    return std::equal(given.begin(), given.end(), name.begin(), name.end(),
                      [](char a, char b) { return (a == '-' ? '_' : a) == b; });
}

}  // namespace

std::string_view name_of(pattern p) noexcept {
    switch (p) {
        case pattern::ring_allreduce: return "ring_allreduce";
        case pattern::tree_allreduce: return "tree_allreduce";
        case pattern::hierarchical_allreduce: return "hierarchical_allreduce";
        case pattern::in_network_allreduce: return "in_network_allreduce";
        case pattern::allreduce: return "allreduce";
        case pattern::reduce_scatter_all_gather: return "reduce_scatter_all_gather";
        case pattern::all_to_all: return "all_to_all";
        case pattern::point_to_point: return "point_to_point";
        case pattern::pipeline: return "pipeline";
        case pattern::tensor_parallel: return "tensor_parallel";
        case pattern::data_parallel: return "data_parallel";
        case pattern::expert_parallel: return "expert_parallel";
        case pattern::composite: return "composite";
        case pattern::halo_exchange: return "halo_exchange";
        case pattern::traffic_matrix: return "traffic_matrix";
    }
    return "unknown";
}

std::optional<pattern> pattern_named(std::string_view text) noexcept {
    for (const pattern p : all_patterns)
        if (same_name(text, name_of(p))) return p;
    for (const auto& [name, p] : short_names)
        if (same_name(text, name)) return p;
    return std::nullopt;
}

halo_grid grid_of(halo_grid given, std::uint32_t p) noexcept {
    if (given.extent != std::array<std::uint32_t, 3>{0, 0, 0} || p == 0) return given;
    std::array<std::uint32_t, 3> best = {p, 1, 1};
    for (std::uint32_t c = 1; std::uint64_t{c} * c * c <= p; ++c) {
        if (p % c != 0) continue;
        const std::uint32_t rest = p / c;
        std::uint32_t b = 1;
        for (std::uint32_t f = c; std::uint64_t{f} * f <= rest; ++f)
            if (rest % f == 0) b = f;
        if (b < c) continue;
        const std::uint32_t a = rest / b;
        // The fewest faces: ab + bc + ca.
        if (std::uint64_t{a} * b + std::uint64_t{b} * c + std::uint64_t{c} * a <
            std::uint64_t{best[0]} * best[1] + std::uint64_t{best[1]} * best[2] + std::uint64_t{best[2]} * best[0])
            best = {a, b, c};
    }
    given.extent = best;
    return given;
}

std::string_view name_of(term_kind k) noexcept {
    switch (k) {
        case term_kind::compute: return "compute";
        case term_kind::exchange: return "exchange";
        case term_kind::tensor: return "tensor";
        case term_kind::expert: return "expert";
        case term_kind::pipeline: return "pipeline";
        case term_kind::data: return "data";
    }
    return "unknown";
}

}  // namespace placement

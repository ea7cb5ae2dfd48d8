// SPDX-License-Identifier: Apache-2.0
// How the ranks of a job talk in one step. docs/patterns.md has every formula and its source.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace placement {

enum class pattern : std::uint8_t {
    ring_allreduce,             // one ring over all ranks (a ring a NIC over several nodes)
    tree_allreduce,             // two binary trees, half of the bytes each
    hierarchical_allreduce,     // inside the nodes, then one ring a rail, then inside again
    in_network_allreduce,       // switches add up (SHARP); needs an enabled tree over all leaves
    allreduce,                  // the fastest of these four that can be used
    reduce_scatter_all_gather,  // sharded data parallel: the two halves of a ring all-reduce
    all_to_all,
    point_to_point,  // rank 2i with rank 2i + 1, both directions
    pipeline,        // a chain of stages, one rank each
    tensor_parallel,
    data_parallel,
    expert_parallel,
    composite,  // TP × PP × DP × EP
    halo_exchange,
    traffic_matrix,
};
inline constexpr std::array all_patterns = {pattern::ring_allreduce,
                                            pattern::tree_allreduce,
                                            pattern::hierarchical_allreduce,
                                            pattern::in_network_allreduce,
                                            pattern::allreduce,
                                            pattern::reduce_scatter_all_gather,
                                            pattern::all_to_all,
                                            pattern::point_to_point,
                                            pattern::pipeline,
                                            pattern::tensor_parallel,
                                            pattern::data_parallel,
                                            pattern::expert_parallel,
                                            pattern::composite,
                                            pattern::halo_exchange,
                                            pattern::traffic_matrix};
[[nodiscard]] std::string_view name_of(pattern p) noexcept;  // "ring_allreduce"
// The name, or one of the short forms people use: ring, tree, hierarchical, sharp, fsdp, alltoall, p2p, tp, dp, ep, pp,
// halo, stencil, matrix. '-' and '_' are one. Unknown text gives an empty optional.
[[nodiscard]] std::optional<pattern> pattern_named(std::string_view text) noexcept;

// A training step's layout over p ranks: rank = t + tp · (d + dp · s) with 0 ≤ t < tp, 0 ≤ d < dp, 0 ≤ s < pp, as
// Megatron-LM orders them. The ranks of an expert group have the same t and s, and ep consecutive d.
// Byte counts are those of one rank; 0 means request::message_bytes.
struct parallel_plan {
    std::uint32_t tp = 1, pp = 1, ep = 1;
    std::uint32_t dp = 0;            // 0: what is left, p / (tp · pp)
    std::uint32_t layers = 1;        // of the whole model
    std::uint32_t microbatches = 1;  // of one pipeline in one step
    double tp_bytes = 0;             // one all-reduce of a layer's activations
    double pp_bytes = 0;             // what one stage hands to the next, one micro-batch
    double ep_bytes = 0;             // what a rank gives to one all-to-all of a layer
    double dp_bytes = 0;             // gradients all-reduced at the end of the step
    double compute_us = 0;           // computation of a step, without waiting
    double overlap = 0;              // share of the backward pass that can hide the gradients' all-reduce, 0 … 1
};

// Ranks as a grid; rank = x + X · (y + Y · z). Every rank gives bytes[d] to each of its neighbours along d.
struct halo_grid {
    std::array<std::uint32_t, 3> extent = {0, 0, 0};  // product = ranks; 0 0 0: as near to a cube as p allows
    std::array<double, 3> bytes = {0, 0, 0};          // 0: request::message_bytes
    bool periodic = false;
};

// The grid with its extents filled in for p ranks: as given, or the factors of p nearest to a cube, greatest first.
// O(√p).
[[nodiscard]] halo_grid grid_of(halo_grid given, std::uint32_t p) noexcept;

// What a part of the step is.
enum class term_kind : std::uint8_t { compute, exchange, tensor, expert, pipeline, data };
[[nodiscard]] std::string_view name_of(term_kind k) noexcept;  // "tensor"

}  // namespace placement

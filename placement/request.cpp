// SPDX-License-Identifier: Apache-2.0
#include "placement/request.hpp"

#include <algorithm>
#include <cmath>

#include "placement/traffic_matrix.hpp"

namespace placement {
namespace {

bool size(double x) noexcept { return std::isfinite(x) && x >= 0; }

std::string_view fault_of(const parallel_plan& plan, std::uint64_t ranks) noexcept {
    for (const double x : {plan.tp_bytes, plan.pp_bytes, plan.ep_bytes, plan.dp_bytes, plan.compute_us})
        if (!size(x)) return "bytes and times of a parallel plan must be finite and not negative";
    if (!(plan.overlap >= 0 && plan.overlap <= 1)) return "overlap must be between 0 and 1";
    if (plan.tp == 0 || plan.pp == 0 || plan.ep == 0) return "tp, pp and ep must be 1 or more";
    if (plan.layers == 0 || plan.microbatches == 0) return "layers and micro-batches must be 1 or more";
    const std::uint64_t replica = std::uint64_t{plan.tp} * plan.pp;
    if (ranks % replica != 0)
        return "tp times pp must divide the number of GPUs; change the layout or the GPUs asked for";
    const std::uint64_t dp = ranks / replica;
    if (plan.dp > 0 && plan.dp != dp)
        return "tp times pp times dp must be the number of GPUs; change the layout or the GPUs asked for";
    if (dp % plan.ep != 0) return "ep must divide dp; change the layout or the GPUs asked for";
    return {};
}

}  // namespace

std::string_view fault_of(const request& wanted, std::uint64_t ranks) noexcept {
    if (!size(wanted.message_bytes)) return "the message size must be finite and not negative";
    if (wanted.segment_nodes > 0 && wanted.max_nodes == 0 && wanted.nodes % wanted.segment_nodes != 0)
        return "the nodes of a segment must divide the nodes of the job; change one of them";
    switch (wanted.talks) {
        case pattern::composite: return fault_of(wanted.parallel, ranks);
        case pattern::pipeline:
        case pattern::tensor_parallel:
        case pattern::data_parallel:
        case pattern::expert_parallel: {
            parallel_plan alone = wanted.parallel;
            alone.tp = alone.pp = alone.ep = 1;
            alone.dp = 0;
            return fault_of(alone, ranks);
        }
        case pattern::halo_exchange: {
            const auto& e = wanted.halo.extent;
            if (std::any_of(wanted.halo.bytes.begin(), wanted.halo.bytes.end(), [](double b) { return !size(b); }))
                return "bytes of a halo exchange must be finite and not negative";
            if (e == std::array<std::uint32_t, 3>{0, 0, 0}) return {};
            // 2^20 a side keeps the product in 64 bits.
            if (std::any_of(e.begin(), e.end(), [](std::uint32_t n) { return n == 0 || n > 1u << 20; }) ||
                std::uint64_t{e[0]} * e[1] * e[2] != ranks)
                return "the grid's extents multiplied must be the number of GPUs; change the grid or the GPUs asked "
                       "for";
            return {};
        }
        case pattern::traffic_matrix:
            if (wanted.traffic == nullptr) return "this pattern needs a traffic matrix; give one";
            if (wanted.traffic->ranks() != ranks)
                return "the traffic matrix must have one row for each GPU; change the matrix or the GPUs asked for";
            return {};
        default: return {};
    }
}

}  // namespace placement

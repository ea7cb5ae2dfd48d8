// SPDX-License-Identifier: Apache-2.0
#include "placement/model_bytes.hpp"

#include <algorithm>
#include <cmath>

namespace placement {
namespace {

constexpr double hidden_by_layers = 128;
constexpr double parameters_a_layer = 12;  // times hidden²

}  // namespace

std::optional<double> bytes_of_precision(std::string_view name) noexcept {
    if (name == "fp8") return 1;
    if (name == "bf16" || name == "fp16") return 2;
    if (name == "fp32") return 4;
    return std::nullopt;
}

double hidden_size(const model_size& m) noexcept {
    return std::cbrt(m.parameters * hidden_by_layers / parameters_a_layer);
}

std::uint32_t layer_count(const model_size& m) noexcept {
    return static_cast<std::uint32_t>(std::max(1.0, std::round(hidden_size(m) / hidden_by_layers)));
}

parallel_plan with_bytes_of(const model_size& m, parallel_plan plan) noexcept {
    const double activations = double{1} * m.micro_batch * m.sequence * hidden_size(m) * m.bytes_a_number;
    plan.layers = layer_count(m);
    plan.tp_bytes = plan.pp_bytes = plan.ep_bytes = activations;
    plan.dp_bytes = m.parameters / (static_cast<double>(plan.tp) * plan.pp) * m.bytes_a_number;
    return plan;
}

}  // namespace placement

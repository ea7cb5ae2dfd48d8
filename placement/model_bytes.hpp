// SPDX-License-Identifier: Apache-2.0
// What a transformer of a given size moves in a step of training, from its number of parameters alone.
//
//   parameters = 12 · layers · hidden²          Kaplan et al. 2020, 2.1 (embeddings left out)
//   hidden     = 128 · layers                   the shape of GPT-3 175B (96 layers of 12,288)
//   tp_bytes   = micro_batch · sequence · hidden · bytes_a_number     one all-reduce, Shoeybi et al. 2019, 3
//   pp_bytes   = the same: the activations that one stage hands to the next
//   ep_bytes   = the same: each token goes to one expert and back
//   dp_bytes   = parameters / (tp · pp) · bytes_a_number              the gradients of one rank
//
// A figure for choosing between placements. Real models are wider or deeper: give the bytes where they are known.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "placement/pattern.hpp"

namespace placement {

struct model_size {
    double parameters = 0;      // 70e9; 1e6 … 1e15
    double bytes_a_number = 2;  // of activations and gradients: 1 fp8, 2 bf16 and fp16, 4 fp32
    std::uint32_t sequence = 4096;
    std::uint32_t micro_batch = 1;  // sequences
};

// Bytes of "fp8", "bf16", "fp16", "fp32"; nothing for other text.
[[nodiscard]] std::optional<double> bytes_of_precision(std::string_view name) noexcept;

[[nodiscard]] double hidden_size(const model_size& m) noexcept;
[[nodiscard]] std::uint32_t layer_count(const model_size& m) noexcept;  // ≥ 1

// The plan with layers and bytes filled in by the formulas above, for its own tp and pp. O(1).
[[nodiscard]] parallel_plan with_bytes_of(const model_size& m, parallel_plan plan) noexcept;

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// The best-effort rule of NVIDIA's device plugin as it is published, written anew to be measured beside ours:
// a pair scores by its PCIe class (SYS 10, NODE 20, PHB 30, PXB 40, PIX 50) plus 100 a bonded NVLink; every partition
// of the offered GPUs into sets of the wanted size (the last one short where it does not divide) is scored by the sum
// over its sets; the best set of the best partition is the answer. One GPU: the first offered.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <vector>

#include "topo/matrix.hpp"

namespace best_effort {

using scores = topo::matrix<int>;  // of every pair

// Empty when `most` is over before all partitions are seen.
[[nodiscard]] std::optional<std::vector<unsigned>> choose(const scores& pair, const std::vector<unsigned>& offered,
                                                          unsigned size, std::chrono::milliseconds most);

}  // namespace best_effort

// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: the faults of a fabric description, apart by whether a lenient reader may go on.
#pragma once

#include "topo/fabric.hpp"
#include "topo/finding.hpp"

namespace topo {

struct fabric_faults {
    findings fatal;             // duplicate names, two parents, cycles, bad numbers: no tree can be made
    findings missing_children;  // child switches without a line: a lenient reader leaves them out
};

// O(switches + children + nodes). Both lists are in the order of the description.
[[nodiscard]] fabric_faults faults_of(const fabric_description& fabric);

// True for an NVLink domain id that means something: not empty, not all zeros (drivers report an
// all-zero cluster UUID on machines without multi-node NVLink).
[[nodiscard]] bool names_a_domain(std::string_view id) noexcept;

// α/β of level `level` as far as the form tells; always marked `estimated`. docs/cost-model.md.
[[nodiscard]] cost estimated_level_cost(int level, bool level_0_is_nvlink) noexcept;

// The cost of one hop more than the last of `nearer` (the first: one hop), estimated: its bandwidth is that of the
// last one, its latency 0.33 µs more for one more switch. docs/cost-model.md.
[[nodiscard]] cost estimated_hop_cost(const std::vector<cost>& nearer) noexcept;

[[nodiscard]] constexpr bool is_grid(fabric_form f) noexcept {
    return f == fabric_form::torus || f == fabric_form::hypercube;
}

// Row-major position of a run's first node; `at` has one coordinate a dimension or none.
[[nodiscard]] std::uint64_t first_position(const std::vector<std::uint32_t>& dims,
                                           const std::vector<std::uint32_t>& at) noexcept;

// Faults of dims, grid and what stands beside them; none of other forms but that they have neither.
void check_grid(const fabric_description& fabric, findings& out);

}  // namespace topo

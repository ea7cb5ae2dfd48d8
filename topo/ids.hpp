// SPDX-License-Identifier: Apache-2.0
// Index types that cannot be mixed up, and the bitmap of GPUs of one node.
#pragma once

#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace topo {

// An index into one array of the cluster model. Default-constructed: invalid.
template <class Tag>
struct index {
    std::uint32_t value = std::numeric_limits<std::uint32_t>::max();

    constexpr index() noexcept = default;
    constexpr explicit index(std::uint32_t v) noexcept : value(v) {}
    constexpr explicit index(std::size_t v) noexcept : value(static_cast<std::uint32_t>(v)) {}
    constexpr explicit index(int v) noexcept : value(static_cast<std::uint32_t>(v)) {}
    [[nodiscard]] constexpr bool valid() const noexcept { return value != std::numeric_limits<std::uint32_t>::max(); }
    friend constexpr auto operator<=>(index, index) noexcept = default;
};

using node_id = index<struct node_tag>;    // position in cluster::nodes
using class_id = index<struct class_tag>;  // position in cluster::classes
using group_id = index<struct group_tag>;  // one group (leaf, spine block, ...) of one fabric level
using position_id = index<struct position_tag>;  // row-major position in a torus or hypercube

// GPUs of one node: bit i is GPU i of its node class. Nodes hold at most max_gpus_per_node GPUs.
using gpu_mask = std::uint64_t;
inline constexpr std::size_t max_gpus_per_node = 64;
inline constexpr std::size_t max_nics_per_node = 64;

[[nodiscard]] constexpr unsigned count(gpu_mask mask) noexcept { return static_cast<unsigned>(std::popcount(mask)); }
// The mask of GPUs 0 … n-1, for n in 0 … 64.
[[nodiscard]] constexpr gpu_mask first_gpus(std::size_t n) noexcept {
    return n >= 64 ? ~gpu_mask{0} : (gpu_mask{1} << n) - 1;
}

}  // namespace topo

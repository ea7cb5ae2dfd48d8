// SPDX-License-Identifier: Apache-2.0
// A set of small numbers written the way Linux and Slurm write them: "0-31,64-95".
// Used for CPU sets, NUMA lists, gres cores and lists of free GPUs.
//
// Example:
//   auto cpus = topo::id_set::parse("0-3,8");      // {0,1,2,3,8}
//   cpus->contains(8); cpus->text() == "0-3,8";
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/result.hpp"

namespace topo {

class id_set {
public:
    // Largest number a set may hold; a longer range in a file is a typing error, not a machine.
    static constexpr std::uint32_t max_id = 1u << 20;

    // Reads "a", "a-b" and comma lists of them; surrounding brackets "[…]" and blanks are allowed,
    // and the empty text is the empty set. Fails with bad_input (no place: the caller knows it) on
    // anything else, on a > b, or on a number above max_id. O(length + ranges log ranges).
    [[nodiscard]] static result<id_set> parse(std::string_view text);

    // Reads the comma-separated 32-bit hexadecimal words of Linux and hwloc cpu masks, most
    // significant first ("000000ff,ffffffff" or "0x000000ff,0xffffffff"; hwloc also leaves words
    // empty: "0xf,,0x1"; a leading "0xf...f" means infinite and is refused). O(bits).
    [[nodiscard]] static result<id_set> parse_hex_mask(std::string_view text);

    void insert(std::uint32_t id) { insert_range(id, id); }
    void insert_range(std::uint32_t first, std::uint32_t last);    // inclusive; O(ranges)
    [[nodiscard]] bool contains(std::uint32_t id) const noexcept;  // O(log ranges)
    [[nodiscard]] bool empty() const noexcept { return ranges_.empty(); }
    [[nodiscard]] std::size_t size() const noexcept;                        // how many ids; O(ranges)
    [[nodiscard]] std::uint32_t first() const noexcept;                     // smallest id; only when not empty
    [[nodiscard]] std::uint32_t last() const noexcept;                      // largest id; only when not empty
    [[nodiscard]] std::size_t overlap(const id_set& other) const noexcept;  // ids in both; O(ranges)
    [[nodiscard]] std::string text() const;                                 // canonical: ascending, merged ranges
    [[nodiscard]] std::vector<std::uint32_t> ids() const;                   // ascending

    // Sorted, disjoint, inclusive, merged ranges.
    [[nodiscard]] const std::vector<std::pair<std::uint32_t, std::uint32_t>>& ranges() const noexcept {
        return ranges_;
    }
    friend bool operator==(const id_set&, const id_set&) = default;

private:
    std::vector<std::pair<std::uint32_t, std::uint32_t>> ranges_;
};

}  // namespace topo

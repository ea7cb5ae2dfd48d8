// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: disjoint sets of numbered things; the smallest member stands for its set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace topo {

class disjoint_sets {
public:
    explicit disjoint_sets(std::size_t size) : parent_(size) { std::iota(parent_.begin(), parent_.end(), 0u); }

    [[nodiscard]] std::uint32_t find(std::uint32_t x) noexcept {
        while (parent_[x] != x) {
            parent_[x] = parent_[parent_[x]];
            x = parent_[x];
        }
        return x;
    }
    // O(log size), amortised (path halving, no rank: the smallest member must stay the root).
    void join(std::uint32_t a, std::uint32_t b) noexcept {
        a = find(a);
        b = find(b);
        if (a > b) std::swap(a, b);
        parent_[b] = a;
    }

private:
    std::vector<std::uint32_t> parent_;
};

}  // namespace topo

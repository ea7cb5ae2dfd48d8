// SPDX-License-Identifier: Apache-2.0
// Who talks with whom and how much, as a sparse undirected graph: what swap searches walk over.
//
// Vertices are ranks, or groups of ranks after quotient(). A link stands in the rows of both its ends with the bytes
// of both directions together. No vertex has a link to itself, none has two to the same.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "placement/rank_map/rank_grid.hpp"
#include "placement/traffic_matrix.hpp"

namespace placement {

class talk_graph {
public:
    struct link {
        std::uint32_t to;
        double bytes;
    };

    // Makes room; the calls below allocate only beyond it.
    void reserve(std::uint32_t vertices, std::size_t links);

    // O(links). A grid's links: two a rank along a ring or chain, extent − 1 along an all-to-all.
    void assign(const rank_grid& grid);
    void assign(const traffic_matrix& traffic);
    // Vertices of `fine` with the same group become one; group_of[vertex] < groups. O(links of fine + groups).
    void assign_quotient(const talk_graph& fine, std::span<const std::uint32_t> group_of, std::uint32_t groups);

    [[nodiscard]] static std::size_t links_of(const rank_grid& grid) noexcept;

    [[nodiscard]] std::uint32_t vertices() const noexcept { return static_cast<std::uint32_t>(begin_.size() - 1); }
    [[nodiscard]] std::size_t links() const noexcept { return links_.size(); }
    [[nodiscard]] std::span<const link> row(std::uint32_t v) const noexcept {
        return {links_.data() + begin_[v], begin_[v + 1] - begin_[v]};
    }

private:
    void count_into_begins();
    void merge_rows();

    std::vector<std::size_t> begin_{0};
    std::vector<link> links_;
    std::vector<std::uint32_t> seen_, order_;  // work space
};

}  // namespace placement

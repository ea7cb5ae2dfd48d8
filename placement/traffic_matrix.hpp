// SPDX-License-Identifier: Apache-2.0
// What every rank of a job sends to every other in a step, sparse, in compressed rows.
//
// Row r holds what rank r sends: entries row_begin()[r] … row_begin()[r + 1] − 1 of column() and bytes(), columns
// ascending, none twice. An entry of a rank to itself is kept and counts nowhere.
//
// Example: rank 0 sends 1 MB to rank 1 and gets 2 MB back
//   auto traffic = placement::traffic_matrix::from_entries(2, {{0, 1, 1e6}, {1, 0, 2e6}});
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "topo/result.hpp"

namespace placement {

struct traffic_entry {
    std::uint32_t from = 0;
    std::uint32_t to = 0;
    double bytes = 0;
};

class traffic_matrix {
public:
    static constexpr std::uint32_t max_ranks = 1u << 20;
    static constexpr std::size_t max_entries = std::size_t{1} << 26;

    // Fails with bad_input or limit, and names the entry: no ranks or too many, too many entries, row_begin that does
    // not start at 0, falls or does not end at the number of entries, a column that is out of range, not ascending or
    // twice, bytes that are negative, not finite or above 1e18. O(ranks + entries).
    [[nodiscard]] static topo::result<traffic_matrix> make(std::uint32_t ranks, std::vector<std::size_t> row_begin,
                                                           std::vector<std::uint32_t> column,
                                                           std::vector<double> bytes);

    // The same from entries in any order. Two entries of the same pair are an error. O(ranks + entries · log).
    [[nodiscard]] static topo::result<traffic_matrix> from_entries(std::uint32_t ranks,
                                                                   std::vector<traffic_entry> entries);

    [[nodiscard]] std::uint32_t ranks() const noexcept { return static_cast<std::uint32_t>(row_begin_.size() - 1); }
    [[nodiscard]] std::span<const std::size_t> row_begin() const noexcept { return row_begin_; }
    [[nodiscard]] std::span<const std::uint32_t> column() const noexcept { return column_; }
    [[nodiscard]] std::span<const double> bytes() const noexcept { return bytes_; }

private:
    traffic_matrix() = default;
    std::vector<std::size_t> row_begin_;
    std::vector<std::uint32_t> column_;
    std::vector<double> bytes_;
};

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// Reads a traffic matrix: bytes that each rank sends to each other in a step.
//
// Three forms, told apart by the first line:
//   %%MatrixMarket matrix coordinate real|integer general     rows, columns and entries from 1, as NIST defines it
//   from,to,bytes                                             one entry a line, ranks from 0; as many as the highest
//   anything else                                             a square of numbers, a row a line, with commas
// Lines that begin with # (CSV) or % (MatrixMarket) are comments.
#pragma once

#include <string_view>

#include "placement/traffic_matrix.hpp"

namespace placement {

inline constexpr std::size_t max_traffic_text = std::size_t{256} << 20;  // bytes

// Fails with bad_input or limit; `where` names the text, errors add line and column. O(length · log).
[[nodiscard]] topo::result<traffic_matrix> parse_traffic(std::string_view text, std::string_view where);

}  // namespace placement

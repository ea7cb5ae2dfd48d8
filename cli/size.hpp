// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: "64M", "1.5Gi", "4096".
#pragma once

#include <string_view>

#include "topo/result.hpp"

namespace cli {

inline constexpr double largest_size = 1e15;  // a petabyte a step is a typing error

// Bytes. k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti powers of 1024; an optional B follows ("64MB");
// case of the letters does not matter. At least 1 byte, at most largest_size; a fraction of a byte is
// rounded. Anything else is bad_input with `option` as its place. O(length).
[[nodiscard]] topo::result<double> parse_size(std::string_view text, std::string_view option);

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: "64M", "1.5Gi", "4096".
#pragma once

#include <string_view>

#include "topo/result.hpp"

namespace cli {

// Bytes, as topo::size_named; what it does not take is bad_input with `option` as its place. O(length).
[[nodiscard]] topo::result<double> parse_size(std::string_view text, std::string_view option);

}  // namespace cli

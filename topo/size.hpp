// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: "64M", "1.5Gi", "4096".
#pragma once

#include <string_view>

namespace topo {

inline constexpr double largest_size = 1e15;  // a petabyte a step is a typing error

// Bytes. k, M, G, T are powers of 1000; Ki, Mi, Gi, Ti powers of 1024; an optional B follows ("64MB");
// case of the letters does not matter. At least 1 byte, at most largest_size; a fraction of a byte is
// rounded. 0 for anything else. O(length).
[[nodiscard]] double size_named(std::string_view text) noexcept;

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// How messages quote input. A reader never puts text of a file into a message whole: a damaged file may
// hold megabytes in one word, bytes that are no UTF-8, or escape sequences for the terminal that shows it.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace topo {

inline constexpr std::size_t longest_quote = 60;       // bytes of one quoted word
inline constexpr std::size_t longest_sentence = 1000;  // bytes of a library's own message, which quotes too

// `text` for a message: control characters and bytes that are no UTF-8 become '?', and what is longer than
// `most` bytes is cut at a character and ends in "…". O(most).
[[nodiscard]] std::string shown(std::string_view text, std::size_t most = longest_quote);

}  // namespace topo

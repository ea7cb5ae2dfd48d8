// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: what no text file of ours may hold.
#pragma once

#include <string>
#include <string_view>

#include "topo/result.hpp"

namespace topo::file {

// limit over max_file_bytes, bad_input for empty text and for control characters other than tab and
// line ends (binary content, UTF-16) and for bytes that are no UTF-8, with the line. O(length).
[[nodiscard]] result<done> check_text(std::string_view text, const std::string& file);

}  // namespace topo::file

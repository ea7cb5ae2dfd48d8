// SPDX-License-Identifier: Apache-2.0
// Text from files is not to be trusted: before it reaches a terminal or a page it passes through here.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "topo/counted.hpp"

namespace cli::render {

// For a terminal: control characters, bytes that are no UTF-8 and characters that reorder text
// become \xNN, so that a name in a file cannot move the cursor or recolour the screen. O(length).
[[nodiscard]] std::string printable(std::string_view text);

// For HTML and SVG, element content and quoted attributes alike: & < > " ' are escaped, what
// printable() would hide becomes U+FFFD. Line feeds stay. O(length).
[[nodiscard]] std::string html(std::string_view text);

// Columns that printable text takes, one a code point. O(length).
[[nodiscard]] std::size_t columns(std::string_view text) noexcept;

// `text` filled with blanks to `width` columns.
[[nodiscard]] std::string pad_left(std::string_view text, std::size_t width);
[[nodiscard]] std::string pad_right(std::string_view text, std::size_t width);

// At most `width` columns of printable text, the last an ellipsis where something was left out.
[[nodiscard]] std::string shorten(std::string_view text, std::size_t width);

// Three significant digits or so, never an exponent below 10⁷: "371", "25.2", "0.85", "1 842". No unit.
[[nodiscard]] std::string short_number(double value);
// "850 us", "12.4 ms", "1.20 s".
[[nodiscard]] std::string duration(double us);
// "64 MB", "1.5 kB": powers of 1000.
[[nodiscard]] std::string size(double bytes);
// "2026-11-30 09:41 UTC"; "unknown" for 0.
[[nodiscard]] std::string date(long long seconds_since_1970);
// "1 GPU", "8 GPUs".
using topo::counted;

}  // namespace cli::render

// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: what is one character of UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "topo/result.hpp"

namespace topo {

// The bytes of the character that `s` (not empty) begins with; 0 when it is none: a stray or missing
// continuation byte, an overlong form, a surrogate, above U+10FFFF. O(1).
[[nodiscard]] constexpr std::size_t utf8_length(std::string_view s) noexcept {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return 1;
    if (lead < 0xc2 || lead > 0xf4) return 0;
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (s.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    const unsigned char next = byte(1);
    const bool refused = (lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f) ||
                         (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f);
    return refused ? 0 : length;
}

// Where `s` stops being UTF-8; npos when all of it is. O(length).
[[nodiscard]] constexpr std::size_t utf8_fault(std::string_view s) noexcept {
    for (std::size_t at = 0; at < s.size();) {
        const std::size_t length = utf8_length(s.substr(at, 4));
        if (length == 0) return at;
        at += length;
    }
    return std::string_view::npos;
}

// bad_input with "file:line" and the byte where utf8_fault() finds one. O(length).
[[nodiscard]] result<done> check_utf8(std::string_view text, const std::string& file);

}  // namespace topo

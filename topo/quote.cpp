// SPDX-License-Identifier: Apache-2.0
#include "topo/quote.hpp"

#include "topo/utf8.hpp"

namespace topo {
namespace {

// The bytes of the character that `s` begins with; 0 when a terminal should not see it.
std::size_t character(std::string_view s) {
    const auto lead = static_cast<unsigned char>(s[0]);
    if (lead < 0x20 || lead == 0x7f) return 0;
    const bool c1 = s.size() > 1 && lead == 0xc2 && static_cast<unsigned char>(s[1]) < 0xa0;  // U+0080 … U+009F
    return c1 ? 0 : utf8_length(s);
}

}  // namespace

std::string shown(std::string_view text, std::size_t most) {
    std::string out;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t length = character(text.substr(at, 4));
        if (at + (length == 0 ? 1 : length) > most) return out + "…";
        if (length == 0)
            out += '?';
        else
            out += text.substr(at, length);
        at += length == 0 ? 1 : length;
    }
    return out;
}

}  // namespace topo

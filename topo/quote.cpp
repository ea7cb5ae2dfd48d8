// SPDX-License-Identifier: Apache-2.0
#include "topo/quote.hpp"

namespace topo {
namespace {

// The bytes of the UTF-8 character that `s` begins with; 0 when it is none, or a C1 control.
std::size_t character(std::string_view s) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(s[i]); };
    const unsigned char lead = byte(0);
    if (lead < 0x80) return lead < 0x20 || lead == 0x7f ? 0 : 1;
    const std::size_t length = lead >= 0xf0 && lead <= 0xf4 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || s.size() < length) return 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80) return 0;
    // Overlong forms, surrogates, above U+10FFFF, and U+0080 … U+009F.
    const unsigned char next = byte(1);
    const bool refused = (lead == 0xe0 && next < 0xa0) || (lead == 0xed && next > 0x9f) ||
                         (lead == 0xf0 && next < 0x90) || (lead == 0xf4 && next > 0x8f) ||
                         (lead == 0xc2 && next < 0xa0);
    return refused ? 0 : length;
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

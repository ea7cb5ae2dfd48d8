// SPDX-License-Identifier: Apache-2.0
#include "topo/utf8.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace topo {

result<done> check_utf8(std::string_view text, const std::string& file) {
    const std::size_t at = utf8_fault(text);
    if (at == std::string_view::npos) return done{};
    const auto line = std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n') + 1;
    return error{errc::bad_input, fmt::format("{}:{}", file, line),
                 fmt::format("byte 0x{:02x} is no UTF-8", static_cast<unsigned>(static_cast<unsigned char>(text[at]))),
                 "give a UTF-8 text file (iconv converts other encodings)"};
}

}  // namespace topo

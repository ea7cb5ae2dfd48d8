// SPDX-License-Identifier: Apache-2.0
#include "topo/file/text_check.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topo/file.hpp"
#include "topo/utf8.hpp"

namespace topo::file {

result<done> check_text(std::string_view text, const std::string& file) {
    if (text.size() > max_file_bytes)
        return error{errc::limit, file, fmt::format("{} bytes; at most {} are read", text.size(), max_file_bytes),
                     "check that this is the right file"};
    const auto control = std::find_if(text.begin(), text.end(), [](char c) {
        return static_cast<unsigned char>(c) < 0x20 && c != '\t' && c != '\n' && c != '\r';
    });
    if (control != text.end()) {
        const auto line = std::count(text.begin(), control, '\n') + 1;
        return error{errc::bad_input, fmt::format("{}:{}", file, line),
                     fmt::format("byte 0x{:02x} is no text; the file is binary or damaged",
                                 static_cast<unsigned>(static_cast<unsigned char>(*control))),
                     "give a UTF-8 text file"};
    }
    if (auto sound = check_utf8(text, file); !sound) return sound;
    if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
        return error{errc::bad_input, file, "the file is empty", "give a file with content"};
    return done{};
}

}  // namespace topo::file

// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: cutting text into lines and fields, and the errors of readers.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/finding.hpp"
#include "topo/quote.hpp"
#include "topo/result.hpp"

namespace topo::text {

struct line {
    std::size_t number = 0;  // from 1
    std::string_view body;   // without the line end ("\n" or "\r\n")
};

[[nodiscard]] std::vector<line> lines_of(std::string_view text);                 // O(length)
[[nodiscard]] std::string_view trim(std::string_view s) noexcept;                // blanks, tabs, \r at both ends
[[nodiscard]] std::vector<std::string_view> words(std::string_view s);           // cut at runs of blanks and tabs
[[nodiscard]] std::vector<std::string_view> split(std::string_view s, char at);  // every piece, empty ones too
[[nodiscard]] std::optional<long> whole_number(std::string_view s) noexcept;     // decimal, all of s
[[nodiscard]] std::optional<double> real_number(std::string_view s) noexcept;    // finite, all of s, no hex
using topo::shown;                                                               // how messages quote input
// Without terminal escape sequences (ESC [ … letter). Copies.
[[nodiscard]] std::string without_escapes(std::string_view s);
// True when the first 4 kB hold a NUL byte: no reader of ours takes binary.
[[nodiscard]] bool binary(std::string_view s) noexcept;

[[nodiscard]] inline std::string at(const std::string& file, std::size_t line_number) {
    return file + ":" + std::to_string(line_number);
}
[[nodiscard]] inline error bad(std::string where, std::string what, std::string remedy) {
    return {errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}
inline void warn(findings& notes, std::string where, std::string what, std::string remedy) {
    notes.push_back({severity::warning, std::move(where), std::move(what), std::move(remedy)});
}
inline void note(findings& notes, std::string where, std::string what) {
    notes.push_back({severity::info, std::move(where), std::move(what), {}});
}

}  // namespace topo::text

// SPDX-License-Identifier: Apache-2.0
#include "topo/import/text.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

namespace topo::text {
namespace {

bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

}  // namespace

std::vector<line> lines_of(std::string_view text) {
    std::vector<line> out;
    for (std::size_t number = 1; !text.empty(); ++number) {
        const std::size_t end = text.find('\n');
        std::string_view body = text.substr(0, end);
        if (!body.empty() && body.back() == '\r') body.remove_suffix(1);
        out.push_back({number, body});
        if (end == std::string_view::npos) break;
        text.remove_prefix(end + 1);
    }
    return out;
}

std::string_view trim(std::string_view s) noexcept {
    while (!s.empty() && blank(s.front())) s.remove_prefix(1);
    while (!s.empty() && blank(s.back())) s.remove_suffix(1);
    return s;
}

std::vector<std::string_view> words(std::string_view s) {
    std::vector<std::string_view> out;
    while (true) {
        while (!s.empty() && blank(s.front())) s.remove_prefix(1);
        if (s.empty()) return out;
        std::size_t end = 0;
        while (end < s.size() && !blank(s[end])) ++end;
        out.push_back(s.substr(0, end));
        s.remove_prefix(end);
    }
}

std::vector<std::string_view> split(std::string_view s, char at) {
    std::vector<std::string_view> out;
    while (true) {
        const std::size_t end = s.find(at);
        out.push_back(s.substr(0, end));
        if (end == std::string_view::npos) return out;
        s.remove_prefix(end + 1);
    }
}

std::optional<long> whole_number(std::string_view s) noexcept {
    long value = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (failed != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return value;
}

std::optional<double> real_number(std::string_view s) noexcept {
    double value = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value);
    if (failed != std::errc{} || end != s.data() + s.size() || !std::isfinite(value)) return std::nullopt;
    return value;
}

std::string without_escapes(std::string_view s) {
    std::string out;
    out.reserve(s.size());
    for (std::size_t i = 0; i < s.size(); ++i) {
        if (s[i] != '\x1b') {
            out += s[i];
            continue;
        }
        if (i + 1 >= s.size() || s[i + 1] != '[') continue;
        std::size_t end = i + 2;  // parameters and intermediates are 0x20 … 0x3f, the final byte 0x40 … 0x7e
        while (end < s.size() && s[end] >= 0x20 && s[end] <= 0x3f) ++end;
        i = end < s.size() && s[end] >= 0x40 ? end : end - 1;
    }
    return out;
}

bool binary(std::string_view s) noexcept {
    s = s.substr(0, 4096);
    return std::find(s.begin(), s.end(), '\0') != s.end();
}

}  // namespace topo::text

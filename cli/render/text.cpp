// SPDX-License-Identifier: Apache-2.0
#include "cli/render/text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <ctime>

namespace cli::render {
namespace {

struct decoded {
    char32_t code = 0;
    std::size_t length = 1;
    bool valid = false;
};

// One UTF-8 sequence; overlong forms and surrogates are not valid.
decoded decode(std::string_view text, std::size_t at) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    const unsigned char lead = byte(at);
    if (lead < 0x80) return {lead, 1, true};
    const std::size_t length = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
    if (lead < 0xc2 || lead > 0xf4 || at + length > text.size()) return {};
    char32_t code = lead & (0xffu >> (length + 1));
    for (std::size_t i = 1; i < length; ++i) {
        if ((byte(at + i) & 0xc0) != 0x80) return {};
        code = (code << 6) | (byte(at + i) & 0x3fu);
    }
    const char32_t least = length == 2 ? 0x80 : length == 3 ? 0x800 : 0x10000;
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)) return {};
    return {code, length, true};
}

bool hidden(char32_t c) {
    const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
    const bool reorders = (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069) || c == 0x200e || c == 0x200f;
    return control || reorders || c == 0x2028 || c == 0x2029 || c == 0xfeff;
}

std::string_view entity(char32_t c) {
    switch (c) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '"': return "&quot;";
        case '\'': return "&#39;";
        default: return {};
    }
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const decoded c = decode(text, at);
        if (c.valid && !hidden(c.code)) {
            out += text.substr(at, c.length);
        } else {
            for (std::size_t i = 0; i < c.length; ++i)
                out += fmt::format("\\x{:02x}", static_cast<unsigned char>(text[at + i]));
        }
        at += c.length;
    }
    return out;
}

std::string html(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        const decoded c = decode(text, at);
        if (!c.valid || (hidden(c.code) && c.code != '\n')) {
            out += "\xef\xbf\xbd";
        } else if (const std::string_view named = entity(c.code); !named.empty()) {
            out += named;
        } else {
            out += text.substr(at, c.length);
        }
        at += c.length;
    }
    return out;
}

std::size_t columns(std::string_view text) noexcept {
    std::size_t n = 0;
    for (const char c : text) n += (static_cast<unsigned char>(c) & 0xc0) != 0x80;
    return n;
}

std::string pad_left(std::string_view text, std::size_t width) {
    const std::size_t have = columns(text);
    return std::string(have < width ? width - have : 0, ' ') + std::string(text);
}

std::string pad_right(std::string_view text, std::size_t width) {
    const std::size_t have = columns(text);
    return std::string(text) + std::string(have < width ? width - have : 0, ' ');
}

std::string shorten(std::string_view text, std::size_t width) {
    std::string shown = printable(text);
    if (columns(shown) <= width) return shown;
    std::size_t bytes = 0;
    for (std::size_t n = 0; bytes < shown.size(); ++bytes)
        if ((static_cast<unsigned char>(shown[bytes]) & 0xc0) != 0x80 && ++n == width) break;
    return shown.substr(0, bytes) + "…";
}

std::string short_number(double value) {
    if (!std::isfinite(value)) return "unknown";
    const double size = std::fabs(value);
    if (size >= 1e7) return fmt::format("{:.3g}", value);
    if (size >= 99.95) return fmt::format("{:.0f}", value);
    if (size >= 9.995) return fmt::format("{:.1f}", value);
    return fmt::format("{:.2f}", value);
}

std::string duration(double us) {
    if (!std::isfinite(us)) return "unknown";
    if (us < 1e4) return short_number(us) + " us";
    if (us < 1e6) return short_number(us / 1e3) + " ms";
    return short_number(us / 1e6) + " s";
}

std::string size(double bytes) {
    static constexpr std::string_view units[] = {"B", "kB", "MB", "GB", "TB"};
    std::size_t unit = 0;
    while (bytes >= 1000 && unit < 4) {
        bytes /= 1000;
        ++unit;
    }
    return fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::string date(long long seconds_since_1970) {
    const std::time_t when = static_cast<std::time_t>(seconds_since_1970);
    std::tm parts{};
    if (when <= 0 || gmtime_r(&when, &parts) == nullptr) return "unknown";
    return fmt::format("{:04}-{:02}-{:02} {:02}:{:02} UTC", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday,
                       parts.tm_hour, parts.tm_min);
}

}  // namespace cli::render

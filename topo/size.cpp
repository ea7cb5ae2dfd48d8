// SPDX-License-Identifier: Apache-2.0
#include "topo/size.hpp"

#include <cctype>
#include <charconv>
#include <cmath>

namespace topo {
namespace {

double power(double base, int exponent) {
    double value = 1;
    for (int i = 0; i < exponent; ++i) value *= base;
    return value;
}

// The factor of "", "k", "Mi", "GB", "TiB" …; 0 when it is none of them.
double factor_of(std::string_view unit) {
    auto lower = [&](std::size_t i) {
        return i < unit.size() ? static_cast<char>(std::tolower(static_cast<unsigned char>(unit[i]))) : '\0';
    };
    std::size_t at = 0;
    double factor = 1;
    const std::size_t prefix = std::string_view("kmgt").find(lower(0));
    if (!unit.empty() && prefix != std::string_view::npos) {
        ++at;
        const bool binary = lower(at) == 'i';
        if (binary) ++at;
        factor = power(binary ? 1024.0 : 1000.0, static_cast<int>(prefix) + 1);
    }
    if (lower(at) == 'b') ++at;
    return at == unit.size() ? factor : 0;
}

}  // namespace

double size_named(std::string_view text) noexcept {
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, code] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (code != std::errc{}) return 0;
    const double bytes = std::round(number * factor_of({rest, static_cast<std::size_t>(end - rest)}));
    return bytes >= 1 && bytes <= largest_size ? bytes : 0;
}

}  // namespace topo

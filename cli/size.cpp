// SPDX-License-Identifier: Apache-2.0
#include "cli/size.hpp"

#include <charconv>
#include <cmath>
#include <string>

namespace cli {
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

topo::result<double> parse_size(std::string_view text, std::string_view option) {
    auto bad = [&] {
        return topo::error{topo::errc::bad_input, std::string(option), "'" + std::string(text) + "' is not a size",
                           "write bytes or 64k, 64M, 1G (powers of 1000), 64Ki, 64Mi, 1Gi (powers of 1024)"};
    };
    double number = 0;
    const char* end = text.data() + text.size();
    const auto [rest, code] = std::from_chars(text.data(), end, number, std::chars_format::fixed);
    if (code != std::errc{}) return bad();
    const double factor = factor_of({rest, static_cast<std::size_t>(end - rest)});
    const double bytes = std::round(number * factor);
    if (factor == 0 || !(bytes >= 1) || bytes > largest_size) return bad();
    return bytes;
}

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
#include "topo/device.hpp"

#include <array>
#include <charconv>
#include <cstddef>
#include <cstdio>

#include "topo/quote.hpp"

namespace topo {
namespace {

constexpr std::array<std::string_view, 10> link_names = {"X",   "NV",  "XGMI", "C2C", "PIX",
                                                         "PXB", "PHB", "NODE", "SYS", "?"};

template <class Number>
bool read_hex(std::string_view s, std::uint32_t limit, Number& out) {
    std::uint32_t value = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value, 16);
    if (failed != std::errc{} || end != s.data() + s.size() || value > limit) return false;
    out = static_cast<Number>(value);
    return true;
}

}  // namespace

result<pci_address> pci_address::parse(std::string_view text) {
    const error bad{errc::bad_input, "", "'" + shown(text) + "' is not a PCI address",
                    "write it as 0000:4f:00.0 (domain:bus:device.function, hexadecimal)"};
    pci_address a;
    const std::size_t dot = text.find('.');
    if (dot != std::string_view::npos) {
        if (!read_hex(text.substr(dot + 1), 7, a.function)) return bad;
        text = text.substr(0, dot);
    }
    const std::size_t last = text.rfind(':');
    if (last == std::string_view::npos || !read_hex(text.substr(last + 1), 31, a.device)) return bad;
    text = text.substr(0, last);
    const std::size_t first = text.rfind(':');
    if (first != std::string_view::npos) {
        if (!read_hex(text.substr(0, first), 0xffffffffu, a.domain)) return bad;
        text = text.substr(first + 1);
    }
    if (!read_hex(text, 255, a.bus)) return bad;
    return a;
}

std::string pci_address::text() const {
    std::array<char, 32> out{};
    std::snprintf(out.data(), out.size(), "%04x:%02x:%02x.%x", domain, bus, device, function);
    return out.data();
}

std::string text_of(link l) {
    std::string out(link_names[static_cast<std::size_t>(l.kind)]);
    if (l.kind == link_class::nvlink || l.kind == link_class::xgmi) out += std::to_string(l.count);
    return out;
}

std::optional<link> link_named(std::string_view text) noexcept {
    if (text == "SOC") return link{link_class::sys, 0};
    for (const auto& [prefix, kind] : {std::pair{std::string_view{"NV"}, link_class::nvlink},
                                       std::pair{std::string_view{"XGMI"}, link_class::xgmi}}) {
        if (!text.starts_with(prefix) || text.size() == prefix.size()) continue;
        const std::string_view digits = text.substr(prefix.size());
        unsigned n = 0;
        const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), n);
        if (failed == std::errc{} && end == digits.data() + digits.size() && n >= 1 && n <= 999)
            return link{kind, static_cast<std::uint16_t>(n)};
        return std::nullopt;
    }
    for (std::size_t i = 0; i < link_names.size(); ++i) {
        const auto kind = static_cast<link_class>(i);
        if (kind != link_class::nvlink && kind != link_class::xgmi && link_names[i] == text) return link{kind, 0};
    }
    return std::nullopt;
}

}  // namespace topo

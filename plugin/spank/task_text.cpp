// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/spank/task_text.hpp"

#include <algorithm>
#include <charconv>

namespace slurm_plugin {
namespace {

// A number at the front of `text`, which is shortened by it.
bool take_number(std::string_view& text, std::uint32_t& to) noexcept {
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), to);
    if (code != std::errc{}) return false;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return true;
}

bool take(std::string_view& text, std::string_view word) noexcept {
    if (!text.starts_with(word)) return false;
    text.remove_prefix(word.size());
    return true;
}

bool plain(char c) noexcept {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' ||
           c == '.' || c == ':';
}

}  // namespace

std::vector<std::uint32_t> task_counts(std::string_view text, std::size_t most) {
    std::vector<std::uint32_t> out;
    while (true) {
        std::uint32_t count = 0;
        std::uint32_t times = 1;
        if (!take_number(text, count) || count > 65535) return {};
        if (take(text, "(x") && (!take_number(text, times) || times == 0 || !take(text, ")"))) return {};
        if (times > most - out.size()) return {};
        out.insert(out.end(), times, count);
        if (text.empty()) return out;
        if (!take(text, ",")) return {};
    }
}

std::vector<std::string_view> device_words(std::string_view text) {
    std::vector<std::string_view> out;
    while (true) {
        const std::size_t comma = text.find(',');
        const std::string_view word = text.substr(0, comma);
        if (word.empty() || out.size() == 64 || !std::all_of(word.begin(), word.end(), plain)) return {};
        out.push_back(word);
        if (comma == std::string_view::npos) return out;
        text.remove_prefix(comma + 1);
    }
}

std::vector<std::uint8_t> gpu_numbers(std::string_view text) {
    std::vector<std::uint8_t> out;
    for (std::string_view word : device_words(text)) {
        std::uint32_t n = 0;
        if (!take_number(word, n) || !word.empty() || n >= 64) return {};
        if (std::find(out.begin(), out.end(), n) != out.end()) return {};
        out.push_back(static_cast<std::uint8_t>(n));
    }
    return out;
}

std::string reordered(const std::vector<std::string_view>& words, const std::vector<std::uint8_t>& from,
                      const std::vector<std::uint8_t>& to) {
    if (words.size() != from.size() || from.size() != to.size()) return {};
    std::string out;
    for (const std::uint8_t g : to) {
        const auto at = std::find(from.begin(), from.end(), g);
        if (at == from.end()) return {};
        out += out.empty() ? "" : ",";
        out += words[static_cast<std::size_t>(at - from.begin())];
    }
    return out;
}

std::vector<std::uint8_t> share_of(const std::vector<std::uint8_t>& gpus, std::uint32_t task, std::uint32_t tasks) {
    if (task >= tasks || gpus.empty()) return {};
    const std::size_t first = gpus.size() * task / tasks;
    const std::size_t end = std::max(first + 1, gpus.size() * (task + std::size_t{1}) / tasks);
    return {gpus.begin() + static_cast<std::ptrdiff_t>(first), gpus.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace slurm_plugin

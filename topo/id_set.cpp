// SPDX-License-Identifier: Apache-2.0
#include "topo/id_set.hpp"

#include <algorithm>
#include <charconv>

#include "topo/quote.hpp"

namespace topo {
namespace {

std::string_view trim(std::string_view s) {
    while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
    return s;
}

bool read_number(std::string_view s, std::uint32_t& out) {
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), out);
    return failed == std::errc{} && end == s.data() + s.size() && out <= id_set::max_id;
}

error bad(std::string_view text, std::string why) {
    return {errc::bad_input, "", "'" + shown(text) + "' is not a list of numbers: " + std::move(why),
            "write it as 0-3,8"};
}

}  // namespace

result<id_set> id_set::parse(std::string_view text) {
    const std::string_view whole = text;
    text = trim(text);
    if (text.size() >= 2 && text.front() == '[' && text.back() == ']') text = trim(text.substr(1, text.size() - 2));
    std::vector<std::pair<std::uint32_t, std::uint32_t>> items;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        const std::string_view item = trim(text.substr(0, comma));
        const std::size_t dash = item.find('-');
        std::uint32_t first = 0;
        std::uint32_t last = 0;
        if (!read_number(trim(item.substr(0, dash)), first)) return bad(whole, "bad item '" + shown(item) + "'");
        last = first;
        if (dash != std::string_view::npos && !read_number(trim(item.substr(dash + 1)), last))
            return bad(whole, "bad range '" + shown(item) + "'");
        if (last < first) return bad(whole, "range '" + shown(item) + "' runs backwards");
        items.emplace_back(first, last);
        if (comma == std::string_view::npos) break;
        text.remove_prefix(comma + 1);
        if (trim(text).empty()) return bad(whole, "it ends with a comma");
    }
    std::sort(items.begin(), items.end());  // in order, each insertion is at the end
    id_set set;
    for (const auto& [first, last] : items) set.insert_range(first, last);
    return set;
}

result<id_set> id_set::parse_hex_mask(std::string_view text) {
    text = trim(text);
    const auto malformed = [&](const char* why) {
        return error{errc::bad_input, "", "'" + shown(text) + "' is not a CPU mask: " + why,
                     "write it as 32-bit hexadecimal words, highest first, such as 000000ff,ffffffff"};
    };
    if (text.starts_with("0xf...f")) return malformed("an infinite mask");
    std::vector<std::uint32_t> words;  // highest first
    std::string_view rest = text;
    while (true) {
        const std::size_t comma = rest.find(',');
        std::string_view word = trim(rest.substr(0, comma));
        if (word.starts_with("0x") || word.starts_with("0X")) word.remove_prefix(2);
        std::uint32_t value = 0;
        if (!word.empty()) {  // hwloc leaves zero words empty
            const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value, 16);
            if (failed != std::errc{} || end != word.data() + word.size())
                return malformed("a word is not hexadecimal");
        }
        words.push_back(value);
        if (words.size() > max_id / 32) return malformed("too long");
        if (comma == std::string_view::npos) break;
        rest.remove_prefix(comma + 1);
    }
    id_set set;
    const std::size_t n = words.size();
    for (std::size_t w = 0; w < n; ++w)
        for (unsigned bit = 0; bit < 32; ++bit)
            if ((words[n - 1 - w] >> bit) & 1u) set.insert(static_cast<std::uint32_t>(w * 32 + bit));
    return set;
}

void id_set::insert_range(std::uint32_t first, std::uint32_t last) {
    // Ranges that touch or overlap [first, last] melt into it.
    auto from = std::lower_bound(ranges_.begin(), ranges_.end(), first,
                                 [](const auto& r, std::uint32_t id) { return std::uint64_t{r.second} + 1 < id; });
    auto to = from;
    while (to != ranges_.end() && to->first <= std::uint64_t{last} + 1) {
        first = std::min(first, to->first);
        last = std::max(last, to->second);
        ++to;
    }
    from = ranges_.erase(from, to);
    ranges_.insert(from, {first, last});
}

bool id_set::contains(std::uint32_t id) const noexcept {
    const auto r = std::lower_bound(ranges_.begin(), ranges_.end(), id,
                                    [](const auto& range, std::uint32_t wanted) { return range.second < wanted; });
    return r != ranges_.end() && r->first <= id;
}

std::size_t id_set::size() const noexcept {
    std::size_t total = 0;
    for (const auto& [first, last] : ranges_) total += std::size_t{last} - first + 1;
    return total;
}

std::uint32_t id_set::first() const noexcept { return ranges_.front().first; }
std::uint32_t id_set::last() const noexcept { return ranges_.back().second; }

std::size_t id_set::overlap(const id_set& other) const noexcept {
    std::size_t total = 0;
    auto a = ranges_.begin();
    auto b = other.ranges_.begin();
    while (a != ranges_.end() && b != other.ranges_.end()) {
        const std::uint32_t low = std::max(a->first, b->first);
        const std::uint32_t high = std::min(a->second, b->second);
        if (low <= high) total += std::size_t{high} - low + 1;
        if (a->second < b->second)
            ++a;
        else
            ++b;
    }
    return total;
}

std::string id_set::text() const {
    std::string out;
    for (const auto& [first, last] : ranges_) {
        if (!out.empty()) out += ',';
        out += std::to_string(first);
        if (last != first) out += '-' + std::to_string(last);
    }
    return out;
}

std::vector<std::uint32_t> id_set::ids() const {
    std::vector<std::uint32_t> out;
    out.reserve(size());
    for (const auto& [first, last] : ranges_)
        for (std::uint32_t id = first;; ++id) {
            out.push_back(id);
            if (id == last) break;
        }
    return out;
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include "topo/hostlist.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>

#include "topo/quote.hpp"

namespace topo {
namespace {

error bad(std::size_t column, std::string what) {
    return {errc::bad_input, "column " + std::to_string(column + 1), std::move(what),
            "write host lists as g[0001-1024],login1"};
}

constexpr std::size_t longest_name = 255;  // what a host name may be long; also bounds the memory of a list

error too_many() {
    return {errc::limit, "", "the list names more than " + std::to_string(max_hosts) + " hosts", "check the ranges"};
}

struct range {
    std::uint64_t first = 0;
    std::uint64_t last = 0;
    std::size_t width = 0;
};

bool digits_only(std::string_view s) {
    return !s.empty() && s.size() <= 18 && s.find_first_not_of("0123456789") == std::string_view::npos;
}

std::uint64_t number(std::string_view s) {
    std::uint64_t value = 0;
    std::from_chars(s.data(), s.data() + s.size(), value);
    return value;
}

std::string padded(std::uint64_t value, std::size_t width) {
    std::string digits = std::to_string(value);
    if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
    return digits;
}

result<std::vector<range>> read_ranges(std::string_view body, std::size_t column) {
    std::vector<range> ranges;
    while (true) {
        const std::size_t comma = body.find(',');
        const std::string_view item = body.substr(0, comma);
        const std::size_t dash = item.find('-');
        const std::string_view low = item.substr(0, dash);
        const std::string_view high = dash == std::string_view::npos ? low : item.substr(dash + 1);
        if (!digits_only(low) || !digits_only(high)) return bad(column, "'" + shown(item) + "' is not a number range");
        const range r{number(low), number(high), low.size()};
        if (r.last < r.first) return bad(column, "range '" + shown(item) + "' runs backwards");
        ranges.push_back(r);
        if (comma == std::string_view::npos) return ranges;
        column += comma + 1;
        body.remove_prefix(comma + 1);
    }
}

// Appends to `names` every expansion of one item without top-level commas.
result<done> expand_item(std::string_view item, std::size_t column, std::vector<std::string>& names) {
    std::vector<std::string> heads{""};
    std::size_t at = 0;
    while (at < item.size()) {
        const std::size_t open = item.find('[', at);
        const std::string_view plain = item.substr(at, open == std::string_view::npos ? open : open - at);
        if (heads.front().size() + plain.size() > longest_name)
            return bad(column + at, "a host name is longer than " + std::to_string(longest_name) + " characters");
        for (auto& head : heads) head += plain;
        if (open == std::string_view::npos) break;
        const std::size_t close = item.find(']', open);
        if (close == std::string_view::npos) return bad(column + open, "'[' is never closed");
        auto ranges = read_ranges(item.substr(open + 1, close - open - 1), column + open + 1);
        if (!ranges) return ranges.failure();
        std::uint64_t each = 0;
        for (const auto& r : *ranges) {
            if (r.last - r.first >= max_hosts) return too_many();
            each += r.last - r.first + 1;
            if (each * heads.size() + names.size() > max_hosts) return too_many();
        }
        std::vector<std::string> longer;
        longer.reserve(heads.size() * each);
        for (const auto& head : heads)
            for (const auto& r : *ranges)
                for (std::uint64_t n = r.first; n <= r.last; ++n) longer.push_back(head + padded(n, r.width));
        heads = std::move(longer);
        at = close + 1;
    }
    if (names.size() + heads.size() > max_hosts) return too_many();
    std::move(heads.begin(), heads.end(), std::back_inserter(names));
    return done{};
}

struct split_name {
    std::string_view head;
    std::string_view digits;
};

// Whether two numbers may stand in one bracket, and in one range: of one width, or both without leading zeros.
bool alike(std::string_view a, std::string_view b) {
    const auto plain = [](std::string_view digits) { return digits.size() == 1 || digits.front() != '0'; };
    return !b.empty() && !a.empty() && (a.size() == b.size() || (plain(a) && plain(b)));
}

split_name split(std::string_view name) {
    std::size_t at = name.size();
    while (at > 0 && name[at - 1] >= '0' && name[at - 1] <= '9' && name.size() - at < 18) --at;
    return {name.substr(0, at), name.substr(at)};
}

}  // namespace

result<std::vector<std::string>> expand_hostlist(std::string_view text) {
    std::vector<std::string> names;
    std::size_t start = 0;
    int depth = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        const char c = i < text.size() ? text[i] : ',';
        if (c == '[' && ++depth > 1) return bad(i, "'[' inside brackets");
        if (c == ']' && --depth < 0) return bad(i, "']' without '['");
        if (c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0')
            return bad(i, "blank or control character in a host list");
        if (c != ',' || (depth > 0 && i < text.size())) continue;
        const std::string_view item = text.substr(start, i - start);
        if (item.empty()) return bad(start, "empty item in a host list");
        if (auto added = expand_item(item, start, names); !added) return added.failure();
        start = i + 1;
    }
    return names;
}

std::string compress_hostlist(std::span<const std::string> names) {
    std::string out;
    std::size_t i = 0;
    while (i < names.size()) {
        const split_name lead = split(names[i]);
        if (!out.empty()) out += ',';
        if (lead.digits.empty()) {
            out += names[i++];
            continue;
        }
        // One bracket holds the run of names with this head whose numbers have one width or no leading zeros.
        std::string body;
        const std::size_t begin = i;
        while (i < names.size()) {
            const split_name first = split(names[i]);
            if (first.head != lead.head || !alike(first.digits, lead.digits)) break;
            std::uint64_t last = number(first.digits);
            std::size_t end = i + 1;
            while (end < names.size()) {
                const split_name next = split(names[end]);
                if (next.head != lead.head || !alike(next.digits, first.digits) || number(next.digits) != last + 1)
                    break;
                ++last;
                ++end;
            }
            if (i > begin) body += ',';
            body += first.digits;
            if (end - i > 1) body += '-' + padded(last, first.digits.size());
            i = end;
        }
        if (i - begin == 1)
            out += names[begin];
        else
            out.append(lead.head).append("[").append(body).append("]");
    }
    return out;
}

std::string hostlist_fault(std::string_view list, const error& why) {
    return "'" + shown(list) + "'" + (why.where.empty() ? "" : ", " + why.where) + ": " + why.what;
}

}  // namespace topo

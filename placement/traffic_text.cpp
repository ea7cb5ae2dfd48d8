// SPDX-License-Identifier: Apache-2.0
#include "placement/traffic_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <vector>

#include "topo/quote.hpp"

namespace placement {
namespace {

topo::error bad(std::string_view where, std::size_t line, std::string what, std::string remedy) {
    return {topo::errc::bad_input, fmt::format("{}:{}", where, line), std::move(what), std::move(remedy)};
}

std::string_view trimmed(std::string_view s) noexcept {
    const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
    while (!s.empty() && blank(s.front())) s.remove_prefix(1);
    while (!s.empty() && blank(s.back())) s.remove_suffix(1);
    return s;
}

// A fault of the matrix as a whole, with the file that it came from.
topo::result<traffic_matrix> from_file(topo::result<traffic_matrix> made, std::string_view where) {
    if (made) return made;
    topo::error why = made.failure();
    why.where = why.where.empty() ? std::string(where) : fmt::format("{}: {}", where, why.where);
    return why;
}

class lines {
public:
    explicit lines(std::string_view text) : rest_(text) {}
    // The next line that holds something and is no comment.
    std::optional<std::string_view> next(char comment) {
        while (!rest_.empty()) {
            const std::size_t end = rest_.find('\n');
            const std::string_view line = trimmed(rest_.substr(0, end));
            rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
            ++number_;
            if (!line.empty() && line.front() != comment) return line;
        }
        return std::nullopt;
    }
    [[nodiscard]] std::size_t number() const noexcept { return number_; }

private:
    std::string_view rest_;
    std::size_t number_ = 0;
};

// The next field before `by` (a run of blanks when it is a blank); the rest stays in `line`.
std::string_view field(std::string_view& line, char by) noexcept {
    line = trimmed(line);
    std::size_t end = line.find(by);
    if (by == ' ') end = line.find_first_of(" \t");
    const std::string_view out = trimmed(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end + 1);
    return out;
}

template <class Number>
std::optional<Number> number_of(std::string_view s) noexcept {
    Number out{};
    const auto [end, fault] = std::from_chars(s.data(), s.data() + s.size(), out);
    if (fault != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return out;
}

topo::error not_a(std::string_view where, std::size_t line, std::string_view what, std::string_view text) {
    return bad(where, line, fmt::format("'{}' is not {}", topo::shown(text), what), "correct the line");
}

topo::result<traffic_matrix> parse_triples(lines& from, std::string_view where, char by, std::uint32_t base,
                                           std::optional<std::uint32_t> ranks, std::optional<std::size_t> entries) {
    std::vector<traffic_entry> all;
    std::uint32_t highest = 0;
    const char comment = base == 1 ? '%' : '#';
    while (const auto found = from.next(comment)) {
        std::string_view line = *found;
        std::uint32_t ids[2];
        for (auto& id : ids) {
            const std::string_view text = field(line, by);
            const auto n = number_of<std::uint32_t>(text);
            if (!n || *n < base || *n - base >= traffic_matrix::max_ranks)
                return not_a(where, from.number(),
                             fmt::format("a rank from {} to {}", base, traffic_matrix::max_ranks - 1 + base), text);
            id = *n - base;
            if (ranks && id >= *ranks)
                return bad(where, from.number(),
                           fmt::format("rank {} is beyond the {} ranks of the size line", *n, *ranks),
                           "correct the entry or the size");
            highest = std::max(highest, id);
        }
        const auto bytes = number_of<double>(trimmed(line));
        if (!bytes) return not_a(where, from.number(), "a number of bytes", trimmed(line));
        if (all.size() == traffic_matrix::max_entries)
            return topo::error{topo::errc::limit, fmt::format("{}:{}", where, from.number()),
                               fmt::format("more than {} entries", traffic_matrix::max_entries),
                               "leave the smallest out"};
        all.push_back({ids[0], ids[1], *bytes});
    }
    if (entries && all.size() != *entries)
        return bad(where, from.number(), fmt::format("{} entries where the size line says {}", all.size(), *entries),
                   "the file may be cut off: copy it again");
    if (all.empty() && !ranks)
        return bad(where, from.number(), "no entries", "write from,to,bytes lines below the header");
    return from_file(traffic_matrix::from_entries(ranks ? *ranks : highest + 1, std::move(all)), where);
}

topo::result<traffic_matrix> parse_market(std::string_view header, lines& from, std::string_view where) {
    std::string_view words = header;
    std::string kind;
    while (!words.empty()) kind += (kind.empty() ? "" : " ") + std::string(field(words, ' '));
    std::transform(kind.begin(), kind.end(), kind.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    if (kind != "%%matrixmarket matrix coordinate real general" &&
        kind != "%%matrixmarket matrix coordinate integer general")
        return bad(where, from.number(), fmt::format("'{}' is not read", topo::shown(header)),
                   "write it as 'matrix coordinate real general'");
    const auto size = from.next('%');
    if (!size) return bad(where, from.number(), "no size line", "write: rows columns entries");
    std::string_view line = *size;
    const auto rows = number_of<std::uint32_t>(field(line, ' '));
    const auto columns = number_of<std::uint32_t>(field(line, ' '));
    const auto entries = number_of<std::size_t>(trimmed(line));
    if (!rows || !columns || !entries) return not_a(where, from.number(), "a size line", *size);
    if (*rows != *columns)
        return bad(where, from.number(), fmt::format("{} rows and {} columns", *rows, *columns),
                   "a traffic matrix has one row and one column a rank");
    return parse_triples(from, where, ' ', 1, *rows, *entries);
}

topo::result<traffic_matrix> parse_square(std::string_view first, lines& from, std::string_view where) {
    std::vector<traffic_entry> all;
    const auto columns = static_cast<std::size_t>(std::count(first.begin(), first.end(), ',')) + 1;
    if (columns > 8192)
        return topo::error{topo::errc::limit, fmt::format("{}:{}", where, from.number()),
                           fmt::format("{} columns", columns),
                           "write larger matrices as from,to,bytes or MatrixMarket"};
    std::uint32_t row = 0;
    for (std::optional<std::string_view> found = first; found; found = from.next('#'), ++row) {
        std::string_view line = *found;
        if (row == columns)
            return bad(where, from.number(), fmt::format("more than {} rows of {} columns", row, columns),
                       "a traffic matrix is square");
        for (std::uint32_t c = 0; c < columns; ++c) {
            const bool last = c + 1 == columns;
            if (line.find(',') == std::string_view::npos && !last)
                return bad(where, from.number(), fmt::format("{} columns where the first row has {}", c + 1, columns),
                           "give every row as many");
            const std::string_view text = last ? trimmed(line) : field(line, ',');
            const auto bytes = number_of<double>(text);
            if (!bytes) return not_a(where, from.number(), "a number of bytes", text);
            if (*bytes != 0) all.push_back({row, c, *bytes});
        }
    }
    if (row != columns)
        return bad(where, from.number(), fmt::format("{} rows and {} columns", row, columns),
                   "a traffic matrix is square");
    return from_file(traffic_matrix::from_entries(row, std::move(all)), where);
}

}  // namespace

topo::result<traffic_matrix> parse_traffic(std::string_view text, std::string_view where) {
    if (text.size() > max_traffic_text)
        return topo::error{topo::errc::limit, std::string(where), fmt::format("larger than {} bytes", max_traffic_text),
                           "leave the smallest entries out"};
    if (text.find('\0') != std::string_view::npos)
        return topo::error{topo::errc::bad_input, std::string(where), "a binary file",
                           "name a CSV or MatrixMarket file"};
    lines from(text);
    const auto first = from.next('#');
    if (!first)
        return topo::error{topo::errc::bad_input, std::string(where), "nothing in it",
                           "name a CSV or MatrixMarket file"};
    if (first->substr(0, 2) == "%%") return parse_market(*first, from, where);
    std::string_view line = *first;
    if (field(line, ',') == "from" && field(line, ',') == "to" && trimmed(line) == "bytes")
        return parse_triples(from, where, ',', 0, std::nullopt, std::nullopt);
    return parse_square(*first, from, where);
}

}  // namespace placement

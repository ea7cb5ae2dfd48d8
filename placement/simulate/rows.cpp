// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/rows.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "topo/quote.hpp"

namespace placement::simulate {
namespace {

char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same_name(std::string_view a, std::string_view b) noexcept {
    return a.size() == b.size() &&
           std::equal(a.begin(), a.end(), b.begin(), [](char x, char y) { return lower(x) == lower(y); });
}

bool binary(std::string_view line) noexcept {
    return std::any_of(line.begin(), line.end(), [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return (u < 0x20 && c != '\t') || u == 0x7f;
    });
}

// Digits only, `least` to `most` of them.
std::optional<int> digits(std::string_view text, std::size_t least, std::size_t most) noexcept {
    if (text.size() < least || text.size() > most) return std::nullopt;
    int n = 0;
    for (const char c : text) {
        if (c < '0' || c > '9') return std::nullopt;
        n = n * 10 + (c - '0');
    }
    return n;
}

// Days from 1970-01-01 (Hinnant, "chrono-compatible low-level date algorithms").
double days_from_civil(int y, int m, int d) noexcept {
    y -= m <= 2 ? 1 : 0;
    const int era = y / 400;
    const int of_era = y - era * 400;
    const int of_year = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097.0 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719468;
}

int days_in(int year, int month) noexcept {
    static constexpr int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    const bool leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    return days[month - 1] + (month == 2 && leap ? 1 : 0);
}

// "55" or "55.25".
std::optional<double> seconds_field(std::string_view text) noexcept {
    const std::size_t dot = text.find('.');
    const auto whole = digits(text.substr(0, dot), 2, 2);
    if (!whole || *whole > 60) return std::nullopt;
    if (dot == std::string_view::npos) return *whole;
    const std::string_view fraction = text.substr(dot + 1);
    const auto part = digits(fraction, 1, 9);
    if (!part) return std::nullopt;
    return *whole + *part / std::pow(10.0, static_cast<double>(fraction.size()));
}

}  // namespace

std::string_view trimmed(std::string_view text) noexcept {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
    return text;
}

std::optional<double> seconds_of(std::string_view text) noexcept {
    double value = 0;
    const char* end = text.data() + text.size();
    const auto [stop, failed] = std::from_chars(text.data(), end, value);
    if (text.empty() || failed != std::errc{} || stop != end || !std::isfinite(value) || std::abs(value) > max_seconds)
        return std::nullopt;
    return value;
}

std::optional<std::uint32_t> count_of(std::string_view text, std::uint32_t most) noexcept {
    const auto value = seconds_of(text);
    if (!value || *value < 0 || *value > most || *value != std::floor(*value)) return std::nullopt;
    return static_cast<std::uint32_t>(*value);
}

std::optional<double> date_time(std::string_view text) noexcept {
    if (text.size() < 19 || text[4] != '-' || text[7] != '-' || (text[10] != ' ' && text[10] != 'T') ||
        text[13] != ':' || text[16] != ':')
        return std::nullopt;
    const auto year = digits(text.substr(0, 4), 4, 4);
    const auto month = digits(text.substr(5, 2), 2, 2);
    const auto day = digits(text.substr(8, 2), 2, 2);
    const auto hour = digits(text.substr(11, 2), 2, 2);
    const auto minute = digits(text.substr(14, 2), 2, 2);
    const auto second = seconds_field(text.substr(17));
    if (!year || !month || !day || !hour || !minute || !second) return std::nullopt;
    if (*month < 1 || *month > 12 || *day < 1 || *day > days_in(*year, *month) || *hour > 23 || *minute > 59)
        return std::nullopt;
    return days_from_civil(*year, *month, *day) * 86400 + *hour * 3600.0 + *minute * 60.0 + *second;
}

std::optional<double> elapsed(std::string_view text) noexcept {
    double days = 0;
    if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
        const auto d = digits(text.substr(0, dash), 1, 6);
        if (!d) return std::nullopt;
        days = *d;
        text.remove_prefix(dash + 1);
    }
    const std::size_t last = text.rfind(':');
    if (last == std::string_view::npos) return std::nullopt;
    const auto second = seconds_field(text.substr(last + 1));
    const std::string_view front = text.substr(0, last);
    const std::size_t colon = front.find(':');
    const auto hours = colon == std::string_view::npos ? std::optional<int>(0) : digits(front.substr(0, colon), 1, 6);
    const auto minutes = digits(colon == std::string_view::npos ? front : front.substr(colon + 1), 1, 2);
    if (!second || !hours || !minutes || *minutes > 59) return std::nullopt;
    return days * 86400 + *hours * 3600.0 + *minutes * 60.0 + *second;
}

topo::result<row_reader> row_reader::open(std::string_view text, char separator, const std::string& place) {
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    row_reader r(text, separator, place);
    std::string_view line;
    if (auto wrong = r.take_line(line)) return *wrong;
    if (trimmed(line).empty())
        return r.fault("the first line is empty, so no column has a name",
                       "give the trace with its header line, the names of the columns");
    if (!r.split(line)) return r.fault("the first line names too many columns", "leave out the columns not needed");
    r.names_ = r.fields_;
    for (std::size_t a = 0; a < r.names_.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (!r.names_[a].empty() && same_name(r.names_[a], r.names_[b]))
                return r.fault("the column '" + topo::shown(r.names_[a]) + "' is there twice",
                               "leave one of the two out");
    return r;
}

std::optional<std::size_t> row_reader::column(std::string_view name) const noexcept {
    for (std::size_t i = 0; i < names_.size(); ++i)
        if (same_name(names_[i], name)) return i;
    return std::nullopt;
}

topo::result<std::size_t> row_reader::need(std::string_view name) const {
    if (const auto at = column(name)) return *at;
    std::string there;
    for (const auto n : names_) {
        if (there.size() > 300) {
            there += ", …";
            break;
        }
        there += (there.empty() ? "" : ", ") + topo::shown(n);
    }
    return fault("there is no column '" + std::string(name) + "'; there are: " + there,
                 "name the column so in the first line, or add it");
}

topo::result<bool> row_reader::next() {
    std::string_view line;
    do {
        if (rest_.empty()) return false;
        if (auto wrong = take_line(line)) return *wrong;
    } while (trimmed(line).empty());
    if (!split(line) || fields_.size() != names_.size())
        return fault("this row has " + std::to_string(fields_.size()) + " fields where the first line has " +
                         std::to_string(names_.size()),
                     "put the row right, or take it out");
    return true;
}

std::optional<topo::error> row_reader::take_line(std::string_view& line) {
    const std::size_t end = std::min(rest_.find('\n'), rest_.size());
    line = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    ++line_;
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.size() > max_row_bytes)
        return fault("the line is longer than " + std::to_string(max_row_bytes) + " bytes",
                     "give a trace with one job a line", topo::errc::limit);
    if (binary(line)) return fault("the line holds control characters", "give a trace in plain text, one job a line");
    return std::nullopt;
}

// A quoted field keeps its separators and loses its quotes; a doubled quote inside stays doubled: no field that is read
// has one.
bool row_reader::split(std::string_view line) {
    fields_.clear();
    for (std::size_t at = 0;;) {
        std::size_t end = 0;
        std::string_view field;
        if (at < line.size() && line[at] == '"') {
            std::size_t close = line.find('"', at + 1);
            while (close != std::string_view::npos && close + 1 < line.size() && line[close + 1] == '"')
                close = line.find('"', close + 2);
            if (close == std::string_view::npos) close = line.size();
            field = line.substr(at + 1, close - at - 1);
            end = std::min(line.find(separator_, std::min(close + 1, line.size())), line.size());
        } else {
            end = std::min(line.find(separator_, at), line.size());
            field = line.substr(at, end - at);
        }
        if (fields_.size() == max_columns) return false;
        fields_.push_back(trimmed(field));
        if (end == line.size()) return true;
        at = end + 1;
    }
}

topo::error row_reader::fault(std::string what, std::string remedy, topo::errc code) const {
    return {code, place_ + ":" + std::to_string(line_), std::move(what), std::move(remedy)};
}

topo::error row_reader::field_fault(std::size_t column, std::string_view is_not, std::string remedy) const {
    return fault(topo::shown(names_[column]) + " '" + topo::shown(fields_[column]) + "' is not " + std::string(is_not),
                 std::move(remedy));
}

trace finish(trace t) {
    std::stable_sort(t.jobs.begin(), t.jobs.end(), [](const job& a, const job& b) { return a.submit_s < b.submit_s; });
    if (!t.jobs.empty()) {
        const double first = t.jobs.front().submit_s;
        for (auto& j : t.jobs) j.submit_s -= first;
    }
    return t;
}

}  // namespace placement::simulate

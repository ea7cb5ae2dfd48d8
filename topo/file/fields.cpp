// SPDX-License-Identifier: Apache-2.0
#include "topo/file/fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <set>

#include "topo/file.hpp"
#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo::file {
namespace {

std::string_view kind_word(const value& v) {
    switch (v.is) {
        case kind::null: return "nothing";
        case kind::sequence: return "a list";
        case kind::map: return "a map";
        case kind::boolean: return "true or false";
        case kind::number: return "a number";
        default: return "text";
    }
}

void wrong(const value& v, std::string_view title, std::string_view wanted, faults& out) {
    const std::string got = v.scalar() ? fmt::format("'{}'", shown(v.text)) : std::string(kind_word(v));
    out.report(v.line, fmt::format("{} is {}, not {}", title, got, wanted), fmt::format("write {}", wanted));
}

std::optional<std::int64_t> whole(std::string_view s) {
    std::int64_t n = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), n);
    if (failed != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return n;
}

// "2026-11-30T09:00:00Z"
std::optional<std::int64_t> iso_time(std::string_view s) {
    if (s.size() != 20 || s[4] != '-' || s[7] != '-' || s[10] != 'T' || s[13] != ':' || s[16] != ':' || s[19] != 'Z')
        return std::nullopt;
    std::int64_t part[6];
    constexpr std::pair<int, int> spans[6] = {{0, 4}, {5, 2}, {8, 2}, {11, 2}, {14, 2}, {17, 2}};
    for (std::size_t i = 0; i < 6; ++i) {
        const auto n =
            whole(s.substr(static_cast<std::size_t>(spans[i].first), static_cast<std::size_t>(spans[i].second)));
        if (!n || *n < 0) return std::nullopt;
        part[i] = *n;
    }
    using namespace std::chrono;
    const year_month_day day{year{static_cast<int>(part[0])}, month{static_cast<unsigned>(part[1])},
                             std::chrono::day{static_cast<unsigned>(part[2])}};
    if (part[0] < 1970 || !day.ok() || part[3] > 23 || part[4] > 59 || part[5] > 59) return std::nullopt;
    return sys_days{day}.time_since_epoch().count() * 86400 + part[3] * 3600 + part[4] * 60 + part[5];
}

}  // namespace

void faults::report(std::uint32_t line, std::string what, std::string remedy, errc code) {
    if (!first_) first_ = error{code, place(line), std::move(what), std::move(remedy)};
}

std::string faults::place(std::uint32_t line) const { return line == 0 ? file_ : fmt::format("{}:{}", file_, line); }

std::string as_text(const value& v, std::string_view title, faults& out) {
    if (v.is == kind::plain || v.is == kind::text) return v.text;
    wrong(v, title, "text", out);
    return {};
}

double as_number(const value& v, std::string_view title, faults& out) {
    double n = 0;
    if (v.is == kind::plain || v.is == kind::number) {
        const char* first = v.text.data();
        const char* last = first + v.text.size();
        const auto [end, failed] = std::from_chars(first, last, n);
        if (failed == std::errc{} && end == last && std::isfinite(n)) return n;
    }
    wrong(v, title, "a finite number without a unit", out);
    return 0;
}

std::int64_t as_integer(const value& v, std::string_view title, std::int64_t least, std::int64_t most, faults& out) {
    std::int64_t n = 0;
    if (v.is == kind::plain || v.is == kind::number) {
        const char* first = v.text.data();
        const char* last = first + v.text.size();
        const auto [end, failed] = std::from_chars(first, last, n);
        if (failed == std::errc{} && end == last && n >= least && n <= most) return n;
    }
    wrong(v, title, fmt::format("a whole number from {} to {}", least, most), out);
    return least > 0 ? least : 0;
}

bool as_boolean(const value& v, std::string_view title, faults& out) {
    if ((v.is == kind::plain || v.is == kind::boolean) && (v.text == "true" || v.text == "false"))
        return v.text == "true";
    wrong(v, title, "true or false", out);
    return false;
}

std::int64_t as_time(const value& v, std::string_view title, faults& out) {
    if (v.scalar()) {
        if (const auto t = iso_time(v.text)) return *t;
        if (v.is != kind::text && !v.text.empty())
            if (const auto t = whole(v.text)) return *t;
    }
    wrong(v, title, "a time such as 2026-11-30T09:00:00Z", out);
    return 0;
}

value of_time(std::int64_t seconds) {
    using namespace std::chrono;
    constexpr std::int64_t year_10000 = 253402300800;
    if (seconds < 0 || seconds >= year_10000) return of_integer(seconds);
    const year_month_day day{sys_days{days{seconds / 86400}}};
    const std::int64_t s = seconds % 86400;
    return of_text(fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(day.year()),
                               static_cast<unsigned>(day.month()), static_cast<unsigned>(day.day()), s / 3600,
                               s / 60 % 60, s % 60));
}

id_set as_ids(const value& v, std::string_view title, faults& out) {
    std::string list;
    const auto add = [&](const value& item) {
        if (!item.scalar() || item.is == kind::boolean || (v.is == kind::sequence && item.text.empty()))
            return wrong(item, title, "a list of numbers such as 0-3,8", out);
        if (!list.empty()) list += ',';
        list += item.text;
    };
    if (v.is != kind::sequence)
        add(v);
    else
        for (const auto& item : v.items) add(item);
    auto set = id_set::parse(list);
    if (set) return *std::move(set);
    out.report(v.line, fmt::format("{}: {}", title, set.failure().what), set.failure().remedy);
    return {};
}

std::vector<std::string> as_hosts(const value& v, std::string_view title, faults& out) {
    std::vector<std::string> hosts;
    const auto one = [&](const value& item) {
        const std::string list = as_text(item, title, out);
        if (list.empty()) return;
        auto names = expand_hostlist(list);
        if (!names)
            return out.report(item.line, fmt::format("{}: {}", title, hostlist_fault(list, names.failure())),
                              names.failure().remedy, names.failure().code);
        if (hosts.size() + names->size() > max_hosts)
            return out.report(item.line, fmt::format("{}: more than {} hosts", title, max_hosts), "check the ranges",
                              errc::limit);
        std::move(names->begin(), names->end(), std::back_inserter(hosts));
    };
    if (v.is != kind::sequence)
        one(v);
    else
        for (const auto& item : v.items) one(item);
    return hosts;
}

const std::vector<value>& as_items(const value& v, std::string_view title, faults& out) {
    static const std::vector<value> nothing;
    if (v.is == kind::sequence) return v.items;
    wrong(v, title, "a list", out);
    return nothing;
}

fields::fields(const value& map, std::string title, faults& out) : map_(map), title_(std::move(title)), out_(out) {
    if (map.is != kind::map) wrong(map, title_, "a map of keys", out);
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < map.keys.size(); ++i)
        if (!seen.insert(map.keys[i]).second)
            out.report(map.items[i].line, fmt::format("key '{}' stands twice in {}", shown(map.keys[i]), title_),
                       "keep one of them");
}

const value* fields::find(std::string_view key) {
    known_.push_back(key);
    for (std::size_t i = 0; i < map_.keys.size(); ++i)
        if (map_.keys[i] == key) return &map_.items[i];
    return nullptr;
}

const value* fields::need(std::string_view key) {
    const value* found = find(key);
    if (found == nullptr && map_.is == kind::map)
        out_.report(map_.line, fmt::format("{} has no '{}'", title_, key), fmt::format("add '{}: …'", key));
    return found;
}

void fields::finish() {
    for (std::size_t i = 0; i < map_.keys.size(); ++i) {
        if (std::find(known_.begin(), known_.end(), map_.keys[i]) != known_.end()) continue;
        std::string all;
        for (const auto& k : known_) all += (all.empty() ? "" : ", ") + std::string(k);
        return out_.report(map_.items[i].line, fmt::format("unknown key '{}' in {}", shown(map_.keys[i]), title_),
                           fmt::format("known keys are {}", all));
    }
}

std::string fields::title_of(std::string_view key) const { return fmt::format("{} of {}", key, title_); }

void fields::read(std::string_view key, std::string& into) {
    if (const value* v = find(key)) into = as_text(*v, title_of(key), out_);
}
void fields::read(std::string_view key, double& into) {
    if (const value* v = find(key)) into = as_number(*v, title_of(key), out_);
}
void fields::read(std::string_view key, bool& into) {
    if (const value* v = find(key)) into = as_boolean(*v, title_of(key), out_);
}
void fields::read(std::string_view key, id_set& into) {
    if (const value* v = find(key)) into = as_ids(*v, title_of(key), out_);
}
void fields::read(std::string_view key, int& into, int least, int most) {
    if (const value* v = find(key)) into = static_cast<int>(as_integer(*v, title_of(key), least, most, out_));
}
void fields::read_time(std::string_view key, std::int64_t& into) {
    if (const value* v = find(key)) into = as_time(*v, title_of(key), out_);
}

void read_header(fields& top, std::string_view wanted, faults& out) {
    if (const value* v = top.need("apiVersion")) {
        const std::string version = as_text(*v, "apiVersion", out);
        if (version != api_version) {
            const bool ours = version.starts_with("atoll/v");
            out.report(
                v->line, fmt::format("the file is written for '{}', this Atoll reads {}", shown(version), api_version),
                ours ? fmt::format("use an Atoll that knows {}, or write the file again with this one", shown(version))
                     : fmt::format("write apiVersion: {}", api_version),
                ours ? errc::unsupported_version : errc::bad_input);
        }
    }
    if (const value* v = top.need("kind")) {
        const std::string found = as_text(*v, "kind", out);
        if (found != wanted)
            out.report(v->line, fmt::format("the file is of kind '{}', not {}", shown(found), wanted),
                       fmt::format("give a file of kind {}", wanted));
    }
}

}  // namespace topo::file

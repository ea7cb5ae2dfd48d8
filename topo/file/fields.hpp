// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: takes a document tree apart. The first fault is kept with its place, later ones are
// dropped, and reading goes on with defaults: callers look once, at the end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/file/value.hpp"
#include "topo/id_set.hpp"
#include "topo/result.hpp"

namespace topo::file {

class faults {
public:
    explicit faults(std::string file) : file_(std::move(file)) {}
    void report(std::uint32_t line, std::string what, std::string remedy, errc code = errc::bad_input);
    [[nodiscard]] std::string place(std::uint32_t line) const;
    [[nodiscard]] bool any() const noexcept { return first_.has_value(); }
    [[nodiscard]] const error& first() const noexcept { return *first_; }

private:
    std::string file_;
    std::optional<error> first_;
};

// One scalar as a typed value; `title` names it in messages ("cores of class a"). A fault gives the default.
[[nodiscard]] std::string as_text(const value& v, std::string_view title, faults& out);
[[nodiscard]] double as_number(const value& v, std::string_view title, faults& out);
[[nodiscard]] std::int64_t as_integer(const value& v, std::string_view title, std::int64_t least, std::int64_t most,
                                      faults& out);
[[nodiscard]] bool as_boolean(const value& v, std::string_view title, faults& out);
[[nodiscard]] std::int64_t as_time(const value& v, std::string_view title, faults& out);  // ISO 8601 UTC or seconds
[[nodiscard]] id_set as_ids(const value& v, std::string_view title, faults& out);         // "0-3,8" or [0, 1, "2-3"]
// A host list, or a sequence of them.
[[nodiscard]] std::vector<std::string> as_hosts(const value& v, std::string_view title, faults& out);
// The items of a sequence; anything else is a fault and gives an empty list.
[[nodiscard]] const std::vector<value>& as_items(const value& v, std::string_view title, faults& out);

[[nodiscard]] value of_time(std::int64_t seconds);  // what as_time reads; the bare number outside years 1970 … 9999

// The keys of one map. Every key that the caller asks for is known; finish() refuses the others.
class fields {
public:
    // Refuses anything but a map, and a key that stands twice.
    fields(const value& map, std::string title, faults& out);

    [[nodiscard]] const value* find(std::string_view key);  // nullptr when absent
    [[nodiscard]] const value* need(std::string_view key);  // absent: a fault
    void finish();
    [[nodiscard]] std::uint32_t line() const noexcept { return map_.line; }

    // Leave `into` alone when the key is absent.
    void read(std::string_view key, std::string& into);
    void read(std::string_view key, double& into);
    void read(std::string_view key, bool& into);
    void read(std::string_view key, id_set& into);
    void read(std::string_view key, int& into, int least, int most);
    void read_time(std::string_view key, std::int64_t& into);
    [[nodiscard]] std::string title_of(std::string_view key) const;

private:
    const value& map_;
    std::string title_;
    faults& out_;
    std::vector<std::string_view> known_;
};

// Checks apiVersion and kind, the first things every file of ours says.
void read_header(fields& top, std::string_view kind, faults& out);

}  // namespace topo::file

// SPDX-License-Identifier: Apache-2.0
// Lines, fields, numbers and times of trace files. Internal to placement/simulate/.
#pragma once

#include <cstddef>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/simulate/trace.hpp"
#include "topo/result.hpp"

namespace placement::simulate {

inline constexpr std::size_t max_row_bytes = 65'536;
inline constexpr std::size_t max_columns = 1'000;

// The rows of a text whose first line names the columns. Fields are views into the text.
class row_reader {
public:
    // Fails when there is no first line or it names a column twice.
    [[nodiscard]] static topo::result<row_reader> open(std::string_view text, char separator, const std::string& place);

    // Column of that name, letter case ignored; empty when there is none.
    [[nodiscard]] std::optional<std::size_t> column(std::string_view name) const noexcept;
    // The same, with an error that names it, and the columns there are.
    [[nodiscard]] topo::result<std::size_t> need(std::string_view name) const;

    // The next row that is not empty; false at the end, an error for a row that is too long, holds a control character
    // or has not as many fields as the first line.
    [[nodiscard]] topo::result<bool> next();
    [[nodiscard]] std::string_view field(std::size_t column) const noexcept { return fields_[column]; }

    [[nodiscard]] topo::error fault(std::string what, std::string remedy,
                                    topo::errc code = topo::errc::bad_input) const;
    // "NAME 'text' is not …".
    [[nodiscard]] topo::error field_fault(std::size_t column, std::string_view is_not, std::string remedy) const;

private:
    row_reader(std::string_view text, char separator, std::string place)
        : rest_(text), separator_(separator), place_(std::move(place)) {}
    [[nodiscard]] std::optional<topo::error> take_line(std::string_view& line);
    [[nodiscard]] bool split(std::string_view line);

    std::string_view rest_;
    char separator_;
    std::string place_;
    std::size_t line_ = 0;
    std::vector<std::string_view> names_;
    std::vector<std::string_view> fields_;
};

[[nodiscard]] std::string_view trimmed(std::string_view text) noexcept;
// The whole text as a finite decimal number within ±max_seconds; as a whole number ≤ most ("3" and "3.0").
[[nodiscard]] std::optional<double> seconds_of(std::string_view text) noexcept;
[[nodiscard]] std::optional<std::uint32_t> count_of(std::string_view text, std::uint32_t most) noexcept;
// "2017-10-09 07:01:55", 'T' between, a fraction allowed: seconds since 1970, no time zone applied.
[[nodiscard]] std::optional<double> date_time(std::string_view text) noexcept;
// [DD-[HH:]]MM:SS[.fff]
[[nodiscard]] std::optional<double> elapsed(std::string_view text) noexcept;

// Jobs as they stand in the file, with absolute times: sorted and shifted so that the first is at 0.
[[nodiscard]] trace finish(trace t);

}  // namespace placement::simulate

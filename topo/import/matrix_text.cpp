// SPDX-License-Identifier: Apache-2.0
#include "topo/import/matrix_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "topo/counted.hpp"
#include "topo/import/node_marks.hpp"
#include "topo/link_table.hpp"

namespace topo {
namespace {

using text::at;
using text::bad;
using text::shown;

// More than PCIe 5.0 x16 carries in one direction.
constexpr double above_pcie_gb_per_s = 63;
constexpr std::size_t listed_outliers = 8;

bool only_blanks_after(const std::vector<text::line>& lines, std::size_t index) {
    for (std::size_t i = index; i < lines.size(); ++i)
        if (!text::trim(lines[i].body).empty()) return false;
    return true;
}

result<std::size_t> read_columns(std::string_view body, const std::string& where) {
    auto words = text::words(body);
    if (!words.empty() && !text::whole_number(words.front())) words.erase(words.begin());
    if (words.empty())
        return bad(where, "a line of column numbers is expected here", "paste the tool's output without changes");
    if (words.size() > max_devices_read)
        return error{errc::limit, where, "the matrix has more than " + std::to_string(max_devices_read) + " columns",
                     "import one host at a time"};
    for (std::size_t k = 0; k < words.size(); ++k)
        if (text::whole_number(words[k]) != static_cast<long>(k))
            return bad(where, "column " + std::to_string(k) + " is headed '" + shown(words[k]) + "'",
                       "paste the tool's output without changes; columns are numbered from 0");
    return words.size();
}

result<std::optional<double>> read_cell(std::string_view word, const std::string& where) {
    if (word == "N/A" || word == "-" || word == "n/a") return std::optional<double>{};
    const auto value = text::real_number(word);
    if (!value || *value < 0)
        return bad(where, "'" + shown(word) + "' is no bandwidth or latency", "cells are numbers ≥ 0 or N/A");
    if (*value == 0) return std::optional<double>{};
    return std::optional<double>{*value};
}

// A row starts with its number (numbered matrices) or a name such as "D2H" followed by a number.
bool row_like(const std::vector<std::string_view>& words, std::size_t row) {
    if (words.size() < 2) return words.size() == 1 && text::whole_number(words[0]) == static_cast<long>(row);
    if (text::whole_number(words[0])) return true;
    return (text::real_number(words[1]) || words[1] == "N/A") && words[0].find('=') == std::string_view::npos;
}

std::string pair_name(const printed_matrix& m, std::size_t row, std::size_t column) {
    return "row " + m.row_names[row] + ", column " + std::to_string(column);
}

double median_of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t n = values.size();
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

}  // namespace

std::string_view unit_of(std::string_view title) noexcept {
    for (const std::string_view unit : {"GB/s", "MB/s", "KB/s", "GiB/s", "us", "ns", "ms"}) {
        const std::size_t found = title.rfind(unit);
        if (found != std::string_view::npos && found > 0 && title[found - 1] == '(' &&
            title.substr(found + unit.size()).starts_with(")"))
            return unit;
    }
    return {};
}

result<printed_matrix> read_matrix(const std::vector<text::line>& lines, std::size_t title, std::size_t rows,
                                   const std::string& file) {
    printed_matrix m;
    m.title = std::string(text::trim(lines[title].body));
    m.line = lines[title].number;
    std::size_t i = title + 1;
    if (only_blanks_after(lines, i)) {
        m.cut = true;
        m.next = lines.size();
        return m;
    }
    const auto columns = read_columns(lines[i].body, at(file, lines[i].number));
    if (!columns) return columns.failure();
    const std::size_t expected = rows == std::string::npos ? *columns : rows;
    std::vector<std::vector<std::optional<double>>> cells;
    for (++i; i < lines.size() && (expected == 0 || cells.size() < expected); ++i) {
        const auto words = text::words(lines[i].body);
        if (words.empty() || !row_like(words, cells.size())) break;
        const std::string where = at(file, lines[i].number);
        if (const auto number = text::whole_number(words[0]); number && *number != static_cast<long>(cells.size()))
            return bad(where,
                       "row " + shown(words[0]) + " stands where row " + std::to_string(cells.size()) + " is expected",
                       "paste the complete matrix");
        if (words.size() - 1 != *columns) {
            if (words.size() - 1 < *columns && only_blanks_after(lines, i + 1)) {
                m.cut = true;
                break;
            }
            return bad(where,
                       "row " + shown(words[0]) + " has " + counted(words.size() - 1, "value") + ", " +
                           std::to_string(*columns) + " expected",
                       "paste the tool's output without changes");
        }
        m.row_names.push_back(shown(words[0]));
        auto& row = cells.emplace_back();
        for (std::size_t k = 1; k < words.size(); ++k) {
            auto value = read_cell(words[k], where);
            if (!value) return value.failure();
            row.push_back(*value);
        }
    }
    m.next = i;
    if (cells.size() < std::max<std::size_t>(expected, 1)) {
        if (!m.cut && !only_blanks_after(lines, i))
            return bad(at(file, lines[i].number),
                       "row " + std::to_string(cells.size()) + " of the matrix of line " + std::to_string(m.line) +
                           " is missing; " + counted(std::max<std::size_t>(expected, 1), "row") + " expected, " +
                           std::to_string(cells.size()) + " found",
                       "paste the complete matrix");
        m.cut = true;
        m.next = lines.size();
    }
    if (m.cut) return m;
    m.values = matrix<std::optional<double>>(cells.size(), *columns);
    for (std::size_t r = 0; r < cells.size(); ++r)
        for (std::size_t k = 0; k < *columns; ++k) m.values(r, k) = cells[r][k];
    return m;
}

void flag_outliers(const printed_matrix& m, const std::string& file, bool skip_diagonal, findings& notes) {
    std::size_t found = 0;
    const auto say = [&](std::size_t r, std::size_t k, double median) {
        if (skip_diagonal && r == k) return;
        const auto& v = m.values(r, k);
        if (!v || std::abs(*v - median) <= median / 2) return;
        if (++found > listed_outliers) return;
        const std::string what =
            fmt::format("{}: {:.2f} is {:.0f} % {} the median {:.2f}", pair_name(m, r, k), *v,
                        100 * std::abs(*v - median) / median, *v < median ? "below" : "above", median);
        if (*v < median)
            text::warn(notes, at(file, m.line), what, "measure this pair again; if it stays, the link is degraded");
        else
            text::note(notes, at(file, m.line), what);
    };
    std::vector<double> present;
    for (std::size_t r = 0; r < m.values.rows(); ++r)
        for (std::size_t k = 0; k < m.values.columns(); ++k)
            if (m.values(r, k) && !(skip_diagonal && r == k)) present.push_back(*m.values(r, k));
    if (present.size() < 3) return;
    // Matrices with a name a row ("D2H", "BiDir") hold one quantity a row.
    const bool named = !text::whole_number(m.row_names.front());
    const double all = median_of(present);
    for (std::size_t r = 0; r < m.values.rows(); ++r) {
        double median = all;
        if (named) {
            std::vector<double> row;
            for (std::size_t k = 0; k < m.values.columns(); ++k)
                if (m.values(r, k)) row.push_back(*m.values(r, k));
            if (row.size() < 3) continue;
            median = median_of(row);
        }
        for (std::size_t k = 0; k < m.values.columns(); ++k) say(r, k, median);
    }
    if (found > listed_outliers)
        text::warn(notes, at(file, m.line),
                   counted(found - listed_outliers, "more cell is", "more cells are") + " as far off the median",
                   "measure again");
}

cost_layer layer_of(const printed_matrix& m, endpoint from, endpoint to, engine by, bool loaded, bool transpose,
                    double share, const std::string& file, findings& notes) {
    const std::size_t rows = transpose ? m.values.columns() : m.values.rows();
    const std::size_t columns = transpose ? m.values.rows() : m.values.columns();
    cost_layer layer{from, to, by, loaded, matrix<cost>(rows, columns)};
    std::size_t guessed = 0;
    for (std::size_t r = 0; r < rows; ++r)
        for (std::size_t k = 0; k < columns; ++k) {
            if (from == to && r == k) continue;
            const auto& value = transpose ? m.values(k, r) : m.values(r, k);
            if (!value) {
                layer.cells(r, k) = estimated_gpu_cost({link_class::unknown, 0}, link_generation::pcie4_nvlink3);
                ++guessed;
                continue;
            }
            const bool nvlink = *value * share > above_pcie_gb_per_s;
            cost c =
                estimated_gpu_cost({nvlink ? link_class::nvlink : link_class::phb, 1}, link_generation::pcie4_nvlink3);
            c.gb_per_s = *value * share;
            c.from = source::imported;
            layer.cells(r, k) = c;
        }
    if (guessed > 0)
        text::warn(notes, at(file, m.line),
                   counted(guessed, "pair holds no value (no peer access); it is",
                           "pairs hold no value (no peer access); they are") +
                       " estimated",
                   "measure them with atoll calibrate");
    return layer;
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: tables written row by row, one row a scalar with blanks between ("x 371 370.8") or a
// list ([null, 371, 370.8]). The diagonal of a square table of one kind of endpoint is "x" or null.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/counted.hpp"
#include "topo/file/fields.hpp"
#include "topo/file/value.hpp"

namespace topo::file {

// The cells of one row. "x" and null become kind::null.
[[nodiscard]] std::vector<value> row_cells(const value& row, const std::string& title, faults& out);

// Calls put(row, column, cell) for each cell that should hold something. A wrong shape, an empty cell off
// the diagonal and a filled one on it are faults. O(cells).
template <class Put>
void read_grid(const value& v, const std::string& title, std::size_t rows, std::size_t columns, bool diagonal,
               faults& out, Put put) {
    const std::vector<value>& lines = as_items(v, title, out);
    if (out.any()) return;
    if (lines.size() != rows)
        return out.report(v.line, title + " has " + counted(lines.size(), "row") + ", not " + std::to_string(rows),
                          "give one row a source");
    for (std::size_t r = 0; r < rows && !out.any(); ++r) {
        const std::vector<value> cells = row_cells(lines[r], title, out);
        if (out.any()) return;
        const std::string place = "row " + std::to_string(r + 1) + " of " + title;
        if (cells.size() != columns)
            return out.report(lines[r].line,
                              place + " has " + counted(cells.size(), "cell") + ", not " + std::to_string(columns),
                              "give one cell a destination, x on the diagonal");
        for (std::size_t c = 0; c < columns; ++c) {
            const bool empty = cells[c].is == kind::null;
            if (diagonal && r == c) {
                if (!empty) out.report(lines[r].line, place + " has a cell on the diagonal", "write x there");
            } else if (empty) {
                out.report(lines[r].line, place + " misses cell " + std::to_string(c + 1),
                           "measure the pair again or leave the whole layer out");
            } else {
                put(r, c, cells[c]);
            }
        }
    }
}

// A table with one line a row; make(row, column) gives each cell, the diagonal stays empty.
template <class Make>
[[nodiscard]] value write_grid(std::size_t rows, std::size_t columns, bool diagonal, Make make) {
    value grid = new_sequence();
    for (std::size_t r = 0; r < rows; ++r) {
        value row = new_sequence(layout::row);
        for (std::size_t c = 0; c < columns; ++c) row.items.push_back(diagonal && r == c ? value{} : make(r, c));
        grid.items.push_back(std::move(row));
    }
    return grid;
}

}  // namespace topo::file

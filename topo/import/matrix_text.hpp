// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: matrices of numbers as nvbandwidth and p2pBandwidthLatencyTest print them,
// and the cost layers made of them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/finding.hpp"
#include "topo/import/text.hpp"
#include "topo/matrix.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace topo {

struct printed_matrix {
    std::string title;
    std::size_t line = 0;                  // of the title
    std::vector<std::string> row_names;    // "0", "1", … or "D2H"
    matrix<std::optional<double>> values;  // empty cell: "N/A" or 0
    bool cut = false;                      // the text ends inside it
    std::size_t next = 0;                  // index into the lines of what follows
};

// Reads the matrix whose title is lines[title]: a line of column numbers 0 … n-1 (perhaps after a corner such as
// "D\D"), then rows of a name and n numbers. rows: how many there must be; 0: at least one; npos: as many as columns.
// Fails with bad_input and "file:line" for a row of the wrong length (expected / found), a row that is
// missing, a number that is negative, NaN or none; limit for over 1,024 columns. A matrix that ends with the text
// is `cut` instead.
[[nodiscard]] result<printed_matrix> read_matrix(const std::vector<text::line>& lines, std::size_t title,
                                                 std::size_t rows, const std::string& file);

// Warnings for cells slower than half the median, notes for those faster than 1.5 times it.
// `name` gives the words for a cell. At most eight are listed. O(cells log cells).
void flag_outliers(const printed_matrix& m, const std::string& file, bool skip_diagonal, findings& notes);

// GPU pairs or host rows as a layer. transpose: the matrix prints column → row. share: what part of a
// printed value is one direction (0.5 for sums of both). Cells without a value are estimated as an unknown link,
// with a warning. α is estimated from what the bandwidth shows: above PCIe, NVLink.
[[nodiscard]] cost_layer layer_of(const printed_matrix& m, endpoint from, endpoint to, engine by, bool loaded,
                                  bool transpose, double share, const std::string& file, findings& notes);

// "(GB/s)" … at the end of a title; empty when there is none.
[[nodiscard]] std::string_view unit_of(std::string_view title) noexcept;

}  // namespace topo

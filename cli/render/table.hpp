// SPDX-License-Identifier: Apache-2.0
// Aligned columns of plain text for a terminal or a pipe.
#pragma once

#include <string>
#include <vector>

#include "cli/render/style.hpp"

namespace cli::render {

struct table {
    std::vector<std::string> headers;
    std::vector<bool> right;  // right-aligned columns; missing entries are left-aligned
    std::vector<std::vector<std::string>> rows;

    void add(std::vector<std::string> row) { rows.push_back(std::move(row)); }
    // Two blanks between columns, bold headers, no blanks at line ends. Cells pass printable(). O(cells).
    [[nodiscard]] std::string text(const style& s, std::size_t indent = 0) const;
};

}  // namespace cli::render

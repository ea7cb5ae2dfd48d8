// SPDX-License-Identifier: Apache-2.0
#include "cli/render/table.hpp"

#include <algorithm>

#include "cli/render/text.hpp"

namespace cli::render {

std::string table::text(const style& s, std::size_t indent) const {
    std::vector<std::vector<std::string>> clean;
    clean.reserve(rows.size());
    std::vector<std::size_t> width(headers.size());
    for (std::size_t c = 0; c < headers.size(); ++c) width[c] = columns(headers[c]);
    for (const auto& row : rows) {
        auto& line = clean.emplace_back();
        for (std::size_t c = 0; c < headers.size(); ++c) {
            line.push_back(c < row.size() ? printable(row[c]) : std::string());
            width[c] = std::max(width[c], columns(line.back()));
        }
    }
    auto line_of = [&](const std::vector<std::string>& cells) {
        std::string line(indent, ' ');
        for (std::size_t c = 0; c < cells.size(); ++c) {
            const bool to_right = c < right.size() && right[c];
            line += (c == 0 ? "" : "  ") + (to_right ? pad_left(cells[c], width[c]) : pad_right(cells[c], width[c]));
        }
        line.erase(line.find_last_not_of(' ') + 1);
        return line;
    };
    std::string out = s.bold(line_of(headers)) + "\n";
    for (const auto& cells : clean) out += line_of(cells) + "\n";
    return out;
}

}  // namespace cli::render

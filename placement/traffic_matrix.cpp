// SPDX-License-Identifier: Apache-2.0
#include "placement/traffic_matrix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>

namespace placement {
namespace {

constexpr double max_bytes = 1e18;  // sums over all entries stay far from the end of double

topo::error fault(topo::errc code, std::string what, std::string remedy) {
    return {code, "traffic matrix", std::move(what), std::move(remedy)};
}

topo::result<topo::done> check_size(std::uint32_t ranks, std::size_t entries) {
    if (ranks == 0) return fault(topo::errc::bad_input, "no ranks", "give 1 or more");
    if (ranks > traffic_matrix::max_ranks)
        return fault(topo::errc::limit, fmt::format("{} ranks", ranks),
                     fmt::format("at most {} are taken", traffic_matrix::max_ranks));
    if (entries > traffic_matrix::max_entries)
        return fault(topo::errc::limit, fmt::format("{} entries", entries),
                     fmt::format("at most {} are taken; leave small ones out", traffic_matrix::max_entries));
    return topo::done{};
}

topo::result<topo::done> check_entry(std::uint32_t ranks, std::size_t from, std::size_t to, double bytes) {
    if (from >= ranks || to >= ranks)
        return fault(topo::errc::bad_input, fmt::format("entry from rank {} to rank {}", from, to),
                     fmt::format("ranks are 0 to {}", ranks - 1));
    if (!std::isfinite(bytes) || bytes < 0 || bytes > max_bytes)
        return fault(topo::errc::bad_input, fmt::format("{} bytes from rank {} to rank {}", bytes, from, to),
                     fmt::format("give 0 to {} bytes", max_bytes));
    return topo::done{};
}

}  // namespace

topo::result<traffic_matrix> traffic_matrix::make(std::uint32_t ranks, std::vector<std::size_t> row_begin,
                                                  std::vector<std::uint32_t> column, std::vector<double> bytes) {
    if (auto good = check_size(ranks, column.size()); !good) return good.failure();
    if (row_begin.size() != std::size_t{ranks} + 1 || bytes.size() != column.size())
        return fault(topo::errc::bad_input,
                     fmt::format("{} row starts, {} columns and {} values for {} ranks", row_begin.size(),
                                 column.size(), bytes.size(), ranks),
                     "give one row start a rank and one for the end, and a value for each column");
    if (row_begin.front() != 0 || row_begin.back() != column.size() ||
        !std::is_sorted(row_begin.begin(), row_begin.end()))
        return fault(topo::errc::bad_input, "row starts fall, or do not go from 0 to the number of entries",
                     "write the entries row by row");
    for (std::size_t r = 0; r < ranks; ++r)
        for (std::size_t i = row_begin[r]; i < row_begin[r + 1]; ++i) {
            if (auto good = check_entry(ranks, r, column[i], bytes[i]); !good) return good.failure();
            if (i > row_begin[r] && column[i] <= column[i - 1])
                return fault(topo::errc::bad_input,
                             fmt::format("row {}: column {} after column {}", r, column[i], column[i - 1]),
                             "order the columns of a row and name each once");
        }
    traffic_matrix out;
    out.row_begin_ = std::move(row_begin);
    out.column_ = std::move(column);
    out.bytes_ = std::move(bytes);
    return out;
}

topo::result<traffic_matrix> traffic_matrix::from_entries(std::uint32_t ranks, std::vector<traffic_entry> entries) {
    if (auto good = check_size(ranks, entries.size()); !good) return good.failure();
    for (const auto& e : entries)
        if (auto good = check_entry(ranks, e.from, e.to, e.bytes); !good) return good.failure();
    std::sort(entries.begin(), entries.end(), [](const traffic_entry& a, const traffic_entry& b) {
        return std::tie(a.from, a.to) < std::tie(b.from, b.to);
    });
    traffic_matrix out;
    out.row_begin_.assign(std::size_t{ranks} + 1, 0);
    out.column_.reserve(entries.size());
    out.bytes_.reserve(entries.size());
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const auto& e = entries[i];
        if (i > 0 && e.from == entries[i - 1].from && e.to == entries[i - 1].to)
            return fault(topo::errc::bad_input, fmt::format("rank {} to rank {} stands there twice", e.from, e.to),
                         "add them up, or remove one");
        ++out.row_begin_[e.from + 1];
        out.column_.push_back(e.to);
        out.bytes_.push_back(e.bytes);
    }
    for (std::size_t r = 0; r < ranks; ++r) out.row_begin_[r + 1] += out.row_begin_[r];
    return out;
}

}  // namespace placement

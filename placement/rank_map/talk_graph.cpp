// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/talk_graph.hpp"

#include <algorithm>
#include <limits>

namespace placement {
namespace {

constexpr std::uint32_t nowhere = std::numeric_limits<std::uint32_t>::max();

// Calls with (rank, rank, bytes) for every pair of the grid that talks, once.
template <class F>
void for_each_pair(const rank_grid& grid, F&& call) {
    std::uint32_t stride = 1;
    for (const auto& axis : grid.axes()) {
        const std::uint32_t whole = stride * axis.extent;
        if (axis.bytes > 0) {
            for (std::uint32_t r = 0; r < grid.ranks(); ++r) {
                const std::uint32_t x = r % whole / stride;
                if (axis.kind == axis_kind::all_to_all) {
                    for (std::uint32_t y = x + 1; y < axis.extent; ++y) call(r, r + (y - x) * stride, axis.bytes);
                } else if (x + 1 < axis.extent) {
                    call(r, r + stride, axis.bytes);
                } else if (axis.kind == axis_kind::ring && axis.extent > 2) {
                    call(r, r - x * stride, axis.bytes);
                }
            }
        }
        stride = whole;
    }
}

template <class F>
void for_each_pair(const traffic_matrix& traffic, F&& call) {
    for (std::uint32_t r = 0; r < traffic.ranks(); ++r)
        for (std::size_t i = traffic.row_begin()[r]; i < traffic.row_begin()[r + 1]; ++i)
            if (traffic.column()[i] != r && traffic.bytes()[i] > 0) call(r, traffic.column()[i], traffic.bytes()[i]);
}

}  // namespace

void talk_graph::reserve(std::uint32_t vertices, std::size_t links) {
    begin_.reserve(std::size_t{vertices} + 2);
    links_.reserve(links);
    seen_.reserve(vertices);
    order_.reserve(vertices);
}

std::size_t talk_graph::links_of(const rank_grid& grid) noexcept {
    double pairs = 0;
    for (std::size_t a = 0; a < grid.axes().size(); ++a)
        if (grid.axes()[a].bytes > 0) pairs += grid.pairs(a);
    return 2 * static_cast<std::size_t>(pairs);
}

// begin_[v + 1] holds how many links v has; afterwards begin_[v + 1] is where row v starts, to be counted up in use.
void talk_graph::count_into_begins() {
    std::size_t sum = 0;
    for (std::size_t v = 1; v < begin_.size(); ++v) {
        const std::size_t its = begin_[v];
        begin_[v] = sum;
        sum += its;
    }
    links_.resize(sum);
}

// Two links of one row to the same vertex become one; rows move together.
void talk_graph::merge_rows() {
    const std::size_t n = begin_.size() - 1;
    seen_.assign(n, nowhere);
    std::size_t kept = 0, first = 0;
    for (std::size_t v = 0; v < n; ++v) {
        const std::size_t last = begin_[v + 1], row = kept;
        for (std::size_t i = first; i < last; ++i) {
            const link l = links_[i];
            const std::uint32_t at = seen_[l.to];
            if (at != nowhere && at >= row && at < kept && links_[at].to == l.to) {
                links_[at].bytes += l.bytes;
            } else {
                seen_[l.to] = static_cast<std::uint32_t>(kept);
                links_[kept++] = l;
            }
        }
        begin_[v + 1] = kept;
        first = last;
    }
    links_.resize(kept);
}

void talk_graph::assign(const rank_grid& grid) {
    begin_.assign(std::size_t{grid.ranks()} + 1, 0);
    for_each_pair(grid, [&](std::uint32_t a, std::uint32_t b, double) {
        ++begin_[a + 1];
        ++begin_[b + 1];
    });
    count_into_begins();
    for_each_pair(grid, [&](std::uint32_t a, std::uint32_t b, double bytes) {
        links_[begin_[a + 1]++] = {b, bytes};
        links_[begin_[b + 1]++] = {a, bytes};
    });
}

void talk_graph::assign(const traffic_matrix& traffic) {
    begin_.assign(std::size_t{traffic.ranks()} + 1, 0);
    for_each_pair(traffic, [&](std::uint32_t a, std::uint32_t b, double) {
        ++begin_[a + 1];
        ++begin_[b + 1];
    });
    count_into_begins();
    for_each_pair(traffic, [&](std::uint32_t a, std::uint32_t b, double bytes) {
        links_[begin_[a + 1]++] = {b, bytes};
        links_[begin_[b + 1]++] = {a, bytes};
    });
    merge_rows();
}

void talk_graph::assign_quotient(const talk_graph& fine, std::span<const std::uint32_t> group_of,
                                 std::uint32_t groups) {
    begin_.assign(std::size_t{groups} + 1, 0);
    for (std::uint32_t v = 0; v < fine.vertices(); ++v)
        for (const link& l : fine.row(v))
            if (group_of[l.to] != group_of[v]) ++begin_[group_of[v] + 1];
    count_into_begins();
    for (std::uint32_t v = 0; v < fine.vertices(); ++v)
        for (const link& l : fine.row(v))
            if (group_of[l.to] != group_of[v]) links_[begin_[group_of[v] + 1]++] = {group_of[l.to], l.bytes};
    merge_rows();
}

}  // namespace placement

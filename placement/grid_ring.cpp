// SPDX-License-Identifier: Apache-2.0
// The order of a set of nodes of a grid in which a ring makes short hops.
#include <algorithm>

#include "placement/grid_choice.hpp"

namespace placement {
namespace {

constexpr std::size_t most_improved = 64;  // nodes of a ring that is improved by search
constexpr int most_rounds = 8;

std::uint64_t weight_of(int separation) noexcept { return std::uint64_t{1} << (4 * std::min(separation, 14)); }

}  // namespace

// low_ and extent_: in each dimension the shortest stretch that holds all coordinates, perhaps round the end.
void grid_choice::bound(std::span<const node_share> nodes) noexcept {
    const auto dims = net_->dims();
    std::array<bool, 2 * (topo::max_separation + 2)> there;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        const std::uint32_t size = dims[d];
        std::fill_n(there.begin(), size, false);
        for (const auto& n : nodes) there[net_->coordinates(n.node.value)[d]] = true;
        std::uint32_t gap = 0, gap_end = 0, run = 0;  // the longest stretch of nothing ends before gap_end
        for (std::uint32_t i = 0; i < 2 * size; ++i) {
            if (!there[i % size]) {
                ++run;
                continue;
            }
            if (run > gap && run < size) {
                gap = run;
                gap_end = i % size;
            }
            run = 0;
        }
        low_[d] = static_cast<std::uint16_t>(gap_end);
        extent_[d] = static_cast<std::uint16_t>(size - gap);
    }
    // The ring comes home by itself where it goes round a dimension of even size, or of two.
    outer_ = dims.size();
    comb_ = false;
    for (std::size_t d = 0; d < dims.size() && outer_ == dims.size(); ++d)
        if (extent_[d] == 2 || (extent_[d] == dims[d] && dims[d] > 1 && dims[d] % 2 == 0)) outer_ = d;
    if (outer_ < dims.size()) return;
    comb_ = true;
    outer_ = 0;
    for (std::size_t d = 0; d < dims.size(); ++d)
        if (extent_[d] > 1 && (extent_[outer_] == 1 || (extent_[d] % 2 == 0 && extent_[outer_] % 2 != 0))) outer_ = d;
}

// How far round the ring a position is.
std::uint32_t grid_choice::turn(const std::uint16_t* at) const noexcept {
    const auto dims = net_->dims();
    const auto inside = [&](std::size_t d) { return at[d] >= low_[d] ? at[d] - low_[d] : at[d] + dims[d] - low_[d]; };
    std::uint32_t line = 0, length = 1;
    for (std::size_t d = 0; d < dims.size(); ++d) {
        if (d == outer_) continue;
        const std::uint32_t side = extent_[d];
        line = line * side + (line % 2 != 0 ? side - 1 - inside(d) : inside(d));
        length *= side;
    }
    const std::uint32_t row = inside(outer_);
    if (comb_ && length == 1)
        return row % 2 == 0 ? row : 2u * extent_[outer_] - row;  // there and back, every other one
    if (!comb_) return row * length + (row % 2 != 0 ? length - 1 - line : line);
    if (line == 0) return extent_[outer_] * length - 1 - row;
    return row * (length - 1) + (row % 2 != 0 ? length - 1 - line : line - 1);
}

// Longer hops count more than any number of shorter ones.
std::uint64_t grid_choice::weight(std::span<const node_share> ring) const noexcept {
    std::uint64_t sum = 0;
    for (std::size_t i = 0; i < ring.size(); ++i)
        sum += weight_of(net_->separation(ring[i].node.value, ring[(i + 1) % ring.size()].node.value));
    return sum;
}

// Turns stretches of the ring round and moves single nodes, as long as that takes away longest hops.
void grid_choice::shorten(std::span<node_share> ring) noexcept {
    const std::size_t n = ring.size();
    if (n < 4 || n > most_improved || weight(ring) == n * weight_of(0)) return;
    std::array<std::array<std::uint64_t, most_improved>, most_improved> way;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
            way[a][b] = weight_of(net_->separation(ring[a].node.value, ring[b].node.value));
    std::array<std::uint8_t, most_improved> at;
    for (std::size_t i = 0; i < n; ++i) at[i] = static_cast<std::uint8_t>(i);
    const auto hop = [&](std::size_t i, std::size_t j) { return way[at[i % n]][at[j % n]]; };
    bool better = true;
    for (int round = 0; better && round < most_rounds; ++round) {
        better = false;
        for (std::size_t i = 0; i + 2 < n; ++i)
            for (std::size_t j = i + 2; j < n; ++j) {  // i → i+1 … j → j+1 becomes i → j … i+1 → j+1
                if (j + 1 == n && i == 0) continue;
                if (hop(i, j) + hop(i + 1, j + 1) >= hop(i, i + 1) + hop(j, j + 1)) continue;
                std::reverse(at.begin() + static_cast<std::ptrdiff_t>(i) + 1,
                             at.begin() + static_cast<std::ptrdiff_t>(j) + 1);
                better = true;
            }
        for (std::size_t i = 0; i < n; ++i)
            for (std::size_t j = 0; j < n; ++j) {  // node i between j and j + 1
                if (j == i || (j + 1) % n == i) continue;
                if (hop(i + n - 1, i + 1) + hop(j, i) + hop(i, j + 1) >=
                    hop(i + n - 1, i) + hop(i, i + 1) + hop(j, j + 1))
                    continue;
                const auto first = at.begin() + static_cast<std::ptrdiff_t>(std::min(i, j + (j > i ? 0 : 1)));
                const auto last = at.begin() + static_cast<std::ptrdiff_t>(std::max(i, j)) + 1;
                if (j > i)
                    std::rotate(first, first + 1, last);
                else
                    std::rotate(first, last - 1, last);
                better = true;
            }
    }
    keyed_.clear();
    for (std::size_t i = 0; i < n; ++i) keyed_.emplace_back(0, ring[at[i]]);
    for (std::size_t i = 0; i < n; ++i) ring[i] = keyed_[i].second;
}

void grid_choice::arrange(std::span<node_share> nodes) noexcept {
    if (!on_grid() || nodes.size() < 3) return;
    for (const auto& n : nodes)
        if (net_->coordinates(n.node.value)[0] == fabric_index::nowhere) return;
    bound(nodes);
    keyed_.clear();
    for (const auto& n : nodes) keyed_.emplace_back(turn(net_->coordinates(n.node.value)), n);
    std::sort(keyed_.begin(), keyed_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    for (std::size_t i = 0; i < nodes.size(); ++i) nodes[i] = keyed_[i].second;
    shorten(nodes);
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/grid_tiling.hpp"

#include <algorithm>

namespace placement {
namespace {

constexpr std::size_t max_divisors = 240;  // of any number up to rank_grid::max_ranks (720,720 has the most)

// Divisors of one extent, largest first, and the bytes between pairs inside blocks of each.
struct divisor_table {
    std::size_t count;
    std::uint32_t extent;
    std::array<std::uint32_t, max_divisors> block;
    std::array<double, max_divisors> inside;

    void fill(const grid_axis& axis, std::uint32_t ranks) noexcept {
        extent = axis.extent;
        std::size_t large = 0, small = 0;
        std::array<std::uint32_t, max_divisors / 2 + 1> lower;
        for (std::uint32_t d = 1; d * d <= extent; ++d) {
            if (extent % d != 0) continue;
            block[large++] = extent / d;
            if (d * d != extent) lower[small++] = d;
        }
        while (small > 0) block[large++] = lower[--small];
        count = large;
        const double scale = axis.bytes * (ranks / extent);
        for (std::size_t i = 0; i < count; ++i) inside[i] = scale * pairs_inside(axis.kind, extent, block[i]);
    }
};

class tiling_search {
public:
    explicit tiling_search(const rank_grid& grid) noexcept : axes_(grid.axes().size()), ranks_(grid.ranks()) {
        for (std::size_t a = 0; a < axes_; ++a) tables_[a].fill(grid.axes()[a], ranks_);
    }

    // False when the sizes of the tree and the ranks can't be brought together.
    bool set_levels(const tree_shape& tree) noexcept {
        if (tree.levels == 0 || tree.size[tree.levels - 1] < ranks_) return false;
        grid_.levels = tree.levels;
        inner_ = 0;
        for (std::size_t k = 0; k < tree.levels; ++k) {
            if (tree.size[k] == 0) return false;
            volume_[k] = std::min(tree.size[k], ranks_);
            if (ranks_ % volume_[k] != 0) return false;
            if (volume_[k] == ranks_) continue;
            gain_[k] = tree.distance[k + 1] - tree.distance[k];
            inner_ = k + 1;
        }
        farthest_ = tree.distance[inner_];  // the lowest level that holds all ranks
        return true;
    }

    std::optional<grid_tiling> run() noexcept {
        bound();
        descend(0, 0);
        if (best_gain_ < 0) return std::nullopt;
        for (std::size_t k = inner_; k < grid_.levels; ++k)
            for (std::size_t a = 0; a < axes_; ++a) grid_.block[k][a] = tables_[a].extent;
        double all = 0;
        for (std::size_t a = 0; a < axes_; ++a) all += tables_[a].inside[0];
        grid_.cost = farthest_ * all - best_gain_;
        return grid_;
    }

private:
    // rest_[k]: more than levels k and above can add, were they free to choose any blocks. It spares most of the
    // search in deep trees; with up to two inner levels it would cost what it spares.
    void bound() noexcept {
        rest_.fill(0);
        if (inner_ < 3) return;
        for (std::size_t k = inner_; k-- > 1;) {
            best_inside_ = 0;
            free_choice(0, volume_[k], 0);
            rest_[k] = rest_[k + 1] + gain_[k] * best_inside_;
        }
        bounded_ = true;
    }

    void free_choice(std::size_t a, std::uint32_t left, double inside) noexcept {
        const auto& table = tables_[a];
        for (std::size_t i = 0; i < table.count; ++i) {
            if (left % table.block[i] != 0) continue;
            if (a + 1 < axes_) {
                free_choice(a + 1, left / table.block[i], inside + table.inside[i]);
            } else if (left == table.block[i]) {
                best_inside_ = std::max(best_inside_, inside + table.inside[i]);
            }
        }
    }

    void descend(std::size_t k, double gain) noexcept {
        if (k == inner_) {
            ++grid_.candidates;
            if (gain > best_gain_ * (1 + 1e-12) || best_gain_ < 0) {
                best_gain_ = gain;
                std::copy_n(now_.begin(), inner_, grid_.block.begin());
            }
            return;
        }
        if (bounded_ && best_gain_ >= 0 && gain + rest_[k] < best_gain_) return;
        along(k, 0, volume_[k] / (k == 0 ? 1 : volume_[k - 1]), 0, gain);
    }

    // Chooses the block of level k along axis a and those after it; `left` is the factor still to be shared out.
    void along(std::size_t k, std::size_t a, std::uint32_t left, double inside, double gain) noexcept {
        const auto& table = tables_[a];
        const std::uint32_t below = k == 0 ? 1 : now_[k - 1][a];
        const bool last = a + 1 == axes_;
        for (std::size_t i = 0; i < table.count; ++i) {
            const std::uint32_t block = table.block[i];
            if (block < below) break;
            const std::uint32_t factor = block / below;
            if (factor * below != block || (last ? factor != left : left % factor != 0)) continue;
            if (grid_.candidates >= max_tiling_candidates) {
                grid_.all_seen = false;
                return;
            }
            now_[k][a] = block;
            if (last) {
                descend(k + 1, gain + gain_[k] * (inside + table.inside[i]));
                break;
            }
            along(k, a + 1, left / factor, inside + table.inside[i], gain);
        }
    }

    std::size_t axes_;
    std::uint32_t ranks_;
    std::size_t inner_ = 0;  // levels below the lowest one that holds all ranks
    double farthest_ = 0;
    double best_gain_ = -1;
    double best_inside_ = 0;
    bool bounded_ = false;
    std::array<std::uint32_t, slot_tree::max_levels> volume_;  // ranks of a group of the level
    std::array<double, slot_tree::max_levels> gain_;           // distance to the next level
    std::array<double, slot_tree::max_levels + 1> rest_;
    std::array<grid_tiling::extents, slot_tree::max_levels> now_;
    std::array<divisor_table, rank_grid::max_axes> tables_;
    grid_tiling grid_;
};

}  // namespace

std::optional<grid_tiling> choose_tiling(const rank_grid& grid, const tree_shape& shape) noexcept {
    tiling_search search(grid);
    if (!search.set_levels(shape)) return std::nullopt;
    return search.run();
}

void write_map(const grid_tiling& tiling, const rank_grid& grid, std::span<std::uint32_t> slot_of_rank) noexcept {
    const auto axes = grid.axes();
    std::uint32_t filled = 1;
    slot_of_rank[0] = 0;
    // The slot is a sum over axes of a term of the coordinate alone: digits of the coordinate by level times strides.
    for (std::size_t a = 0; a < axes.size(); ++a) {
        struct step {
            std::uint32_t below, factor, stride;
        };
        std::array<step, slot_tree::max_levels> steps;
        std::size_t count = 0;
        std::uint32_t volume = 1;  // slots of a block of the level below
        for (std::size_t k = 0; k < tiling.levels; ++k) {
            std::uint32_t stride = volume;
            for (std::size_t b = 0; b < axes.size(); ++b) {
                const std::uint32_t below = k == 0 ? 1 : tiling.block[k - 1][b];
                const std::uint32_t factor = tiling.block[k][b] / below;
                if (b == a && factor > 1) steps[count++] = {below, factor, stride};
                if (b < a) stride *= factor;
                volume *= factor;
            }
        }
        for (std::uint32_t x = 1; x < axes[a].extent; ++x) {
            std::uint32_t term = 0;
            for (std::size_t i = 0; i < count; ++i) term += x / steps[i].below % steps[i].factor * steps[i].stride;
            std::uint32_t* out = slot_of_rank.data() + std::size_t{x} * filled;
            for (std::uint32_t r = 0; r < filled; ++r) out[r] = slot_of_rank[r] + term;
        }
        filled *= axes[a].extent;
    }
}

}  // namespace placement

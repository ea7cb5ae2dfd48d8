// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/exact_map.hpp"

#include <algorithm>
#include <array>

#include "placement/rank_map/swap_search.hpp"

namespace placement {
namespace {

constexpr std::size_t n_max = max_exact_ranks;

class branch_and_bound {
public:
    branch_and_bound(const talk_graph& graph, const slot_tree& tree, std::span<std::uint32_t> best,
                     std::uint64_t visits) noexcept
        : tree_(tree), best_(best), n_(graph.vertices()), visits_(visits) {
        for (std::uint32_t v = 0; v < n_; ++v)
            for (const auto& l : graph.row(v)) bytes_[v][l.to] = l.bytes;
        best_cost_ = swap_search::cost_of(graph, {&tree}, best);
        nearest_ = tree.distance_at(0);
        sort_vertices();
        for (std::uint32_t i = n_; i-- > 0;) {
            double links_back = 0;
            for (std::uint32_t j = 0; j < i; ++j) links_back += bytes_[order_[i]][order_[j]];
            rest_[i] = rest_[i + 1] + links_back * nearest_;
        }
        find_twins();
    }

    bool run() noexcept {
        descend(0, 0);
        return visits_ > 0;
    }

private:
    void sort_vertices() noexcept {
        std::array<double, n_max> with_placed{};
        std::array<bool, n_max> done{};
        for (std::uint32_t i = 0; i < n_; ++i) {
            std::uint32_t next = n_;
            double most = -1, most_all = -1;
            for (std::uint32_t v = 0; v < n_; ++v) {
                if (done[v]) continue;
                double all = 0;
                for (std::uint32_t u = 0; u < n_; ++u) all += bytes_[v][u];
                if (with_placed[v] < most || (with_placed[v] == most && all <= most_all)) continue;
                next = v;
                most = with_placed[v];
                most_all = all;
            }
            done[next] = true;
            order_[i] = next;
            for (std::uint32_t v = 0; v < n_; ++v) with_placed[v] += bytes_[next][v];
        }
    }

    // twin_[k][g]: the group before g, of the same parent and built the same; itself when there is none. Two empty
    // twins can be exchanged with all they would hold.
    void find_twins() noexcept {
        for (std::size_t k = 0; k < tree_.levels(); ++k)
            for (std::uint32_t g = 0; g < tree_.groups(k); ++g) {
                twin_[k][g] = g;
                if (g == 0 || k + 1 == tree_.levels()) continue;
                const std::uint32_t a = tree_.first_slot(k, g - 1), b = tree_.first_slot(k, g);
                if (tree_.group_of(k + 1, a) != tree_.group_of(k + 1, b) || !alike(k, g - 1, g)) continue;
                twin_[k][g] = g - 1;
            }
    }

    [[nodiscard]] bool alike(std::size_t k, std::uint32_t g, std::uint32_t h) const noexcept {
        if (tree_.size_of(k, g) != tree_.size_of(k, h)) return false;
        const std::uint32_t a = tree_.first_slot(k, g), b = tree_.first_slot(k, h);
        for (std::size_t below = 0; below < k; ++below)
            for (std::uint32_t i = 1; i < tree_.size_of(k, g); ++i) {
                const bool left = tree_.group_of(below, a + i) == tree_.group_of(below, a + i - 1);
                const bool right = tree_.group_of(below, b + i) == tree_.group_of(below, b + i - 1);
                if (left != right) return false;
            }
        return true;
    }

    // The slot would be as good in a group that is tried anyway.
    [[nodiscard]] bool repeats(std::uint32_t slot) const noexcept {
        if (slot > tree_.first_slot(0, tree_.group_of(0, slot)) && !used_[slot - 1]) return true;
        for (std::size_t k = 0; k + 1 < tree_.levels(); ++k) {
            const std::uint32_t g = tree_.group_of(k, slot);
            if (held_[k][g] > 0) return false;
            if (twin_[k][g] != g && held_[k][twin_[k][g]] == 0) return true;
        }
        return false;
    }

    void descend(std::uint32_t i, double cost) noexcept {
        if (i == n_) {
            best_cost_ = cost;
            for (std::uint32_t v = 0; v < n_; ++v) best_[v] = slot_of_[v];
            return;
        }
        const std::uint32_t v = order_[i];
        for (std::uint32_t slot = 0; slot < n_; ++slot) {
            if (used_[slot] || repeats(slot)) continue;
            if (visits_ == 0) return;
            --visits_;
            double more = cost;
            for (std::uint32_t j = 0; j < i; ++j)
                if (const double bytes = bytes_[v][order_[j]]; bytes > 0)
                    more += bytes * tree_.distance(slot, slot_of_[order_[j]]);
            if (more + rest_[i + 1] >= best_cost_ * (1 - 1e-12)) continue;
            take(v, slot, +1);
            descend(i + 1, more);
            take(v, slot, -1);
        }
    }

    void take(std::uint32_t v, std::uint32_t slot, int one) noexcept {
        slot_of_[v] = slot;
        used_[slot] = one > 0;
        for (std::size_t k = 0; k < tree_.levels(); ++k) held_[k][tree_.group_of(k, slot)] += one;
    }

    const slot_tree& tree_;
    std::span<std::uint32_t> best_;
    std::uint32_t n_;
    std::uint64_t visits_;
    double best_cost_ = 0;
    double nearest_ = 0;
    std::array<std::array<double, n_max>, n_max> bytes_{};
    std::array<double, n_max + 1> rest_{};  // the least that vertices order_[i …] add
    std::array<std::uint32_t, n_max> order_{};
    std::array<std::uint32_t, n_max> slot_of_{};
    std::array<bool, n_max> used_{};
    std::array<std::array<int, n_max>, slot_tree::max_levels> held_{};
    std::array<std::array<std::uint32_t, n_max>, slot_tree::max_levels> twin_{};
};

}  // namespace

bool improve_exactly(const talk_graph& graph, const slot_tree& tree, std::span<std::uint32_t> slot_of_rank,
                     std::uint64_t visits) noexcept {
    if (graph.vertices() > max_exact_ranks || graph.vertices() != tree.slots()) return false;
    branch_and_bound search(graph, tree, slot_of_rank, visits);
    return search.run();
}

}  // namespace placement

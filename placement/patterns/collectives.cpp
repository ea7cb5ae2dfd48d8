// SPDX-License-Identifier: Apache-2.0
// The exchanges that the patterns are made of, each for all groups of an axis at once.
#include <algorithm>
#include <bit>
#include <cmath>

#include "placement/patterns/step_model.hpp"
#include "placement/traffic_matrix.hpp"

namespace placement {
namespace {

// Parent of i in a binary tree over 0 … n − 1 in which every odd label is a leaf (Sanders, Speck and Träff 2009); the
// root is 0 and gives n.
std::uint32_t parent_in_tree(std::uint32_t i, std::uint32_t n) noexcept {
    if (i == 0) return n;
    const std::uint32_t low = i & (~i + 1);
    const std::uint32_t up = (i ^ low) | (low << 1);
    return up < n ? up : i ^ low;
}

// The second tree is the first one over labels that are mirrored (n even) or moved by one: what is inside one tree is a
// leaf of the other.
std::uint32_t second_label(std::uint32_t i, std::uint32_t n) noexcept { return n % 2 == 0 ? n - 1 - i : (i + 1) % n; }

// Calls edge(child, parent) for both trees.
template <class Edge>
void for_both_trees(std::uint32_t n, Edge edge) {
    for (std::uint32_t i = 1; i < n; ++i) {
        const std::uint32_t up = parent_in_tree(i, n);
        edge(i, up);
        edge(second_label(i, n), second_label(up, n));
    }
}

double steps_up(std::uint32_t n) noexcept { return n < 2 ? 0 : std::bit_width(n - 1); }

}  // namespace

void step_model::group_along(std::uint32_t size, std::uint32_t stride) noexcept {
    const auto p = static_cast<std::uint32_t>(ranks_.size());
    members_.clear();
    for (std::uint32_t first = 0; first < p; ++first) {
        if (first / stride % size != 0) continue;
        for (std::uint32_t i = 0; i < size; ++i) members_.push_back(first + i * stride);
    }
    now_ = {p / size, size};
}

void step_model::shares_of(std::uint32_t group) noexcept {
    shares_.clear();
    ++round_;
    const auto first = members_.begin() + static_cast<std::ptrdiff_t>(std::size_t{group} * now_.size);
    for (auto m = first; m != first + static_cast<std::ptrdiff_t>(now_.size); ++m) {
        const rank_place& at = ranks_[*m];
        const std::uint32_t node = at.node.value;
        if (stamp_[node] != round_) {
            stamp_[node] = round_;
            slot_of_[node] = static_cast<std::uint32_t>(shares_.size());
            shares_.push_back({at.node, 0});
        }
        shares_[slot_of_[node]].gpus |= gpu_mask{1} << at.gpu;
    }
}

// `alphas` is how many latencies stand one after another, of the phase's worst hop.
void step_model::add(exchange& e, const link_loads::phase& p, double alphas) const noexcept {
    e.latency_us += alphas;
    if (p.transfer_us >= e.slowest.transfer_us) e.slowest = p;
    e.transfer_us += p.transfer_us;
    e.used.add(p.used);
}

step_model::exchange step_model::ring(double bytes) noexcept {
    exchange e;
    if (now_.size < 2) return e;
    const double p = now_.size;
    loads_.start();
    for (std::uint32_t g = 0; g < now_.groups; ++g) {
        shares_of(g);
        loads_.ring(shares_, 2 * (p - 1) / p * bytes);
    }
    const auto phase = loads_.finish();
    add(e, phase, 2 * (p - 1) * phase.alpha_us);
    return e;
}

step_model::exchange step_model::half_ring(double bytes) noexcept {
    exchange e = ring(bytes / 2);
    e.latency_us /= 2;
    e.how = pattern::reduce_scatter_all_gather;
    return e;
}

void step_model::tree_over_nodes(double bytes) noexcept {
    for (const auto& n : shares_) loads_.chain_inside(n, bytes);
    for_both_trees(static_cast<std::uint32_t>(shares_.size()), [&](std::uint32_t child, std::uint32_t parent) {
        loads_.stream(shares_[child], shares_[parent], bytes / 2);
        loads_.stream(shares_[parent], shares_[child], bytes / 2);
    });
}

void step_model::tree_over_gpus(double bytes) noexcept {
    const node_share& n = shares_.front();
    std::array<std::uint8_t, topo::max_gpus_per_node> order;
    const auto p = static_cast<std::uint32_t>(loads_.order_of(n, order));
    for_both_trees(p, [&](std::uint32_t child, std::uint32_t parent) {
        const rank_place a{n.node, order[child]}, b{n.node, order[parent]};
        loads_.pair(a, b, bytes / 2);
        loads_.pair(b, a, bytes / 2);
    });
}

step_model::exchange step_model::tree(double bytes) noexcept {
    exchange e;
    e.how = pattern::tree_allreduce;
    if (now_.size < 2) return e;
    double across = 0, inside = 0;
    loads_.start();
    for (std::uint32_t g = 0; g < now_.groups; ++g) {
        shares_of(g);
        if (shares_.size() == 1) {
            tree_over_gpus(bytes);
            inside = std::max(inside, steps_up(now_.size));
            continue;
        }
        tree_over_nodes(bytes);
        across = std::max(across, steps_up(static_cast<std::uint32_t>(shares_.size())));
        for (const auto& n : shares_) inside = std::max(inside, static_cast<double>(topo::count(n.gpus)) - 1);
    }
    const auto phase = loads_.finish();
    add(e, phase, 2 * (across * phase.across_alpha_us + inside * phase.inside_alpha_us));
    return e;
}

// Needs the same number of GPUs, two or more, on each of two or more nodes.
step_model::exchange step_model::hierarchical(double bytes) noexcept {
    exchange e;
    e.how = pattern::hierarchical_allreduce;
    double k = 0, m = 0;
    for (std::uint32_t g = 0; g < now_.groups && e.possible; ++g) {
        shares_of(g);
        const unsigned first = topo::count(shares_.front().gpus);
        e.possible = shares_.size() > 1 && first > 1;
        for (const auto& n : shares_) e.possible = e.possible && topo::count(n.gpus) == first;
        k = first;
        m = std::max(m, static_cast<double>(shares_.size()));
    }
    if (!e.possible) return e;
    loads_.start();
    for (std::uint32_t g = 0; g < now_.groups; ++g) {
        shares_of(g);
        loads_.rings_inside(shares_, 2 * (k - 1) / k * bytes);
    }
    const auto inside = loads_.finish();
    add(e, inside, 2 * (k - 1) * inside.alpha_us);
    loads_.start();
    for (std::uint32_t g = 0; g < now_.groups; ++g) {
        shares_of(g);
        const std::size_t nodes = shares_.size();
        for (std::size_t i = 0; i < nodes; ++i) {  // the GPUs of one position make one ring
            gpu_mask from = shares_[i].gpus, to = shares_[(i + 1) % nodes].gpus;
            for (; from != 0; from &= from - 1, to &= to - 1)
                loads_.pair({shares_[i].node, static_cast<std::uint8_t>(std::countr_zero(from))},
                            {shares_[(i + 1) % nodes].node, static_cast<std::uint8_t>(std::countr_zero(to))},
                            2 * (m - 1) / m * bytes / k);
        }
    }
    const auto across = loads_.finish();
    add(e, across, 2 * (m - 1) * across.alpha_us);
    return e;
}

// Every node adds up what its GPUs have, sends it once and gets the sum back once.
step_model::exchange step_model::in_network(double bytes) noexcept {
    exchange e;
    e.how = pattern::in_network_allreduce;
    double k = 1;
    loads_.start();
    for (std::uint32_t g = 0; g < now_.groups && e.possible; ++g) {
        shares_of(g);
        e.possible = loads_.reduce_in_network(shares_, bytes);
    }
    const auto across = loads_.finish();
    if (!e.possible) return e;
    add(e, across, across.alpha_us);
    loads_.start();
    for (std::uint32_t g = 0; g < now_.groups; ++g) {
        shares_of(g);
        for (const auto& n : shares_) {
            const double here = topo::count(n.gpus);
            if (here < 2) continue;
            k = std::max(k, here);
            loads_.rings_inside({&n, 1}, 2 * (here - 1) / here * bytes);
        }
    }
    const auto inside = loads_.finish();
    add(e, inside, 2 * (k - 1) * inside.alpha_us);
    return e;
}

step_model::exchange step_model::allreduce(pattern how, double bytes) noexcept {
    switch (how) {
        case pattern::tree_allreduce: return tree(bytes);
        case pattern::hierarchical_allreduce: {
            const exchange e = hierarchical(bytes);
            return e.possible ? e : ring(bytes);
        }
        case pattern::in_network_allreduce: {
            const exchange e = in_network(bytes);
            return e.possible ? e : ring(bytes);
        }
        case pattern::allreduce: {
            exchange best = ring(bytes);
            for (const exchange& e : {tree(bytes), hierarchical(bytes), in_network(bytes)})
                if (e.possible && e.us() < best.us()) best = e;
            return best;
        }
        default: return ring(bytes);
    }
}

step_model::exchange step_model::all_to_all(double bytes) noexcept {
    exchange e;
    e.how = pattern::all_to_all;
    if (now_.size < 2) return e;
    const double p = now_.size;
    loads_.start();
    for (std::uint32_t g = 0; g < now_.groups; ++g) {
        shares_of(g);
        loads_.all_pairs(shares_, bytes / p);
    }
    const auto phase = loads_.finish();
    add(e, phase, (p - 1) * phase.alpha_us);
    return e;
}

// Rank 2i with 2i + 1.
step_model::exchange step_model::neighbours(double bytes) noexcept {
    exchange e;
    e.how = pattern::point_to_point;
    loads_.start();
    for (std::size_t r = 0; r + 1 < ranks_.size(); r += 2) {
        loads_.pair(ranks_[r], ranks_[r + 1], bytes);
        loads_.pair(ranks_[r + 1], ranks_[r], bytes);
    }
    const auto phase = loads_.finish();
    add(e, phase, phase.alpha_us);
    return e;
}

// Each member of a group hands `bytes` to the next, and gets as much back on the way back.
step_model::exchange step_model::stage_edges(double bytes) noexcept {
    exchange e;
    e.how = pattern::pipeline;
    loads_.start();
    for (std::size_t i = 0; i < members_.size(); ++i) {
        if ((i + 1) % now_.size == 0) continue;
        loads_.pair(ranks_[members_[i]], ranks_[members_[i + 1]], bytes);
        loads_.pair(ranks_[members_[i + 1]], ranks_[members_[i]], bytes);
    }
    const auto phase = loads_.finish();
    add(e, phase, phase.alpha_us);
    return e;
}

step_model::exchange step_model::halo(const halo_grid& grid, double bytes) noexcept {
    exchange e;
    e.how = pattern::halo_exchange;
    std::array<std::uint32_t, 3> at = {0, 0, 0};
    const std::array<std::uint32_t, 3> stride = {1, grid.extent[0], grid.extent[0] * grid.extent[1]};
    loads_.start();
    for (std::uint32_t r = 0; r < ranks_.size(); ++r) {
        for (std::size_t d = 0; d < 3; ++d) {
            const std::uint32_t n = grid.extent[d];
            at[d] = r / stride[d] % n;
            const double each = grid.bytes[d] > 0 ? grid.bytes[d] : bytes;
            const bool wraps = at[d] + 1 == n;
            if (n < 2 || (wraps && (!grid.periodic || n == 2))) continue;
            const std::uint32_t next = wraps ? r - at[d] * stride[d] : r + stride[d];
            const double both = grid.periodic && n == 2 ? 2 * each : each;  // the same neighbour on both sides
            loads_.pair(ranks_[r], ranks_[next], both);
            loads_.pair(ranks_[next], ranks_[r], both);
        }
    }
    const auto phase = loads_.finish();
    add(e, phase, phase.alpha_us);
    return e;
}

// No rank can be done before all it sends is on its way, one after another, and no link before all it carries.
step_model::exchange step_model::matrix(const traffic_matrix& traffic) noexcept {
    exchange e;
    e.how = pattern::traffic_matrix;
    double longest = 0;
    loads_.start();
    for (std::uint32_t r = 0; r < traffic.ranks(); ++r) {
        double one_by_one = 0;
        for (std::size_t i = traffic.row_begin()[r]; i < traffic.row_begin()[r + 1]; ++i) {
            const std::uint32_t to = traffic.column()[i];
            if (to == r || traffic.bytes()[i] <= 0) continue;
            one_by_one += loads_.pair(ranks_[r], ranks_[to], traffic.bytes()[i]);
        }
        longest = std::max(longest, one_by_one);
    }
    const auto phase = loads_.finish();
    add(e, phase, 0);
    e.latency_us = std::max(0.0, longest - phase.transfer_us);
    return e;
}

}  // namespace placement

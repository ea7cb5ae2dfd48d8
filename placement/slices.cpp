// SPDX-License-Identifier: Apache-2.0
#include "placement/slices.hpp"

#include <algorithm>
#include <bit>
#include <tuple>

namespace placement {
namespace {

std::size_t gpu_at(gpu_mask m) noexcept { return static_cast<std::size_t>(std::countr_zero(m)); }

struct pool {
    const slice_counts& free;
    const slice_counts& must;
    std::uint32_t wanted;
    gpu_mask with_free = 0;
    gpu_mask required = 0;

    [[nodiscard]] std::uint32_t held(gpu_mask gpus) const noexcept {
        std::uint32_t sum = 0;
        for (; gpus != 0; gpus &= gpus - 1) sum += free[gpu_at(gpus)];
        return sum;
    }
};

// Fills from the fullest use of a GPU down: what is left free stays on one of them.
slice_counts packed_on(const pool& p, gpu_mask gpus) noexcept {
    slice_counts out = p.must;
    std::uint32_t left = p.wanted;
    for (gpu_mask m = p.required; m != 0; m &= m - 1) left -= p.must[gpu_at(m)];
    // GPUs with the fewest free slices are used up first; ties by index.
    while (left > 0) {
        std::size_t next = topo::max_gpus_per_node;
        for (gpu_mask m = gpus; m != 0; m &= m - 1) {
            const std::size_t g = gpu_at(m);
            if (out[g] == p.free[g]) continue;
            if (next == topo::max_gpus_per_node || p.free[g] < p.free[next]) next = g;
        }
        const std::uint32_t take = std::min<std::uint32_t>(left, p.free[next] - out[next]);
        out[next] = static_cast<std::uint16_t>(out[next] + take);
        left -= take;
    }
    return out;
}

// One more on the GPU that has the fewest, in turn.
slice_counts spread_on(const pool& p, gpu_mask gpus) noexcept {
    slice_counts out = p.must;
    std::uint32_t left = p.wanted;
    for (gpu_mask m = p.required; m != 0; m &= m - 1) left -= p.must[gpu_at(m)];
    for (; left > 0; --left) {
        std::size_t next = topo::max_gpus_per_node;
        for (gpu_mask m = gpus; m != 0; m &= m - 1) {
            const std::size_t g = gpu_at(m);
            if (out[g] == p.free[g]) continue;
            if (next == topo::max_gpus_per_node || out[g] < out[next]) next = g;
        }
        ++out[next];
    }
    return out;
}

// Lower is better: free slices left on the set's GPUs, time class of the ring, lowest GPUs.
auto pack_rank(const subset_table& table, const pool& p, gpu_mask gpus) noexcept {
    const unsigned k = topo::count(gpus);
    return std::tuple(p.held(gpus) - p.wanted, table.ring(gpus).time_us(k, 64e6), gpus);
}

gpu_mask pack_exactly(const subset_table& table, const pool& p) noexcept {
    const gpu_mask optional = p.with_free & ~p.required;
    gpu_mask best = 0;
    unsigned fewest = topo::max_gpus_per_node + 1;
    // Every subset of the GPUs that need not be there.
    for (gpu_mask more = optional;; more = (more - 1) & optional) {
        const gpu_mask gpus = more | p.required;
        const unsigned k = topo::count(gpus);
        if (k <= fewest && gpus != 0 && p.held(gpus) >= p.wanted &&
            (k < fewest || pack_rank(table, p, gpus) < pack_rank(table, p, best))) {
            best = gpus;
            fewest = k;
        }
        if (more == 0) break;
    }
    return best;
}

gpu_mask pack_greedily(const subset_table& table, const pool& p) noexcept {
    gpu_mask gpus = p.required;
    while (p.held(gpus) < p.wanted) {
        gpu_mask next = 0;
        for (gpu_mask m = p.with_free & ~gpus; m != 0; m &= m - 1) {
            const gpu_mask one = m & (~m + 1);
            // The last GPU should just hold the rest; before that the one with most.
            const auto rank = [&](gpu_mask g) {
                const std::uint32_t with = p.held(gpus | g);
                const bool ends = with >= p.wanted;
                return std::tuple(!ends, ends ? with : ~with,
                                  table.ring(gpus | g).time_us(topo::count(gpus | g), 64e6));
            };
            if (next == 0 || rank(one) < rank(next)) next = one;
        }
        gpus |= next;
    }
    return gpus;
}

}  // namespace

std::optional<slice_policy> slice_policy_named(std::string_view text) noexcept {
    if (text == "pack") return slice_policy::pack;
    if (text == "spread") return slice_policy::spread;
    return std::nullopt;
}

std::optional<slice_counts> choose_slices(const subset_table& table, const slice_counts& free, const slice_counts& must,
                                          std::uint32_t wanted, slice_policy policy) noexcept {
    pool p{free, must, wanted};
    std::uint64_t needed = 0, there = 0;
    for (std::size_t g = 0; g < topo::max_gpus_per_node; ++g) {
        if (must[g] > free[g] || (must[g] > 0 && g >= table.gpus())) return std::nullopt;
        if (g >= table.gpus()) break;
        needed += must[g];
        there += free[g];
        if (free[g] > 0) p.with_free |= gpu_mask{1} << g;
        if (must[g] > 0) p.required |= gpu_mask{1} << g;
    }
    if (wanted == 0 || needed > wanted || there < wanted) return std::nullopt;
    if (policy == slice_policy::pack)
        return packed_on(p, table.exact() ? pack_exactly(table, p) : pack_greedily(table, p));
    const auto left = static_cast<unsigned>(wanted - needed);
    const unsigned gpus = topo::count(p.required) + std::min(left, topo::count(p.with_free & ~p.required));
    const auto best = table.best(p.with_free, gpus, p.required);
    if (!best) return std::nullopt;
    // GPUs with few slices may not hold their part: the others take more, then any GPU.
    return spread_on(p, p.held(best->gpus) >= wanted ? best->gpus : p.with_free);
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "placement/subset_impl.hpp"

namespace placement {
namespace {

std::size_t lowest(gpu_mask mask) noexcept { return static_cast<std::size_t>(std::countr_zero(mask)); }
constexpr gpu_mask bit(std::size_t g) noexcept { return gpu_mask{1} << g; }

}  // namespace

searched_subsets::searched_subsets(locality where, topo::matrix<double> alpha_us, topo::matrix<double> gb_per_s,
                                   const subset_options& options)
    : gpus_(alpha_us.rows()),
      bytes_(options.message_bytes),
      log_step_(options.equal_within > 0 ? std::log1p(options.equal_within) : 0),
      where_(std::move(where)),
      alpha_(std::move(alpha_us)),
      bw_(std::move(gb_per_s)) {
    for (std::size_t g = 0; g < gpus_; ++g) {
        const auto at = where_.numa[g];
        if (at < 0) continue;
        if (numa_masks_.size() <= static_cast<std::size_t>(at)) numa_masks_.resize(static_cast<std::size_t>(at) + 1, 0);
        numa_masks_[static_cast<std::size_t>(at)] |= bit(g);
    }
}

// Nearest neighbour by bandwidth both ways, then α; ties by lower GPU.
std::size_t searched_subsets::ring_order(gpu_mask gpus, std::span<std::uint8_t> out) const noexcept {
    std::size_t placed = 0;
    std::size_t now = lowest(gpus);
    gpu_mask left = gpus;
    for (;;) {
        out[placed++] = static_cast<std::uint8_t>(now);
        left &= ~bit(now);
        if (left == 0) return placed;
        std::size_t next = lowest(left);
        for (gpu_mask rest = left & (left - 1); rest != 0; rest &= rest - 1) {
            const std::size_t g = lowest(rest);
            if (bw_(now, g) > bw_(now, next) || (bw_(now, g) == bw_(now, next) && alpha_(now, g) < alpha_(now, next)))
                next = g;
        }
        now = next;
    }
}

ring_cost searched_subsets::ring(gpu_mask gpus) const noexcept {
    ring_cost out;
    std::array<std::uint8_t, topo::max_gpus_per_node> order;
    const std::size_t p = ring_order(gpus, order);
    if (p < 2) return out;
    for (std::size_t i = 0; i < p; ++i) {
        const std::size_t from = order[i];
        const std::size_t to = order[(i + 1) % p];
        out.alpha_us = std::max(out.alpha_us, alpha_(from, to));
        out.gb_per_s = std::min(out.gb_per_s, bw_(from, to));
    }
    return out;
}

// What disjoint power-of-two sets inside the parts hold together.
double searched_subsets::whole_sets(std::span<const gpu_mask> parts, gpu_mask rest) noexcept {
    double value = 0;
    for (const auto part : parts) {
        const unsigned c = topo::count(rest & part);
        for (unsigned s = 2; s <= c; s *= 2) value += s * (c / s);
    }
    return value;
}

searched_subsets::key_type searched_subsets::key(gpu_mask gpus, gpu_mask free) const noexcept {
    const double time = ring(gpus).time_us(topo::count(gpus), bytes_);
    const double time_class = log_step_ > 0 && time > 0 ? std::floor(std::log(time) / log_step_) : time;
    return {time_class,
            -whole_sets(where_.islands, free & ~gpus),
            static_cast<double>(where_.numa_nodes(gpus)),
            -whole_sets(numa_masks_, free & ~gpus),
            static_cast<double>(where_.shared_nics(gpus)),
            where_.nic_distance(gpus)};
}

// Adds, one by one, the GPU whose slowest link to those taken is fastest; ties: more GPUs of the same island, lower
// GPU.
gpu_mask searched_subsets::grow(gpu_mask seed, gpu_mask free, unsigned wanted) const noexcept {
    gpu_mask taken = seed;
    std::array<double, topo::max_gpus_per_node> reach;
    reach.fill(std::numeric_limits<double>::infinity());
    const auto narrow = [&](std::size_t by) {
        for (gpu_mask rest = free & ~taken; rest != 0; rest &= rest - 1) {
            const std::size_t g = lowest(rest);
            reach[g] = std::min({reach[g], bw_(by, g), bw_(g, by)});
        }
    };
    for (gpu_mask m = seed; m != 0; m &= m - 1) narrow(lowest(m));
    while (topo::count(taken) < wanted) {
        std::size_t best = topo::max_gpus_per_node;
        for (gpu_mask rest = free & ~taken; rest != 0; rest &= rest - 1) {
            const std::size_t g = lowest(rest);
            if (best == topo::max_gpus_per_node || reach[g] > reach[best]) best = g;
        }
        taken |= bit(best);
        narrow(best);
    }
    return taken;
}

// Exchanges one GPU at a time for a free one while that lowers the key.
gpu_mask searched_subsets::improve(gpu_mask from, gpu_mask free, gpu_mask must, gpu_mask not_this) const noexcept {
    gpu_mask now = from;
    key_type now_key = key(now, free);
    for (unsigned round = 0; round < 4; ++round) {
        gpu_mask best = now;
        for (gpu_mask out = now & ~must; out != 0; out &= out - 1)
            for (gpu_mask in = free & ~now; in != 0; in &= in - 1) {
                const gpu_mask next = (now & ~bit(lowest(out))) | bit(lowest(in));
                if (next == not_this) continue;
                const key_type next_key = key(next, free);
                if (next_key < now_key || (next_key == now_key && next < best)) {
                    best = next;
                    now_key = next_key;
                }
            }
        if (best == now) break;
        now = best;
    }
    return now;
}

gpu_mask searched_subsets::best(gpu_mask free, unsigned wanted, gpu_mask must, gpu_mask not_this) const noexcept {
    gpu_mask found = 0;
    key_type found_key{};
    const auto offer = [&](gpu_mask candidate) {
        if (candidate == not_this) return;
        const key_type now = key(candidate, free);
        if (found != 0 && (found_key < now || (found_key == now && found <= candidate))) return;
        found = candidate;
        found_key = now;
    };
    if (must != 0) {
        offer(grow(must, free, wanted));
    } else {
        for (gpu_mask seeds = free; seeds != 0; seeds &= seeds - 1) offer(grow(bit(lowest(seeds)), free, wanted));
    }
    if (found == 0) {  // every growth gave the forbidden set: leave it by one exchange
        const gpu_mask out = not_this & ~must;
        const gpu_mask in = free & ~not_this;
        for (gpu_mask a = out; a != 0; a &= a - 1)
            for (gpu_mask b = in; b != 0; b &= b - 1) offer((not_this & ~bit(lowest(a))) | bit(lowest(b)));
    }
    return found == 0 ? 0 : improve(found, free, must, not_this);
}

subset_choice searched_subsets::score(gpu_mask gpus, gpu_mask free) const noexcept {
    subset_choice out;
    out.gpus = gpus;
    out.ring_us = ring(gpus).time_us(topo::count(gpus), bytes_);
    out.numa_nodes = where_.numa_nodes(gpus);
    const gpu_mask rest = free & ~gpus;
    const double most = whole_sets(std::span(&rest, 1), rest);  // so many GPUs in one island
    if (most > 0) out.damage = std::clamp(1 - whole_sets(where_.islands, rest) / most, 0.0, 1.0);
    return out;
}

}  // namespace placement

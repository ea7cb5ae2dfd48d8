// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "placement/residual.hpp"
#include "placement/subset_impl.hpp"

namespace placement {
namespace {

constexpr int class_shift = 40;  // of the time class in a key; below it 24 bits of lost value, then 16 of tie rank
constexpr std::uint32_t full_worth = 1000;
constexpr double far_numa_factor = 0.95;

unsigned size_of(std::size_t mask) noexcept { return static_cast<unsigned>(std::popcount(mask)); }

}  // namespace

complete_subsets::complete_subsets(const locality& where, ring_table rings, const subset_options& options)
    : gpus_(rings.gpus), bytes_(options.message_bytes), rings_(std::move(rings)) {
    const std::size_t subsets = std::size_t{1} << gpus_;
    numa_nodes_.resize(subsets);
    for (std::size_t s = 0; s < subsets; ++s) numa_nodes_[s] = where.numa_nodes(s);
    by_size_.resize(subsets);
    size_begin_.assign(gpus_ + 2, 0);
    for (std::size_t s = 0; s < subsets; ++s) ++size_begin_[size_of(s) + 1];
    for (std::size_t k = 0; k <= gpus_; ++k) size_begin_[k + 1] += size_begin_[k];
    std::vector<std::uint32_t> next(size_begin_.begin(), size_begin_.end());
    for (std::size_t s = 0; s < subsets; ++s) by_size_[next[size_of(s)]++] = static_cast<std::uint16_t>(s);
    classify(options.equal_within);
    value_rests(where);
    order_ties(where);
    choose_all();
}

void complete_subsets::classify(double equal_within) {
    const std::size_t subsets = std::size_t{1} << gpus_;
    time_class_.assign(subsets, 0);
    class_time_.assign(subsets, 0);
    std::vector<double> time(subsets, 0);
    for (std::size_t s = 0; s < subsets; ++s) time[s] = ring(s).time_us(size_of(s), bytes_);
    for (std::size_t k = 2; k <= gpus_; ++k) {
        const auto first = by_size_.begin() + size_begin_[k];
        const auto last = by_size_.begin() + size_begin_[k + 1];
        std::sort(first, last, [&](auto a, auto b) { return time[a] < time[b]; });
        double start = time[*first];
        std::uint16_t number = 0;
        for (auto at = first; at != last; ++at) {
            if (time[*at] > start * (1 + equal_within)) {
                start = time[*at];
                ++number;
            }
            time_class_[*at] = number;
            class_time_[*at] = start;
        }
    }
}

void complete_subsets::value_rests(const locality& where) {
    std::vector<unsigned> sizes = {2, 4, 8, static_cast<unsigned>(gpus_ / 2)};
    for (const auto island : where.islands) sizes.push_back(topo::count(island));
    std::sort(sizes.begin(), sizes.end());
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    const std::size_t subsets = std::size_t{1} << gpus_;
    std::vector<std::uint32_t> worth(subsets, 0);
    for (const unsigned k : sizes) {
        if (k < 2 || k >= gpus_) continue;
        const auto first = by_size_.begin() + size_begin_[k];
        const auto last = by_size_.begin() + size_begin_[k + 1];
        const double fastest = class_time_[*first];
        unsigned fewest = 255;
        for (auto at = first; at != last; ++at) fewest = std::min<unsigned>(fewest, numa_nodes_[*at]);
        for (auto at = first; at != last; ++at) {
            const double speed = class_time_[*at] > 0 ? fastest / class_time_[*at] : 1;
            const double near = std::pow(far_numa_factor, numa_nodes_[*at] - fewest);
            worth[*at] = static_cast<std::uint32_t>(std::lround(full_worth * speed * near));
        }
    }
    value_ = residual_values(gpus_, sizes, worth);
    most_value_ = *std::max_element(value_.begin(), value_.end());
    most_by_size_.assign(gpus_ + 1, 0);
    for (std::size_t s = 0; s < subsets; ++s)
        most_by_size_[size_of(s)] = std::max(most_by_size_[size_of(s)], value_[s]);
}

void complete_subsets::order_ties(const locality& where) {
    const std::size_t subsets = std::size_t{1} << gpus_;
    std::vector<std::tuple<std::uint8_t, std::uint8_t, float, std::uint16_t>> order(subsets);
    for (std::size_t s = 0; s < subsets; ++s)
        order[s] = {numa_nodes_[s], where.shared_nics(s), static_cast<float>(where.nic_distance(s)),
                    static_cast<std::uint16_t>(s)};
    std::sort(order.begin(), order.end());
    still_.resize(subsets);
    for (std::size_t i = 0; i < subsets; ++i) {
        const std::size_t s = std::get<3>(order[i]);
        still_[s] = (std::uint64_t{time_class_[s]} << class_shift) | i;
    }
    for (std::size_t k = 0; k <= gpus_; ++k)
        std::sort(by_size_.begin() + size_begin_[k], by_size_.begin() + size_begin_[k + 1],
                  [&](auto a, auto b) { return still_[a] < still_[b]; });
}

void complete_subsets::choose_all() {
    const std::size_t columns = gpus_ + 1;
    const std::uint32_t end = 1u << gpus_;
    best_.assign(end * columns, 0);
    std::array<std::uint64_t, max_table_gpus + 1> least{};
    for (std::uint32_t free = 1; free < end; ++free) {
        least.fill(std::numeric_limits<std::uint64_t>::max());
        std::uint16_t* const row = best_.data() + free * columns;
        for (std::uint32_t s = free; s != 0; s = (s - 1) & free) {
            const unsigned k = size_of(s);
            const std::uint64_t now = key(s, free);
            if (now >= least[k]) continue;
            least[k] = now;
            row[k] = static_cast<std::uint16_t>(s);
        }
    }
}

gpu_mask complete_subsets::best(gpu_mask free, unsigned wanted) const noexcept {
    return best_[static_cast<std::size_t>(free) * (gpus_ + 1) + wanted];
}

gpu_mask complete_subsets::scan(gpu_mask free, unsigned wanted, gpu_mask must, gpu_mask not_this) const noexcept {
    std::uint32_t found = 0;
    std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
    for (std::uint32_t i = size_begin_[wanted]; i < size_begin_[wanted + 1]; ++i) {
        const std::uint32_t s = by_size_[i];
        if ((s & ~free) != 0 || (must & ~gpu_mask{s}) != 0 || s == not_this) continue;
        if (found != 0 && time_class_[s] != time_class_[found]) break;
        const std::uint64_t now = key(s, static_cast<std::uint32_t>(free));
        if (now >= least) continue;
        least = now;
        found = s;
    }
    return found;
}

subset_choice complete_subsets::score(gpu_mask gpus, gpu_mask free) const noexcept {
    subset_choice out;
    out.gpus = gpus;
    out.ring_us = ring(gpus).time_us(topo::count(gpus), bytes_);
    out.numa_nodes = numa_nodes_[gpus];
    const gpu_mask rest = free & ~gpus;
    const std::uint32_t most = most_by_size_[size_of(rest)];
    if (most > 0) out.damage = 1 - static_cast<double>(value_[rest]) / most;
    return out;
}

ring_cost complete_subsets::ring(gpu_mask gpus) const noexcept {
    if (size_of(gpus) < 2) return {};
    return {rings_.alphas[rings_.alpha[gpus]], rings_.bandwidths[rings_.bw[gpus]]};
}

std::size_t complete_subsets::ring_order(gpu_mask gpus, std::span<std::uint8_t> out) const noexcept {
    const std::size_t p = size_of(gpus);
    for (std::size_t i = 0; i < p; ++i) out[i] = static_cast<std::uint8_t>((rings_.orders[gpus] >> (4 * i)) & 15);
    return p;
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <tuple>

#include "placement/residual.hpp"
#include "placement/subset_impl.hpp"

namespace placement {
namespace {

// A key, most significant first. High word: time class, value the rest loses (15 bits), rank by (worth of the subset
// itself by links, NUMA nodes) among its size. Low word: value the rest loses when NUMA counts (15), rank by (NICs,
// mask) (14). C(16, 8) = 12,870 < 2^14 bounds every rank and class.
constexpr int class_shift = 29, lost_shift = 14, near_shift = 14;
constexpr std::uint32_t full_worth = 250;  // keeps the values of 16 GPUs and 8 job sizes below 2^15
constexpr double far_numa_factor = 0.95;

unsigned size_of(std::size_t mask) noexcept { return static_cast<unsigned>(std::popcount(mask)); }

ring_cost cost_of(const ring_table& rings, std::size_t mask) noexcept {
    if (size_of(mask) < 2) return {};
    return {rings.alphas[rings.alpha[mask]], rings.bandwidths[rings.bw[mask]]};
}

}  // namespace

std::vector<double> ring_times(const ring_table& rings, double bytes) {
    std::vector<double> time(std::size_t{1} << rings.gpus, 0);
    for (std::size_t s = 0; s < time.size(); ++s) time[s] = cost_of(rings, s).time_us(size_of(s), bytes);
    return time;
}

// (p−1) · worst α + the slower of one pair's share and of all that a port moves; docs/patterns.md.
std::vector<double> all_pairs_times(const topo::matrix<double>& alpha_us, const topo::matrix<double>& gb_per_s,
                                    const port_rates& ports, double bytes) {
    const std::size_t n = alpha_us.rows();
    struct worst {
        double alpha_us = 0;
        double pair = std::numeric_limits<double>::infinity();
        double port = std::numeric_limits<double>::infinity();
    };
    std::vector<worst> of(std::size_t{1} << n);
    std::vector<double> time(of.size(), 0);
    for (std::size_t s = 1; s < of.size(); ++s) {  // the subset without its lowest GPU came before
        const auto a = static_cast<std::size_t>(std::countr_zero(s));
        worst w = of[s & (s - 1)];
        w.port = std::min({w.port, ports.out[a], ports.in[a]});
        for (std::size_t rest = s & (s - 1); rest != 0; rest &= rest - 1) {
            const auto b = static_cast<std::size_t>(std::countr_zero(rest));
            w.alpha_us = std::max({w.alpha_us, alpha_us(a, b), alpha_us(b, a)});
            w.pair = std::min({w.pair, gb_per_s(a, b), gb_per_s(b, a)});
        }
        of[s] = w;
        const unsigned p = size_of(s);
        if (p < 2) continue;
        const double each = bytes / p / 1e3;
        time[s] = (p - 1) * w.alpha_us + std::max(each / w.pair, (p - 1) * each / w.port);
    }
    return time;
}

complete_subsets::complete_subsets(const locality& where, std::span<const double> time, ring_table used,
                                   const subset_options& options)
    : gpus_(used.gpus), bytes_(options.message_bytes), rings_(std::move(used)) {
    const std::size_t subsets = std::size_t{1} << gpus_;
    numa_nodes_.resize(subsets);
    for (std::size_t s = 0; s < subsets; ++s) numa_nodes_[s] = where.numa_nodes(s);
    by_size_.resize(subsets);
    size_begin_.assign(gpus_ + 2, 0);
    for (std::size_t s = 0; s < subsets; ++s) ++size_begin_[size_of(s) + 1];
    for (std::size_t k = 0; k <= gpus_; ++k) size_begin_[k + 1] += size_begin_[k];
    std::vector<std::uint32_t> next(size_begin_.begin(), size_begin_.end());
    for (std::size_t s = 0; s < subsets; ++s) by_size_[next[size_of(s)]++] = static_cast<std::uint16_t>(s);
    classify(time, options.equal_within);
    value_rests(where);
    order_ties(where);
    choose_all();
}

void complete_subsets::classify(std::span<const double> time, double equal_within) {
    const std::size_t subsets = std::size_t{1} << gpus_;
    time_class_.assign(subsets, 0);
    class_time_.assign(subsets, 0);
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
    std::vector<std::uint32_t> near_worth(subsets, 0);
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
            worth[*at] = static_cast<std::uint32_t>(std::lround(full_worth * speed));
            near_worth[*at] = static_cast<std::uint32_t>(std::lround(full_worth * speed * near));
        }
    }
    value_ = residual_values(gpus_, sizes, worth);
    near_value_ = residual_values(gpus_, sizes, near_worth);
    most_value_ = *std::max_element(value_.begin(), value_.end());
    most_near_ = *std::max_element(near_value_.begin(), near_value_.end());
    most_by_size_.assign(gpus_ + 1, 0);
    for (std::size_t s = 0; s < subsets; ++s)
        most_by_size_[size_of(s)] = std::max(most_by_size_[size_of(s)], value_[s]);
}

void complete_subsets::order_ties(const locality& where) {
    const std::size_t subsets = std::size_t{1} << gpus_;
    // Dense ranks: equal subsets share one, so that the next criterion decides between them.
    std::vector<std::tuple<std::uint32_t, std::uint8_t, std::uint16_t>> own(subsets);
    std::vector<std::tuple<std::uint8_t, float, std::uint16_t>> nics(subsets);
    for (std::size_t s = 0; s < subsets; ++s) {
        own[s] = {most_value_ - value_[s], numa_nodes_[s], static_cast<std::uint16_t>(s)};
        nics[s] = {where.shared_nics(s), static_cast<float>(where.nic_distance(s)), static_cast<std::uint16_t>(s)};
    }
    std::sort(own.begin(), own.end());
    std::sort(nics.begin(), nics.end());
    high_.resize(subsets);
    low_.resize(subsets);
    struct last_seen {
        std::uint32_t lost = 0;
        std::uint8_t numa = 0;
        std::uint64_t rank = 0;
    };
    std::array<last_seen, max_table_gpus + 1> last{};
    for (const auto& [lost, numa, s] : own) {
        last_seen& before = last[size_of(s)];
        if (before.lost != lost || before.numa != numa) before = {lost, numa, before.rank + 1};
        high_[s] = (std::uint64_t{time_class_[s]} << class_shift) | before.rank;
    }
    std::array<std::uint32_t, max_table_gpus + 1> rank{};
    for (const auto& [shared, distance, s] : nics) low_[s] = rank[size_of(s)]++;
    for (std::size_t k = 0; k <= gpus_; ++k)
        std::sort(by_size_.begin() + size_begin_[k], by_size_.begin() + size_begin_[k + 1],
                  [&](auto x, auto y) { return std::tuple(high_[x], low_[x]) < std::tuple(high_[y], low_[y]); });
}

std::uint64_t complete_subsets::high_key(std::uint32_t subset, std::uint32_t free) const noexcept {
    return high_[subset] + (std::uint64_t{most_value_ - value_[free & ~subset]} << lost_shift);
}

std::uint32_t complete_subsets::low_key(std::uint32_t subset, std::uint32_t free) const noexcept {
    return low_[subset] + ((most_near_ - near_value_[free & ~subset]) << near_shift);
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
            const std::uint64_t now = high_key(s, free);
            if (now > least[k] || (now == least[k] && low_key(s, free) >= low_key(row[k], free))) continue;
            least[k] = now;
            row[k] = static_cast<std::uint16_t>(s);
        }
    }
}

gpu_mask complete_subsets::best(gpu_mask free, unsigned wanted) const noexcept {
    return best_[static_cast<std::size_t>(free) * (gpus_ + 1) + wanted];
}

gpu_mask complete_subsets::scan(gpu_mask free, unsigned wanted, gpu_mask must, gpu_mask not_this) const noexcept {
    const auto from = static_cast<std::uint32_t>(free);
    std::uint32_t found = 0;
    std::uint64_t least = 0;
    for (std::uint32_t i = size_begin_[wanted]; i < size_begin_[wanted + 1]; ++i) {
        const std::uint32_t s = by_size_[i];
        if ((s & ~free) != 0 || (must & ~gpu_mask{s}) != 0 || s == not_this) continue;
        if (found != 0 && time_class_[s] != time_class_[found]) break;
        const std::uint64_t now = high_key(s, from);
        if (found != 0 && (now > least || (now == least && low_key(s, from) >= low_key(found, from)))) continue;
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

ring_cost complete_subsets::ring(gpu_mask gpus) const noexcept { return cost_of(rings_, gpus); }

std::size_t complete_subsets::ring_order(gpu_mask gpus, std::span<std::uint8_t> out) const noexcept {
    const std::size_t p = size_of(gpus);
    for (std::size_t i = 0; i < p; ++i) out[i] = static_cast<std::uint8_t>((rings_.orders[gpus] >> (4 * i)) & 15);
    return p;
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// What subset_table is compared with: rings by trying every order, choices by comparing every subset, in the order
// that placement/subset_table.hpp states in words. Slow on purpose; up to about ten GPUs.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <tuple>
#include <utility>
#include <vector>

#include "../placement/boards.hpp"
#include "topo/node_class.hpp"

namespace exact {

using boards::cost;
using topo::gpu_mask;

inline unsigned size_of(gpu_mask m) { return topo::count(m); }

inline std::vector<unsigned> members(gpu_mask m) {
    std::vector<unsigned> out;
    for (; m != 0; m &= m - 1) out.push_back(static_cast<unsigned>(std::countr_zero(m)));
    return out;
}

inline double ring_time(double alpha, double bw, std::size_t p, double bytes) {
    const double n = static_cast<double>(p);
    return p < 2 ? 0 : 2 * (n - 1) * alpha + 2 * (n - 1) / n * bytes / (bw * 1e3);
}

// Every order of the GPUs after the first; a branch ends where it cannot beat the best ring so far.
class all_rings {
public:
    all_rings(const topo::matrix<topo::cost>& cells, gpu_mask gpus, double bytes)
        : cells_(cells), gpus_(members(gpus)), bytes_(bytes) {
        if (gpus_.size() > 1) extend(1, 0, std::numeric_limits<double>::infinity());
    }
    [[nodiscard]] double best() const { return gpus_.size() < 2 ? 0 : best_; }

private:
    void extend(std::size_t at, double alpha, double bw) {
        if (ring_time(alpha, bw, gpus_.size(), bytes_) >= best_) return;
        if (at == gpus_.size()) {
            const topo::cost& close = cells_(gpus_.back(), gpus_.front());
            best_ = std::min(
                best_, ring_time(std::max(alpha, close.alpha_us), std::min(bw, close.gb_per_s), gpus_.size(), bytes_));
            return;
        }
        for (std::size_t i = at; i < gpus_.size(); ++i) {
            std::swap(gpus_[at], gpus_[i]);
            const topo::cost& hop = cells_(gpus_[at - 1], gpus_[at]);
            extend(at + 1, std::max(alpha, hop.alpha_us), std::min(bw, hop.gb_per_s));
            std::swap(gpus_[at], gpus_[i]);
        }
    }
    const topo::matrix<topo::cost>& cells_;
    std::vector<unsigned> gpus_;
    double bytes_;
    double best_ = std::numeric_limits<double>::infinity();
};

// The order that subset_table.hpp states, worked out from its words.
class reference {
public:
    using key_type = std::tuple<std::size_t, long, long, unsigned, long, unsigned, double, gpu_mask>;

    reference(const topo::node_class& c, double bytes, double equal_within) : c_(c), n_(c.gpus.size()) {
        const auto& cells = c.best_layer(topo::endpoint::gpu, topo::endpoint::gpu)->cells;
        const std::size_t subsets = std::size_t{1} << n_;
        for (gpu_mask s = 0; s < subsets; ++s) time_.push_back(all_rings(cells, s, bytes).best());
        class_.resize(subsets);
        speed_.resize(subsets, 1);
        for (std::size_t k = 2; k <= n_; ++k) cut(k, equal_within);
        sizes_ = {2, 4, 8, static_cast<unsigned>(n_ / 2)};
        for (const auto island : topo::islands(c)) sizes_.push_back(size_of(island));
        std::sort(sizes_.begin(), sizes_.end());
        sizes_.erase(std::unique(sizes_.begin(), sizes_.end()), sizes_.end());
        nics_ = topo::nearest_nics(c);
    }

    [[nodiscard]] double time(gpu_mask s) const { return time_[s]; }

    [[nodiscard]] key_type key(gpu_mask s, gpu_mask free) {
        return {class_[s],
                -value(free & ~s, false),
                -value(s, false),
                numa(s),
                -value(free & ~s, true),
                shared(s),
                distance(s),
                s};
    }

    [[nodiscard]] gpu_mask best(gpu_mask free, unsigned k, gpu_mask must = 0) {
        gpu_mask found = 0;
        key_type least;
        for (gpu_mask s = free; s != 0; s = (s - 1) & free) {
            if (size_of(s) != k || (must & ~s) != 0) continue;
            const key_type now = key(s, free);
            if (found != 0 && least <= now) continue;
            found = s;
            least = now;
        }
        return found;
    }

private:
    void cut(std::size_t k, double equal_within) {
        std::vector<gpu_mask> of_size;
        for (gpu_mask s = 0; s < time_.size(); ++s)
            if (size_of(s) == k) of_size.push_back(s);
        std::sort(of_size.begin(), of_size.end(), [&](auto a, auto b) { return time_[a] < time_[b]; });
        double start = time_[of_size.front()];
        std::size_t number = 0;
        for (const auto s : of_size) {
            if (time_[s] > start * (1 + equal_within)) {
                start = time_[s];
                ++number;
            }
            class_[s] = number;
            speed_[s] = start > 0 ? time_[of_size.front()] / start : 1;
        }
    }
    [[nodiscard]] unsigned numa(gpu_mask s) const {
        std::vector<int> seen;
        for (const auto g : members(s))
            if (c_.gpus[g].numa >= 0) seen.push_back(c_.gpus[g].numa);
        std::sort(seen.begin(), seen.end());
        return static_cast<unsigned>(std::unique(seen.begin(), seen.end()) - seen.begin());
    }
    [[nodiscard]] unsigned shared(gpu_mask s) const {
        std::vector<int> seen;
        for (const auto g : members(s))
            if (nics_[g] >= 0) seen.push_back(nics_[g]);
        std::sort(seen.begin(), seen.end());
        const auto distinct = std::unique(seen.begin(), seen.end()) - seen.begin();
        return static_cast<unsigned>(static_cast<std::ptrdiff_t>(seen.size()) - distinct);
    }
    [[nodiscard]] double distance(gpu_mask s) const {
        const auto* layer = c_.best_layer(topo::endpoint::gpu, topo::endpoint::nic);
        if (layer == nullptr) return 0;
        double best = 0;
        const auto own = [&](std::size_t g) { return layer->cells(g, static_cast<std::size_t>(nics_[g])).gb_per_s; };
        for (std::size_t g = 0; g < n_; ++g)
            if (nics_[g] >= 0) best = std::max(best, own(g));
        double sum = 0;
        for (const auto g : members(s))
            if (nics_[g] >= 0) sum += std::round(4 * best / own(g)) / 4;
        return sum;
    }
    // Worth of one subset in 250ths, as the table rounds it.
    [[nodiscard]] long worth(gpu_mask s, bool near) {
        double w = 250 * speed_[s];
        if (near) {
            unsigned fewest = 99;
            for (gpu_mask o = 0; o < time_.size(); ++o)
                if (size_of(o) == size_of(s)) fewest = std::min(fewest, numa(o));
            w *= std::pow(0.95, numa(s) - fewest);
        }
        return std::lround(w);
    }
    [[nodiscard]] long pack(gpu_mask r, unsigned s, bool near) {
        if (size_of(r) < s) return 0;
        const auto at = std::tuple(r, s, near);
        if (const auto known = packed_.find(at); known != packed_.end()) return known->second;
        const gpu_mask low = r & (~r + 1);
        long most = pack(r & ~low, s, near);
        for (gpu_mask part = r; part != 0; part = (part - 1) & r)
            if ((part & low) != 0 && size_of(part) == s)
                most = std::max(most, worth_of(part, near) + pack(r & ~part, s, near));
        return packed_[at] = most;
    }
    [[nodiscard]] long worth_of(gpu_mask s, bool near) {
        const auto at = std::pair(s, near);
        if (const auto known = worth_.find(at); known != worth_.end()) return known->second;
        return worth_[at] = worth(s, near);
    }
    [[nodiscard]] long value(gpu_mask r, bool near) {
        const auto at = std::pair(r, near);
        if (const auto known = value_.find(at); known != value_.end()) return known->second;
        long sum = 0;
        for (const unsigned s : sizes_)
            if (s >= 2 && s < n_) sum += s * pack(r, s, near);
        return value_[at] = sum;
    }

    const topo::node_class& c_;
    std::size_t n_;
    std::vector<double> time_, speed_;
    std::vector<std::size_t> class_;
    std::vector<unsigned> sizes_;
    std::vector<int> nics_;
    std::map<std::tuple<gpu_mask, unsigned, bool>, long> packed_;
    std::map<std::pair<gpu_mask, bool>, long> worth_, value_;
};

// Boards of several kinds: irregular, few levels, islands with noise, latency against bandwidth.
inline topo::node_class random_board(std::mt19937_64& random, std::size_t n) {
    std::uniform_real_distribution<double> unit(0, 1);
    const auto kind = random() % 4;
    const std::size_t islands = 1 + random() % 3;
    std::vector<std::size_t> island_of(n);
    for (auto& i : island_of) i = random() % islands;
    const std::array<double, 4> level = {400, 100, 25, 10};
    const auto numas = 1 + random() % 3;
    const bool known = random() % 4 != 0;
    auto c = boards::board(
        "random", n,
        [&](std::size_t a, std::size_t b) {
            switch (kind) {
                case 0: return cost(1 + 9 * unit(random), 5 + 395 * unit(random));
                case 1: return cost(static_cast<double>(1 + random() % 3), level[random() % 4]);
                case 2: return cost(2, (island_of[a] == island_of[b] ? 200 : 20) * (0.98 + 0.04 * unit(random)));
                default: return cost(unit(random) < 0.5 ? 1 : 40, unit(random) < 0.5 ? 20 : 30);
            }
        },
        [&](std::size_t g) { return known ? static_cast<int>(g % numas) : -1; });
    if (random() % 2 == 0) c = boards::with_nics(std::move(c));
    return c;
}

}  // namespace exact

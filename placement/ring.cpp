// SPDX-License-Identifier: Apache-2.0
#include "placement/ring.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <functional>
#include <limits>

namespace placement {
namespace {

constexpr std::uint8_t no_ring = 255;  // ranks stay below: at most 16·15 = 240 distinct values

using row = std::array<std::uint8_t, 16>;
using rank_matrix = std::array<row, 16>;

struct bottleneck_dp {
    std::size_t gpus;
    rank_matrix hop{};               // rank of a hop, no_ring where the threshold forbids it
    std::vector<row> extend;         // [S][v]: least bottleneck of a path from the lowest GPU of S through S to v
    std::vector<std::uint8_t> ring;  // [S]: least bottleneck of a ring over S

    explicit bottleneck_dp(std::size_t n) : gpus(n), extend(std::size_t{1} << n), ring(std::size_t{1} << n) {}

    void run() noexcept {
        const std::uint32_t end = 1u << gpus;
        for (std::uint32_t s = 1; s < end; ++s) {
            const unsigned start = static_cast<unsigned>(std::countr_zero(s));
            std::uint32_t lasts = s & (s - 1);
            if (lasts == 0) {
                extend[s] = hop[start];
                continue;
            }
            row best;
            best.fill(no_ring);
            for (; lasts != 0; lasts &= lasts - 1) {
                const unsigned u = static_cast<unsigned>(std::countr_zero(lasts));
                const std::uint8_t so_far = extend[s & ~(1u << u)][u];
                const row& out = hop[u];
                for (std::size_t v = 0; v < 16; ++v) {
                    const std::uint8_t worse = out[v] > so_far ? out[v] : so_far;
                    best[v] = best[v] < worse ? best[v] : worse;
                }
            }
            extend[s] = best;
            ring[s] = best[start];
        }
    }

    // One ring over s whose hops all rank ≤ bound (ring[s] ≤ bound), packed as in ring_table::orders.
    [[nodiscard]] std::uint64_t order(std::uint32_t s, std::uint8_t bound) const noexcept {
        const unsigned start = static_cast<unsigned>(std::countr_zero(s));
        unsigned next = start;
        std::uint64_t packed = 0;
        std::uint32_t left = s;
        for (unsigned position = static_cast<unsigned>(std::popcount(s)) - 1; position > 0; --position) {
            for (std::uint32_t lasts = left & (left - 1); lasts != 0; lasts &= lasts - 1) {
                const unsigned u = static_cast<unsigned>(std::countr_zero(lasts));
                if (hop[u][next] > bound || extend[left & ~(1u << u)][u] > bound) continue;
                packed |= std::uint64_t{u} << (4 * position);
                left &= ~(1u << u);
                next = u;
                break;
            }
        }
        return packed | start;
    }
};

// Distinct off-diagonal values, best first, and the rank of every hop among them.
template <class Better>
std::vector<double> rank_values(const topo::matrix<double>& values, Better better, rank_matrix& ranks) {
    const std::size_t n = values.rows();
    std::vector<double> distinct;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
            if (a != b) distinct.push_back(values(a, b));
    std::sort(distinct.begin(), distinct.end(), better);
    distinct.erase(std::unique(distinct.begin(), distinct.end()), distinct.end());
    for (auto& r : ranks) r.fill(no_ring);
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
            if (a != b)
                ranks[a][b] = static_cast<std::uint8_t>(
                    std::lower_bound(distinct.begin(), distinct.end(), values(a, b), better) - distinct.begin());
    return distinct;
}

double ring_time(std::uint32_t s, double alpha_us, double gb_per_s, double bytes) noexcept {
    const double p = std::popcount(s);
    return 2 * (p - 1) * alpha_us + 2 * (p - 1) / p * bytes / (gb_per_s * 1e3);
}

// The search for all subsets: `first` is the value with a threshold, `second` the one the DP minimises.
class ring_search {
public:
    ring_search(std::size_t gpus, double bytes, bool alpha_first, const rank_matrix& alpha_ranks,
                const rank_matrix& bw_ranks, ring_table& out)
        : alpha_first_(alpha_first),
          bytes_(bytes),
          first_(alpha_first ? alpha_ranks : bw_ranks),
          second_(alpha_first ? bw_ranks : alpha_ranks),
          out_(out),
          first_rank_(alpha_first ? out.alpha : out.bw),
          second_rank_(alpha_first ? out.bw : out.alpha),
          best_(std::size_t{1} << gpus),
          dp_(gpus) {}

    void run() {
        const std::size_t firsts = (alpha_first_ ? out_.alphas : out_.bandwidths).size();
        const std::uint32_t end = 1u << dp_.gpus;
        dp_.hop = first_;
        dp_.run();
        const std::vector<std::uint8_t> least_first = dp_.ring;
        dp_.hop = second_;
        dp_.run();
        const std::vector<std::uint8_t> least_second = dp_.ring;
        std::vector<bool> needed(firsts, false);
        for (std::uint32_t s = 1; s < end; ++s) {
            if (std::has_single_bit(s)) {
                out_.orders[s] = static_cast<std::uint64_t>(std::countr_zero(s));
                continue;
            }
            best_[s] = std::numeric_limits<double>::infinity();
            take(s);
            for (std::size_t t = least_first[s]; t < firsts && time(s, t, least_second[s]) < best_[s]; ++t)
                needed[t] = true;
        }
        for (std::size_t t = 0; t < firsts; ++t)
            if (needed[t]) try_threshold(static_cast<std::uint8_t>(t));
    }

private:
    [[nodiscard]] double time(std::uint32_t s, std::size_t first, std::size_t second) const noexcept {
        return ring_time(s, out_.alphas[alpha_first_ ? first : second], out_.bandwidths[alpha_first_ ? second : first],
                         bytes_);
    }

    void try_threshold(std::uint8_t t) {
        for (std::size_t a = 0; a < 16; ++a)
            for (std::size_t b = 0; b < 16; ++b) dp_.hop[a][b] = first_[a][b] <= t ? second_[a][b] : no_ring;
        dp_.run();
        const std::uint32_t end = 1u << dp_.gpus;
        for (std::uint32_t s = 1; s < end; ++s) {
            if (std::has_single_bit(s) || dp_.ring[s] == no_ring) continue;
            if (time(s, t, dp_.ring[s]) < best_[s]) take(s);
        }
    }

    // Keeps the ring that the DP holds for s, with its true first value (at or below the threshold).
    void take(std::uint32_t s) noexcept {
        const std::uint64_t order = dp_.order(s, dp_.ring[s]);
        const unsigned p = static_cast<unsigned>(std::popcount(s));
        std::uint8_t first = 0;
        for (unsigned i = 0; i < p; ++i) {
            const auto from = (order >> (4 * i)) & 15;
            const auto to = (order >> (4 * ((i + 1) % p))) & 15;
            first = std::max(first, first_[from][to]);
        }
        const double now = time(s, first, dp_.ring[s]);
        if (now >= best_[s]) return;
        best_[s] = now;
        first_rank_[s] = first;
        second_rank_[s] = dp_.ring[s];
        out_.orders[s] = order;
    }

    bool alpha_first_;
    double bytes_;
    const rank_matrix& first_;
    const rank_matrix& second_;
    ring_table& out_;
    std::vector<std::uint8_t>& first_rank_;
    std::vector<std::uint8_t>& second_rank_;
    std::vector<double> best_;
    bottleneck_dp dp_;
};

}  // namespace

ring_table build_rings(const topo::matrix<double>& alpha_us, const topo::matrix<double>& gb_per_s, double bytes) {
    ring_table out;
    out.gpus = alpha_us.rows();
    const std::size_t subsets = std::size_t{1} << out.gpus;
    out.alpha.assign(subsets, 0);
    out.bw.assign(subsets, 0);
    out.orders.assign(subsets, 0);
    rank_matrix alpha_ranks{};
    rank_matrix bw_ranks{};
    out.alphas = rank_values(alpha_us, std::less<>{}, alpha_ranks);
    out.bandwidths = rank_values(gb_per_s, std::greater<>{}, bw_ranks);
    const bool alpha_first = out.alphas.size() <= out.bandwidths.size();
    ring_search(out.gpus, bytes, alpha_first, alpha_ranks, bw_ranks, out).run();
    return out;
}

ring_table prefer_index_order(ring_table rings, const topo::matrix<double>& alpha_us,
                              const topo::matrix<double>& gb_per_s, double bytes, double within) {
    rank_matrix alpha_ranks{};
    rank_matrix bw_ranks{};
    (void)rank_values(alpha_us, std::less<>{}, alpha_ranks);
    (void)rank_values(gb_per_s, std::greater<>{}, bw_ranks);
    const std::uint32_t end = 1u << rings.gpus;
    for (std::uint32_t s = 1; s < end; ++s) {
        if (std::has_single_bit(s)) continue;
        const auto lowest = static_cast<unsigned>(std::countr_zero(s));
        unsigned from = lowest;
        std::uint64_t order = lowest;
        std::uint8_t alpha = 0, bw = 0;
        const auto hop = [&](unsigned to) {
            alpha = std::max(alpha, alpha_ranks[from][to]);
            bw = std::max(bw, bw_ranks[from][to]);
            from = to;
        };
        unsigned position = 1;
        for (std::uint32_t rest = s & (s - 1); rest != 0; rest &= rest - 1) {
            hop(static_cast<unsigned>(std::countr_zero(rest)));
            order |= std::uint64_t{from} << (4 * position++);
        }
        hop(lowest);
        const double fastest = ring_time(s, rings.alphas[rings.alpha[s]], rings.bandwidths[rings.bw[s]], bytes);
        if (ring_time(s, rings.alphas[alpha], rings.bandwidths[bw], bytes) > fastest * (1 + within)) continue;
        rings.alpha[s] = alpha;
        rings.bw[s] = bw;
        rings.orders[s] = order;
    }
    return rings;
}

}  // namespace placement

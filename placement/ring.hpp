// SPDX-License-Identifier: Apache-2.0
// The fastest ring of every subset of up to 16 GPUs. Internal to placement/.
//
// A ring over p GPUs costs A·(greatest α of a hop) + B / (least bandwidth of a hop), A = 2(p−1),
// B = 2(p−1)/p · bytes. Both are bottlenecks, so the optimum is found by a threshold on one and a bottleneck path DP on
// the other (Held and Karp 1962, with max in place of the sum): for every distinct value t of the first, the DP over
// (subset, last GPU) gives the best second value of a ring whose hops all stay within t. The minimum over t is the
// optimum, since the best ring itself is seen at t = its own first value. Two DPs without threshold bound both values
// from below and leave out every t that cannot win. tests/exact compares with all permutations.
#pragma once

#include <cstdint>
#include <vector>

#include "topo/matrix.hpp"

namespace placement {

struct ring_table {
    std::size_t gpus = 0;
    std::vector<double> alphas;         // distinct α in µs, ascending
    std::vector<double> bandwidths;     // distinct GB/s, descending
    std::vector<std::uint8_t> alpha;    // [mask] index into alphas of the best ring; meaningless below two GPUs
    std::vector<std::uint8_t> bw;       // [mask] index into bandwidths
    std::vector<std::uint64_t> orders;  // [mask] GPU i of the ring in bits 4i … 4i+3, lowest GPU first
};

// alpha_us and gb_per_s are n × n, n ≤ 16; [a][b] is the hop a → b. The diagonal is not read.
// O(distinct values × 2^n × n) at worst.
[[nodiscard]] ring_table build_rings(const topo::matrix<double>& alpha_us, const topo::matrix<double>& gb_per_s,
                                     double bytes);

// The same rings, but each whose GPUs in order of their index take at most (1 + within) times as long is that one:
// noise then orders no ranks. O(2^n × n).
[[nodiscard]] ring_table prefer_index_order(ring_table rings, const topo::matrix<double>& alpha_us,
                                            const topo::matrix<double>& gb_per_s, double bytes, double within);

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "tests/bench/map_instances.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <random>

namespace bench {
namespace {

using placement::axis_kind;
using placement::grid_axis;
using placement::rank_grid;
using placement::slot_tree;

template <class T>
T value(topo::result<T> made) {
    if (made) return std::move(*made);
    std::fputs((made.failure().message() + "\n").c_str(), stderr);
    std::exit(2);
}

rank_grid stencil(std::uint32_t n) {
    const grid_axis face{n, 10, axis_kind::chain};
    return value(rank_grid::make(std::array{face, face, face}));
}

rank_grid training(std::uint32_t tp, std::uint32_t pp, std::uint32_t dp) {
    return value(rank_grid::make(std::array{grid_axis{tp, 1000, axis_kind::ring}, grid_axis{dp, 36, axis_kind::ring},
                                            grid_axis{pp, 24, axis_kind::chain}}));
}

slot_tree leaves_of_8(std::uint32_t leaves) {
    return value(slot_tree::regular(std::array{8u, 8u, leaves}, std::array{1.0, 10.0, 16.0}));
}

slot_tree scattered(std::uint32_t nodes, std::uint32_t leaves, unsigned seed) {
    std::vector<std::uint32_t> size(leaves, 1);
    std::mt19937 random(seed);
    for (std::uint32_t left = nodes - leaves; left > 0;) {
        auto& s = size[random() % leaves];
        if (s == 8) continue;
        ++s;
        --left;
    }
    return value(slot_tree::of_leaves(8, size, std::array{1.0, 10.0, 16.0}));
}

}  // namespace

std::vector<map_instance> regular_instances() {
    return {{"512/stencil", stencil(8), leaves_of_8(8)},
            {"512/tp8_pp8_dp8", training(8, 8, 8), leaves_of_8(8)},
            {"512/tp4_pp8_dp16", training(4, 8, 16), leaves_of_8(8)},
            {"4096/stencil", stencil(16), leaves_of_8(64)},
            {"4096/tp8_pp16_dp32", training(8, 16, 32), leaves_of_8(64)},
            {"4096/tp4_pp16_dp64", training(4, 16, 64), leaves_of_8(64)},
            {"32768/stencil", stencil(32), leaves_of_8(512)}};
}

std::vector<map_instance> irregular_instances() {
    return {{"64/stencil", stencil(8), scattered(64, 13, 1)},
            {"64/tp8_pp8_dp8", training(8, 8, 8), scattered(64, 13, 1)},
            {"64/tp4_pp8_dp16", training(4, 8, 16), scattered(64, 13, 1)},
            {"512/tp8_pp16_dp32", training(8, 16, 32), scattered(512, 110, 1)},
            {"512/stencil", stencil(16), scattered(512, 110, 1)}};
}

}  // namespace bench

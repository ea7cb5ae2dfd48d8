// SPDX-License-Identifier: Apache-2.0
// MIG slices and shares: pack and spread against every way to share out the slices.
#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <random>

#include "boards.hpp"
#include "placement/slices.hpp"

using placement::choose_slices;
using placement::slice_counts;
using placement::slice_policy;

namespace {

placement::subset_table pairs() {
    auto built = placement::subset_table::build(boards::paired(4, {{0, 2}, {1, 3}}), {});
    REQUIRE(built);
    return std::move(*built);
}

slice_counts counts(std::initializer_list<unsigned> given) {
    slice_counts out{};
    std::size_t g = 0;
    for (const unsigned n : given) out[g++] = static_cast<std::uint16_t>(n);
    return out;
}

unsigned used(const slice_counts& c) {
    return static_cast<unsigned>(std::count_if(c.begin(), c.end(), [](auto n) { return n > 0; }));
}

unsigned sum(const slice_counts& c) { return std::accumulate(c.begin(), c.end(), 0u); }

unsigned most(const slice_counts& c) { return *std::max_element(c.begin(), c.end()); }

}  // namespace

TEST_CASE("pack: one GPU if one has enough, the fullest such, and bridged pairs otherwise") {
    const auto t = pairs();
    CHECK(*choose_slices(t, counts({7, 3, 7, 7}), {}, 3, slice_policy::pack) == counts({0, 3, 0, 0}));
    CHECK(*choose_slices(t, counts({7, 7, 7, 7}), {}, 2, slice_policy::pack) == counts({2, 0, 0, 0}));
    CHECK(*choose_slices(t, counts({7, 7, 7, 7}), {}, 14, slice_policy::pack) == counts({7, 0, 7, 0}));
    CHECK(*choose_slices(t, counts({4, 4, 4, 4}), {}, 6, slice_policy::pack) == counts({4, 0, 2, 0}));
    CHECK(*choose_slices(t, counts({1, 1, 1, 1}), {}, 4, slice_policy::pack) == counts({1, 1, 1, 1}));
    CHECK(*choose_slices(t, counts({7, 7, 7, 7}), counts({0, 0, 0, 1}), 3, slice_policy::pack) == counts({0, 0, 0, 3}));
}

TEST_CASE("spread: as many GPUs as there are, evenly, near ones first") {
    const auto t = pairs();
    CHECK(*choose_slices(t, counts({7, 7, 7, 7}), {}, 2, slice_policy::spread) == counts({1, 0, 1, 0}));
    CHECK(*choose_slices(t, counts({7, 7, 7, 7}), {}, 4, slice_policy::spread) == counts({1, 1, 1, 1}));
    CHECK(*choose_slices(t, counts({7, 7, 7, 7}), {}, 10, slice_policy::spread) == counts({3, 3, 2, 2}));
    CHECK(*choose_slices(t, counts({1, 7, 7, 0}), {}, 9, slice_policy::spread) == counts({1, 4, 4, 0}));
    CHECK(*choose_slices(t, counts({7, 7, 7, 7}), counts({0, 2, 0, 0}), 3, slice_policy::spread) ==
          counts({0, 2, 0, 1}));
}

TEST_CASE("what cannot be had is refused") {
    const auto t = pairs();
    for (const auto policy : {slice_policy::pack, slice_policy::spread}) {
        CHECK_FALSE(choose_slices(t, counts({1, 1, 0, 0}), {}, 3, policy));
        CHECK_FALSE(choose_slices(t, counts({1, 1, 0, 0}), {}, 0, policy));
        CHECK_FALSE(choose_slices(t, counts({1, 1, 0, 0}), counts({2, 0, 0, 0}), 2, policy));
        CHECK_FALSE(choose_slices(t, counts({2, 1, 0, 0}), counts({2, 0, 0, 0}), 1, policy));
        CHECK_FALSE(choose_slices(t, counts({0, 0, 0, 0, 9}), {}, 1, policy));  // no such GPU
    }
    CHECK_FALSE(placement::slice_policy_named("packed"));
    CHECK(placement::slice_policy_named("spread") == slice_policy::spread);
}

TEST_CASE("4,000 random pools: exact count, from the free, the required among them, fewest or most GPUs") {
    std::mt19937 random(6);
    const auto t = pairs();
    auto large = placement::subset_table::build(boards::switched("large", 20), {});
    REQUIRE(large);
    for (int i = 0; i < 4000; ++i) {
        CAPTURE(i);
        const bool many = i % 4 == 0;
        const std::size_t gpus = many ? 20 : 4;
        slice_counts free{}, must{};
        for (std::size_t g = 0; g < gpus; ++g) {
            free[g] = static_cast<std::uint16_t>(random() % 8);
            if (free[g] > 0 && random() % 8 == 0) must[g] = static_cast<std::uint16_t>(1 + random() % free[g]);
        }
        const unsigned wanted = sum(must) + random() % 12;
        const auto policy = random() % 2 == 0 ? slice_policy::pack : slice_policy::spread;
        const auto got = choose_slices(many ? *large : t, free, must, wanted, policy);
        REQUIRE(got.has_value() == (wanted > 0 && sum(free) >= wanted));
        if (!got) continue;
        CHECK(sum(*got) == wanted);
        for (std::size_t g = 0; g < gpus; ++g) {
            CHECK((*got)[g] <= free[g]);
            CHECK((*got)[g] >= must[g]);
        }
        // The fewest GPUs: the required ones, then the fullest of the others.
        std::vector<unsigned> others;
        unsigned in_required = 0;
        for (std::size_t g = 0; g < gpus; ++g)
            if (must[g] > 0)
                in_required += free[g];
            else if (free[g] > 0)
                others.push_back(free[g]);
        std::sort(others.rbegin(), others.rend());
        unsigned fewest = used(must);
        for (std::size_t o = 0; in_required < wanted; ++o, ++fewest) in_required += others[o];
        if (policy == slice_policy::pack) {
            CHECK(used(*got) == fewest);
        } else {
            // Nobody has two more than a GPU that could take one.
            for (std::size_t g = 0; g < gpus; ++g)
                for (std::size_t h = 0; h < gpus; ++h)
                    if ((*got)[h] < free[h] && (*got)[g] > must[g] && sum(must) == 0) CHECK((*got)[g] <= (*got)[h] + 1);
            CHECK(most(*got) <= std::max<unsigned>(most(must), wanted));
        }
    }
}

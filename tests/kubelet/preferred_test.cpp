// SPDX-License-Identifier: Apache-2.0
// GetPreferredAllocation without a socket: which devices are chosen.
#include "k8s-device-plugin/preferred.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>

#include "../exact/subset_reference.hpp"
#include "support.hpp"

using namespace kube_test;
using kube::prefer;
using kube::preferred_fault;
using kube::share_policy;
using topo::gpu_mask;

namespace {

std::vector<std::string_view> views(const std::vector<std::string>& ids) { return {ids.begin(), ids.end()}; }

// Asked in an order made at random, as the kubelet does.
std::vector<std::string> asked(const kube::inventory& node, std::vector<std::string> available,
                               std::vector<std::string> must, int size, std::mt19937_64& random,
                               share_policy policy = share_policy::spread) {
    std::shuffle(available.begin(), available.end(), random);
    std::shuffle(must.begin(), must.end(), random);
    const auto offered = views(available);
    const auto required = views(must);
    const auto got = prefer(node, offered, required, size, policy);
    CHECK(got.fault == preferred_fault::none);
    return {got.ids.begin(), got.ids.end()};
}

bool is_pair(const std::vector<std::string>& ids) {
    const gpu_mask m = mask_of(ids);
    return ids.size() == 2 && ((m & 0x55) << 1) == (m & 0xaa);
}

kube::settings shared(unsigned replicas) {
    kube::settings s;
    s.replicas = replicas;
    return s;
}

}  // namespace

TEST_CASE("regret to brute force over 10,000 requests is 0, with required devices and shuffled lists") {
    std::mt19937_64 random(20261201);
    std::size_t requests = 0, with_must = 0;
    while (requests < 10'000) {
        const std::size_t n = requests == 0 ? 8 : 2 + random() % 6;
        const auto board = exact::random_board(random, n);
        const auto node = inventory_of(board);
        exact::reference expected(node.hardware(), 64e6, 0.05);
        for (int i = 0; i < 50; ++i, ++requests) {
            const gpu_mask free = 1 + random() % (topo::first_gpus(n));
            const unsigned size = 1 + static_cast<unsigned>(random() % topo::count(free));
            gpu_mask must = random() % 2 == 0 ? free & random() : 0;
            while (topo::count(must) > size) must &= must - 1;
            with_must += must != 0 ? 1 : 0;
            INFO("n " << n << " free " << free << " must " << must << " size " << size);
            const auto got = asked(node, ids_of(free), ids_of(must), static_cast<int>(size), random);
            REQUIRE(mask_of(got) == expected.best(free, size, must));
        }
    }
    CHECK(with_must > 3000);
}

TEST_CASE("case 03, 8 GPUs in 4 pairs: k one-GPU pods, then pairs: all of them NVLinked for every k, 2,000 shuffles") {
    const auto node = inventory_of(four_pairs());
    std::mt19937_64 random(1193);
    for (unsigned singles = 0; singles <= 6; ++singles)
        for (int trial = 0; trial < 2000; ++trial) {
            gpu_mask free = 0xff;
            for (unsigned i = 0; i < singles; ++i) free &= ~mask_of(asked(node, ids_of(free), {}, 1, random));
            unsigned pairs = 0;
            for (; topo::count(free) >= 2; ++pairs) {
                const auto two = asked(node, ids_of(free), {}, 2, random);
                REQUIRE(is_pair(two));
                free &= ~mask_of(two);
            }
            REQUIRE(pairs == (8 - singles) / 2);
        }
}

TEST_CASE("case 03: one- and two-GPU pods in any order of arrival, and after any pod ends") {
    const auto node = inventory_of(four_pairs());
    std::mt19937_64 random(3);
    for (int trial = 0; trial < 2000; ++trial) {
        std::vector<int> sizes = {1, 1, 1, 1, 2, 2};
        std::shuffle(sizes.begin(), sizes.end(), random);
        gpu_mask free = 0xff;
        for (const int size : sizes) {
            const auto got = asked(node, ids_of(free), {}, size, random);
            if (size == 2) REQUIRE(is_pair(got));
            free &= ~mask_of(got);
        }
    }
}

TEST_CASE("case 06: a lost GPU is only left out") {
    const auto node = inventory_of(four_pairs());
    std::mt19937_64 random(6);
    const gpu_mask without_5 = 0xff & ~(1u << 5);
    CHECK(asked(node, ids_of(without_5), {}, 1, random) == std::vector{id_of(4)});
    CHECK(is_pair(asked(node, ids_of(without_5), {}, 2, random)));
    CHECK(asked(node, ids_of(without_5), {}, 7, random).size() == 7);
}

TEST_CASE("case 07 and every other: exactly so many, distinct, out of the offered, with all required") {
    std::mt19937_64 random(7);
    for (const std::size_t n : {1u, 2u, 5u, 9u, 16u, 17u, 24u}) {
        const auto node = inventory_of(exact::random_board(random, n));
        for (int i = 0; i < (n > 16 ? 60 : 300); ++i) {
            const gpu_mask free = std::max<gpu_mask>(random() & topo::first_gpus(n), 1);
            const unsigned size = 1 + static_cast<unsigned>(random() % topo::count(free));
            gpu_mask must = free & random() & random();
            while (topo::count(must) > size) must &= must - 1;
            const auto got = asked(node, ids_of(free), ids_of(must), static_cast<int>(size), random);
            REQUIRE(std::set(got.begin(), got.end()).size() == size);
            REQUIRE((mask_of(got) & ~free) == 0);
            REQUIRE((must & ~mask_of(got)) == 0);
            REQUIRE(got == asked(node, ids_of(free), ids_of(must), static_cast<int>(size), random));
        }
    }
}

TEST_CASE("faults still give a valid answer and say what they are") {
    const auto node = inventory_of(four_pairs());
    const std::vector<std::string_view> some = {"GPU-01", "GPU-00", "strange", "GPU-00"};
    auto got = prefer(node, some, {}, 2, share_policy::spread);
    CHECK(got.fault == preferred_fault::unknown_ids);
    CHECK(got.ids == std::vector<std::string_view>{"GPU-00", "GPU-01"});
    got = prefer(node, some, {}, 3, share_policy::spread);
    CHECK(got.ids == std::vector<std::string_view>{"GPU-00", "GPU-01", "strange"});
    const std::vector<std::string_view> must = {"strange"};
    got = prefer(node, some, must, 2, share_policy::spread);
    CHECK(got.ids == std::vector<std::string_view>{"GPU-00", "strange"});
    got = prefer(node, some, {}, 5, share_policy::spread);
    CHECK(got.fault == preferred_fault::too_few);
    CHECK(got.ids.size() == 3);
    const std::vector<std::string_view> two = {"GPU-02", "GPU-03"};
    got = prefer(node, some, two, 1, share_policy::spread);
    CHECK(got.fault == preferred_fault::too_few);
    CHECK(got.ids.size() == 1);
    CHECK(prefer(node, some, {}, 0, share_policy::spread).ids.empty());
    CHECK(prefer(node, some, {}, -3, share_policy::pack).ids.empty());
    CHECK(prefer(node, {}, {}, 1, share_policy::pack).ids.empty());
    CHECK(prefer(node, {}, {}, 2147483647, share_policy::spread).fault == preferred_fault::too_few);
    // Required devices that are not among the offered count as offered.
    got = prefer(node, {}, two, 2, share_policy::spread);
    CHECK(got.fault == preferred_fault::none);
    CHECK(got.ids.size() == 2);
}

TEST_CASE("shared GPUs: spread takes different GPUs that belong together, pack as few as possible") {
    const auto node = inventory_of(four_pairs(), shared(4));
    std::mt19937_64 random(16);
    std::vector<std::string> all;
    for (const auto& d : node.devices()) all.push_back(d.id);
    REQUIRE(all.size() == 32);
    CHECK(all.front() == "GPU-00::0");
    const auto gpus = [](const std::vector<std::string>& ids) {
        std::vector<std::string> whole;
        for (const auto& id : ids) whole.push_back(id.substr(0, id.find(':')));
        return mask_of(whole);
    };
    for (int i = 0; i < 20; ++i) {
        auto got = asked(node, all, {}, 2, random);
        CHECK(topo::count(gpus(got)) == 2);
        CHECK(is_pair(ids_of(gpus(got))));
        got = asked(node, all, {}, 2, random, share_policy::pack);
        CHECK(topo::count(gpus(got)) == 1);
        got = asked(node, all, {}, 8, random, share_policy::pack);
        CHECK(is_pair(ids_of(gpus(got))));
        CHECK(asked(node, all, {}, 17, random).size() == 17);
        CHECK(topo::count(gpus(asked(node, all, {}, 17, random, share_policy::pack))) == 5);
    }
    // The least used GPU first when spreading, the most used when packing.
    std::vector<std::string> used = all;
    std::erase(used, "GPU-00::0");
    CHECK(gpus(asked(node, used, {}, 1, random)) != 1);
    CHECK(asked(node, used, {}, 1, random, share_policy::pack) == std::vector<std::string>{"GPU-00::1"});
    // A required slice stays, the other comes from its partner.
    CHECK(asked(node, all, {"GPU-03::2"}, 2, random) == std::vector<std::string>{"GPU-02::0", "GPU-03::2"});
    CHECK(asked(node, all, {"GPU-03::2"}, 2, random, share_policy::pack) ==
          std::vector<std::string>{"GPU-03::0", "GPU-03::2"});
}

TEST_CASE("shared GPUs at random: exact counts under both policies") {
    std::mt19937_64 random(17);
    for (int round = 0; round < 40; ++round) {
        const std::size_t n = round % 10 == 0 ? 20 : 1 + random() % 8;
        const auto node = inventory_of(exact::random_board(random, n), shared(1 + static_cast<unsigned>(random() % 5)));
        std::vector<std::string> free;
        for (const auto& d : node.devices())
            if (random() % 3 != 0) free.push_back(d.id);
        if (free.empty()) continue;
        for (int i = 0; i < 20; ++i) {
            const int size = 1 + static_cast<int>(random() % free.size());
            std::vector<std::string> must;
            for (const auto& id : free)
                if (random() % 4 == 0 && static_cast<int>(must.size()) < size) must.push_back(id);
            for (const auto policy : {share_policy::spread, share_policy::pack}) {
                const auto got = asked(node, free, must, size, random, policy);
                const std::set<std::string> distinct(got.begin(), got.end());
                REQUIRE(static_cast<int>(distinct.size()) == size);
                for (const auto& id : must) REQUIRE(distinct.contains(id));
                for (const auto& id : got) REQUIRE(std::find(free.begin(), free.end(), id) != free.end());
            }
        }
    }
}

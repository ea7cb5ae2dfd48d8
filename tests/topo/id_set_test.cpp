// SPDX-License-Identifier: Apache-2.0
#include "topo/id_set.hpp"

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <string>
#include <vector>

using namespace topo;

TEST_CASE("sets are read and written canonically") {
    CHECK(id_set::parse("0-3,8")->text() == "0-3,8");
    CHECK(id_set::parse("8,0-1,2-3")->text() == "0-3,8");
    CHECK(id_set::parse(" [ 1 - 3 , 2 ] ")->text() == "1-3");
    CHECK(id_set::parse("")->empty());
    CHECK(id_set::parse("[]")->empty());
    const auto set = *id_set::parse("0-31,64-95");
    CHECK(set.size() == 64);
    CHECK(set.first() == 0);
    CHECK(set.last() == 95);
    CHECK(set.contains(31));
    CHECK_FALSE(set.contains(32));
    CHECK(set.overlap(*id_set::parse("30-65,95-100")) == 5);
    CHECK(id_set::parse("1048576")->size() == 1);
}

TEST_CASE("what is no set is refused") {
    for (const char* text : {",", "1,", ",1", "1,,2", "a", "1-", "-1", "1-2-3", "3-1", "0-", "1048577", "0-4294967295",
                             "1.5", "0x1", "[1", "1]", "[[1]]", "99999999999999999999"}) {
        CAPTURE(std::string(text));
        const auto got = id_set::parse(text);
        REQUIRE_FALSE(got);
        CHECK_FALSE(got.failure().remedy.empty());
    }
}

TEST_CASE("a long list in falling order is read at once") {
    std::string text;
    for (std::uint32_t i = id_set::max_id; i > 2; i -= 2) text += std::to_string(i) + ",";
    CHECK(id_set::parse(text + "0")->ranges().size() == id_set::max_id / 2);
}

TEST_CASE("CPU masks of Linux and hwloc") {
    CHECK(id_set::parse_hex_mask("000000ff,ffffffff")->text() == "0-39");
    CHECK(id_set::parse_hex_mask("0x000000ff,0xffffffff")->text() == "0-39");
    CHECK(id_set::parse_hex_mask("0xf,,0x1")->text() == "0,64-67");
    CHECK(id_set::parse_hex_mask("0x0")->empty());
    CHECK_FALSE(id_set::parse_hex_mask("0xf...f"));
    CHECK_FALSE(id_set::parse_hex_mask("100000000"));
    CHECK_FALSE(id_set::parse_hex_mask("fg"));
    CHECK_FALSE(id_set::parse_hex_mask(std::string(1 << 20, ',')));
}

TEST_CASE("inserting ranges agrees with a plain set") {
    std::mt19937 random(11);
    for (int round = 0; round < 300; ++round) {
        id_set set;
        std::set<std::uint32_t> plain;
        for (int i = 0; i < 12; ++i) {
            const std::uint32_t first = random() % 60;
            const std::uint32_t last = first + random() % 8;
            set.insert_range(first, last);
            for (std::uint32_t id = first; id <= last; ++id) plain.insert(id);
        }
        CHECK(set.ids() == std::vector<std::uint32_t>(plain.begin(), plain.end()));
        CHECK(set.size() == plain.size());
        CHECK(*id_set::parse(set.text()) == set);
        for (std::uint32_t id = 0; id < 70; ++id) CHECK(set.contains(id) == (plain.count(id) == 1));
    }
}

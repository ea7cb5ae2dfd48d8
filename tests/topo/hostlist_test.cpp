// SPDX-License-Identifier: Apache-2.0
#include "topo/hostlist.hpp"

#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

using namespace topo;
using list = std::vector<std::string>;

TEST_CASE("host lists expand in written order") {
    CHECK(*expand_hostlist("a") == list{"a"});
    CHECK(*expand_hostlist("g[08-10]") == list{"g08", "g09", "g10"});
    CHECK(*expand_hostlist("g[3,1-2],login1") == list{"g3", "g1", "g2", "login1"});
    CHECK(*expand_hostlist("r[1-2]n[1,3-4]") == list{"r1n1", "r1n3", "r1n4", "r2n1", "r2n3", "r2n4"});
    CHECK(*expand_hostlist("a[1-2].example.org") == list{"a1.example.org", "a2.example.org"});
    CHECK(*expand_hostlist("g[9-11]") == list{"g9", "g10", "g11"});
    CHECK(expand_hostlist("g[0001-1024]")->size() == 1024);
    CHECK(expand_hostlist("g[0-1048575]")->size() == max_hosts);
}

TEST_CASE("wrong host lists are refused with a column") {
    for (const char* text : {"",         ",",
                             "a,",       ",a",
                             "a,,b",     "a[",
                             "a[1",      "a[1-",
                             "a]",       "a[]",
                             "a[1-2",    "a[[1]]",
                             "a[2-1]",   "a[x]",
                             "a[1-2-3]", "a[-1]",
                             "a[1,]",    "a b",
                             "a\tb",     "a[1 - 2]",
                             "a[0x1]",   "a[1-99999999999999999999]"}) {
        CAPTURE(std::string(text));
        const auto got = expand_hostlist(text);
        REQUIRE_FALSE(got);
        CHECK(got.failure().code == errc::bad_input);
        CHECK(got.failure().where.find("column ") == 0);
        CHECK_FALSE(got.failure().remedy.empty());
    }
    CHECK_FALSE(expand_hostlist(std::string_view("a\0b", 3)));
}

TEST_CASE("lists that would fill the memory are refused") {
    for (const std::string& text : {std::string("a[0-1048576]"), std::string("a[0-999999999]"),
                                    std::string("a[1-2000][1-2000]"), std::string("a[1-1000000],b[1-1000000]")}) {
        CAPTURE(text);
        CHECK(expand_hostlist(text).failure().code == errc::limit);
    }
    CHECK_FALSE(expand_hostlist("a[1-1000000]" + std::string(1 << 20, 'x')));
    std::string many = "a[0-9";
    for (int i = 0; i < 300000; ++i) many += ",0-9";
    CHECK(expand_hostlist(many + "]").failure().code == errc::limit);
    CHECK_FALSE(expand_hostlist(std::string(1 << 20, '[')));
    CHECK_FALSE(expand_hostlist(std::string(1 << 20, ',')));
}

TEST_CASE("compressing joins what differs in the last number only") {
    CHECK(compress_hostlist(list{}).empty());
    CHECK(compress_hostlist(list{"g1", "g2", "g4"}) == "g[1-2,4]");
    CHECK(compress_hostlist(list{"g08", "g09", "g10", "g11"}) == "g[08-11]");
    CHECK(compress_hostlist(list{"g9", "g10"}) == "g[9-10]");
    CHECK(compress_hostlist(list{"g1", "g2", "g12", "g99", "g100", "g101"}) == "g[1-2,12,99-101]");
    CHECK(compress_hostlist(list{"g09", "g10", "g99", "g100"}) == "g[09-10,99-100]");
    CHECK(compress_hostlist(list{"g09", "g100"}) == "g09,g100");
    CHECK(compress_hostlist(list{"g9", "g010"}) == "g9,g010");
    CHECK(compress_hostlist(list{"g0", "g1"}) == "g[0-1]");
    list many;
    for (int i = 1; i <= 1024; ++i) many.push_back("g" + std::to_string(i));
    CHECK(compress_hostlist(many) == "g[1-1024]");
    CHECK(compress_hostlist(list{"a", "b", "g1"}) == "a,b,g1");
    CHECK(compress_hostlist(list{"1", "2"}) == "[1-2]");
    CHECK(compress_hostlist(list{"g3", "g1", "g2"}) == "g[3,1-2]");
}

TEST_CASE("a message about a list quotes it, says where, then what") {
    const auto text = [](const std::string& wrong) { return hostlist_fault(wrong, expand_hostlist(wrong).failure()); };
    CHECK(text("g[64-01]") == "'g[64-01]', column 3: range '64-01' runs backwards");
    CHECK(text("g[0-9999999]") == "'g[0-9999999]': the list names more than 1048576 hosts");
}

TEST_CASE("expanding what was compressed gives the same names") {
    std::mt19937 random(7);
    const list prefixes = {"g", "rack1-n", "", "x0y", "a.b-"};
    for (int round = 0; round < 2000; ++round) {
        list names;
        const std::size_t size = 1 + random() % 12;
        for (std::size_t i = 0; i < size; ++i) {
            std::string digits = std::to_string(random() % (random() % 2 ? 12 : 1200));
            if (random() % 3 == 0) digits = std::string(random() % 4, '0') + digits;
            names.push_back(prefixes[random() % prefixes.size()] + digits + (random() % 8 == 0 ? "-ib" : ""));
            if (names.back().empty()) names.pop_back();
        }
        const std::string text = compress_hostlist(names);
        CAPTURE(text);
        const auto got = expand_hostlist(text);
        REQUIRE(got);
        CHECK(*got == names);
    }
}

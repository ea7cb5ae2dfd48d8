// SPDX-License-Identifier: Apache-2.0
#include "placement/traffic_text.hpp"

#include <doctest/doctest.h>

#include <string>

using placement::parse_traffic;

namespace {

std::string refusal(const std::string& text) {
    const auto r = parse_traffic(text, "t.csv");
    REQUIRE_FALSE(r);
    CHECK(!r.failure().remedy.empty());
    CHECK(r.failure().where.starts_with("t.csv"));
    return r.failure().message();
}

double bytes(const placement::traffic_matrix& t, std::uint32_t from, std::uint32_t to) {
    for (std::size_t i = t.row_begin()[from]; i < t.row_begin()[from + 1]; ++i)
        if (t.column()[i] == to) return t.bytes()[i];
    return 0;
}

}  // namespace

TEST_CASE("three forms of the same matrix") {
    const std::string forms[] = {
        "# two talk\nfrom,to,bytes\n0,2,1e6\n2, 0 ,5\n1,1,7\n",
        "%%MatrixMarket matrix coordinate real general\n% two talk\n3 3 3\n1 3 1e6\n3 1 5\n2 2\t7\n",
        "0,0,1e6\r\n0,7,0\r\n5,0,0\r\n",
    };
    for (const auto& text : forms) {
        const auto r = parse_traffic(text, "t");
        REQUIRE(r);
        CHECK(r->ranks() == 3);
        CHECK(bytes(*r, 0, 2) == 1e6);
        CHECK(bytes(*r, 2, 0) == 5);
        CHECK(bytes(*r, 0, 1) == 0);
    }
}

TEST_CASE("what is no matrix is refused, with its line") {
    CHECK(refusal("").find("nothing in it") != std::string::npos);
    CHECK(refusal("# only words\n").find("nothing") != std::string::npos);
    CHECK(refusal(std::string("a\0b", 3)).find("binary") != std::string::npos);
    CHECK(refusal("from,to,bytes\n").find("no entries") != std::string::npos);
    CHECK(refusal("from,to,bytes\n0,1\n").find("t.csv:2") == 0);
    CHECK(refusal("from,to,bytes\n0,-1,5\n").find("'-1'") != std::string::npos);
    CHECK(refusal("from,to,bytes\n0,1,5\n0,1,6\n").find("rank") != std::string::npos);
    CHECK(refusal("from,to,bytes\n0,99999999,5\n").find("99999999") != std::string::npos);
    CHECK(refusal("from,to,bytes\n0,1,nan\n") != "");
    CHECK(refusal("from,to,bytes\n0,1,-5\n") != "");
    CHECK(refusal("from,to,bytes\n0,1,1e400\n") != "");
    CHECK(refusal("from,to,bytes\n0,1,5,6\n").find("5,6") != std::string::npos);
    CHECK(refusal("1,2\n3\n").find("t.csv:2") == 0);
    CHECK(refusal("1,2\n").find("square") != std::string::npos);
    CHECK(refusal("1,2\n3,4\n5,6\n").find("square") != std::string::npos);
    CHECK(refusal("1,2\n3,x\n").find("'x'") != std::string::npos);
    CHECK(refusal("hello\n").find("hello") != std::string::npos);
    CHECK(refusal(std::string(1 << 20, ',')).find("columns") != std::string::npos);
    CHECK(refusal("%%MatrixMarket matrix array real general\n2 2\n").find("coordinate") != std::string::npos);
    CHECK(refusal("%%MatrixMarket matrix coordinate real general\n").find("size") != std::string::npos);
    CHECK(refusal("%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1\n").find("2 rows and 3 columns") !=
          std::string::npos);
    CHECK(refusal("%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n").find("cut off") !=
          std::string::npos);
    CHECK(refusal("%%MatrixMarket matrix coordinate real general\n2 2 1\n1 3 1\n").find("beyond") != std::string::npos);
    CHECK(refusal("%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 1\n").find("'0'") != std::string::npos);
    CHECK(refusal("%%MatrixMarket matrix coordinate real general\n4294967295 4294967295 0\n") != "");
}

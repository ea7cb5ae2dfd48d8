// SPDX-License-Identifier: Apache-2.0
// Traffic matrices as CSV and MatrixMarket.
#include "placement/traffic_text.hpp"
#include "tests/fuzz/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto got = placement::parse_traffic(fuzz::text_of(data, size), "traffic.csv");
    if (!got) {
        fuzz::check(got.failure());
        return 0;
    }
    fuzz::require(got->ranks() > 0, "a matrix has ranks");
    fuzz::require(got->row_begin().size() == std::size_t{got->ranks()} + 1, "a row a rank");
    for (std::size_t i = 0; i < got->column().size(); ++i) {
        fuzz::require(got->column()[i] < got->ranks(), "columns are ranks");
        fuzz::require(got->bytes()[i] >= 0, "bytes are not negative");
    }
    return 0;
}

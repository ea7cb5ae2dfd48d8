// SPDX-License-Identifier: Apache-2.0
// The reader of the plugin's counters: what it reads, and files that are none.
#include "topo/plugin_stats.hpp"

#include <doctest/doctest.h>

#include <cstring>

namespace stats = topo::stats;

namespace {

using words = std::vector<std::uint64_t>;

words valid() {
    words w(stats::file_words, 0);
    w[stats::at_magic] = stats::magic;
    w[stats::at_version] = stats::version;
    w[stats::at_state] = 1;
    return w;
}

topo::result<stats::counters> read(const words& w) {
    return stats::parse({reinterpret_cast<const std::uint8_t*>(w.data()), w.size() * 8}, "slurm.stats");
}

void put_text(words& w, std::size_t entry, const std::string& text, std::uint64_t count) {
    std::uint64_t* at = w.data() + stats::at_reasons + entry * stats::reason_words;
    std::memcpy(at, text.data(), std::min<std::size_t>(text.size(), 56));
    at[stats::reason_words - 1] = count;
}

}  // namespace

TEST_CASE("what stands in the words") {
    words w = valid();
    w[stats::at_pid] = 42;
    w[stats::at_known] = 7;
    for (std::size_t i = 0; i < stats::steps; ++i) w[stats::at_steps + i] = i + 1;
    w[stats::at_histograms + stats::bucket_of(1000)] = 9;
    w[stats::at_histograms + stats::bucket_of(1000000)] = 1;
    w[stats::at_sums] = 1009000;
    put_text(w, 0, "asks no GPU", 3);
    put_text(w, 5, std::string(56, 'x'), 1);
    const auto got = read(w);
    REQUIRE(got);
    CHECK(got->pid == 42);
    CHECK(got->nodes_known == 7);
    CHECK(got->decisions() == 21);
    CHECK(got->total.count() == 10);
    CHECK(got->total.quantile(0.5) >= 1000);
    CHECK(got->total.quantile(0.5) < 1200);
    CHECK(got->total.quantile(1) >= 1000000);
    CHECK(got->own.quantile(0.99) == 0);
    REQUIRE(got->left.size() == 2);
    CHECK(got->left[0] == std::pair<std::string, std::uint64_t>{"asks no GPU", 3});
    CHECK(got->left[1].first == std::string(56, 'x'));
}

TEST_CASE("buckets hold what their bound says") {
    for (const std::uint64_t ns : {1ull, 2ull, 3ull, 1000ull, 999983ull, 1000000007ull, ~0ull}) {
        const std::size_t b = stats::bucket_of(ns);
        CHECK(b < stats::buckets);
        if (b + 1 < stats::buckets) CHECK(stats::bound_of(b) >= ns);
        // Bounds are rounded up to whole ns: at 2 and 3 ns two of them are equal.
        if (b > 0 && b + 1 < stats::buckets) CHECK(stats::bound_of(b - 1) < ns + (ns < 16 ? 1 : 0));
    }
}

TEST_CASE("files that are none, newer ones, and impossible counters") {
    const auto refused = [](const words& w, topo::errc code) {
        const auto got = read(w);
        REQUIRE_FALSE(got);
        CHECK(got.failure().code == code);
        CHECK(got.failure().where == "slurm.stats");
        CHECK_FALSE(got.failure().remedy.empty());
    };
    refused({}, topo::errc::bad_input);
    refused(words(stats::file_words, 0), topo::errc::bad_input);
    words w = valid();
    w.pop_back();
    refused(w, topo::errc::bad_input);
    w = valid();
    w.push_back(0);
    refused(w, topo::errc::bad_input);
    w = valid();
    w[stats::at_version] = 2;
    refused(w, topo::errc::unsupported_version);
    w = valid();
    w[stats::at_state] = 4;
    refused(w, topo::errc::bad_input);
    w = words(stats::file_words, ~std::uint64_t{0});
    refused(w, topo::errc::bad_input);

    w[stats::at_magic] = stats::magic;  // every counter at its greatest: sums wrap, nothing else happens
    w[stats::at_version] = stats::version;
    w[stats::at_state] = 3;
    const auto got = read(w);
    REQUIRE(got);
    CHECK(got->left.size() == stats::reasons);
    CHECK(got->left[0].first.empty());  // no printable text
    CHECK(got->total.quantile(0.5) > 0);
    w = valid();
    put_text(w, 0, "bell\a\x1b[2J", 1);
    CHECK(read(w)->left[0].first == "bell");
}

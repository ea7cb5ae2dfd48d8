// SPDX-License-Identifier: Apache-2.0
#include "topo/plugin_stats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <numeric>

namespace topo::stats {
namespace {

using words = std::array<std::uint64_t, file_words>;

histogram read_histogram(const words& w, std::size_t which) {
    histogram h;
    std::copy_n(w.begin() + at_histograms + static_cast<std::ptrdiff_t>(which * buckets), buckets, h.counts.begin());
    h.sum_ns = w[at_sums + which];
    return h;
}

std::string read_text(const std::uint64_t* from) {
    std::array<char, (reason_words - 1) * 8> bytes{};
    std::memcpy(bytes.data(), from, bytes.size());
    std::string out;
    for (const char c : bytes) {
        if (c < ' ' || c > '~') break;
        out += c;
    }
    return out;
}

}  // namespace

std::uint64_t histogram::count() const noexcept {
    return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

std::uint64_t histogram::quantile(double q) const noexcept {
    const std::uint64_t all = count();
    if (all == 0) return 0;
    const double wanted = std::ceil(q * static_cast<double>(all));
    double seen = 0;
    for (std::size_t i = 0; i < buckets; ++i) {
        seen += static_cast<double>(counts[i]);
        if (seen >= wanted) return bound_of(i);
    }
    return bound_of(buckets - 1);
}

std::size_t bucket_of(std::uint64_t ns) noexcept {
    const double position = ns < 2 ? 0.0 : std::ceil(4 * std::log2(static_cast<double>(ns)));
    return std::min(buckets - 1, static_cast<std::size_t>(position));
}

std::uint64_t bound_of(std::size_t bucket) noexcept {
    return static_cast<std::uint64_t>(std::ceil(std::exp2(static_cast<double>(bucket) / 4)));
}

std::uint64_t counters::decisions() const noexcept {
    return std::accumulate(by_step.begin(), by_step.end(), std::uint64_t{0});
}

result<counters> parse(std::span<const std::uint8_t> bytes, const std::string& file) {
    const auto bad = [&file](std::string what) {
        return error{errc::bad_input, file, std::move(what),
                     "name the stats_file of atoll.yaml, as slurmctld with Atoll writes it"};
    };
    if (bytes.size() != file_words * 8)
        return bad(fmt::format("{} bytes are no file of Atoll's counters, which has {}", bytes.size(), file_words * 8));
    words w{};
    std::memcpy(w.data(), bytes.data(), bytes.size());
    if (w[at_magic] != magic) return bad("this is no file of Atoll's counters");
    if (w[at_version] != version)
        return error{errc::unsupported_version, file,
                     fmt::format("its version is {}, and this atoll reads version {}", w[at_version], version),
                     "use the atoll of the same build as the plugin"};
    if (w[at_state] > static_cast<std::uint64_t>(state::stopped)) return bad("its state is unknown");
    counters c;
    c.pid = w[at_pid];
    c.started = std::bit_cast<std::int64_t>(w[at_started]);
    c.loaded = std::bit_cast<std::int64_t>(w[at_loaded]);
    c.decided = std::bit_cast<std::int64_t>(w[at_decided]);
    c.now = static_cast<state>(w[at_state]);
    c.nodes_known = w[at_known];
    c.nodes_unknown = w[at_unknown];
    c.nodes_differing = w[at_differing];
    std::copy_n(w.begin() + at_steps, steps, c.by_step.begin());
    c.total = read_histogram(w, 0);
    c.own = read_histogram(w, 1);
    c.books = read_histogram(w, 2);
    for (std::size_t i = 0; i < reasons; ++i) {
        const std::uint64_t* entry = w.data() + at_reasons + i * reason_words;
        if (entry[reason_words - 1] > 0) c.left.emplace_back(read_text(entry), entry[reason_words - 1]);
    }
    return c;
}

}  // namespace topo::stats

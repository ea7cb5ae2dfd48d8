// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/mix.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "placement/simulate/random.hpp"

namespace placement::simulate {
namespace {

struct share {
    std::uint32_t gpus;
    double of_jobs;
};
// Most jobs are small and most GPU time is in large ones, as clusters that train language models report.
constexpr std::array<share, 10> llm_sizes = {{{1, 0.25},
                                              {2, 0.10},
                                              {4, 0.10},
                                              {8, 0.22},
                                              {16, 0.10},
                                              {32, 0.08},
                                              {64, 0.07},
                                              {128, 0.05},
                                              {256, 0.02},
                                              {512, 0.01}}};

std::uint32_t llm_size(random_source& random) {
    double at = random.unit();
    for (const auto& s : llm_sizes) {
        if (at < s.of_jobs) return s.gpus;
        at -= s.of_jobs;
    }
    return llm_sizes.back().gpus;
}

std::uint32_t size_of(mix_kind kind, random_source& random) {
    switch (kind) {
        case mix_kind::llm: return llm_size(random);
        case mix_kind::pow2: return std::uint32_t{1} << (random.next() % 10);
        case mix_kind::lognormal: break;
    }
    return static_cast<std::uint32_t>(std::clamp(std::round(std::exp(1.2 + 1.5 * random.normal())), 1.0, 512.0));
}

// Median 20 minutes for one GPU, 80 minutes for 512; heavy-tailed, cut at a week.
double duration_of(std::uint32_t gpus, random_source& random) {
    const double median = 1200 * (1 + std::bit_width(gpus - 1) / 3.0);
    return std::min(median * std::exp(1.2 * random.normal()), 604'800.0);
}

}  // namespace

std::string_view name_of(mix_kind k) noexcept {
    switch (k) {
        case mix_kind::llm: return "mix:llm";
        case mix_kind::lognormal: return "mix:lognormal";
        case mix_kind::pow2: break;
    }
    return "mix:pow2";
}

std::optional<mix_kind> mix_named(std::string_view text) noexcept {
    for (const auto k : {mix_kind::llm, mix_kind::lognormal, mix_kind::pow2})
        if (text == name_of(k)) return k;
    return std::nullopt;
}

trace make_mix(const mix_options& options) {
    trace out;
    out.form = std::string(name_of(options.kind)) + ", seed " + std::to_string(options.seed);
    if (!(options.load > 0) || !(options.gpus > 0) || options.largest == 0) return out;
    random_source random(options.seed);
    const auto count = std::min<std::size_t>(options.jobs, max_jobs);
    out.jobs.reserve(count);
    double now = 0;
    for (std::size_t i = 0; i < count; ++i) {
        job j;
        j.submit_s = now;
        j.gpus = std::min(size_of(options.kind, random), options.largest);
        j.duration_s = duration_of(j.gpus, random);
        now += random.exponential(1);
        out.jobs.push_back(j);
    }
    out.set_load(options.load, options.gpus);
    return out;
}

}  // namespace placement::simulate

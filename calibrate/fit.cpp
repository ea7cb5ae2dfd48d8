// SPDX-License-Identifier: Apache-2.0
#include "calibrate/fit.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <string>

#include "calibrate/random.hpp"

namespace calibrate {
namespace {

constexpr int resamples = 200;

struct line {
    double alpha = 0;
    double us_per_byte = 0;
};

double median_of_sorted(std::span<const double> sorted) { return sorted[(sorted.size() - 1) / 2]; }

double median(std::vector<double>& values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

// Which order statistic the median of a resample is, drawn directly: with n draws out of n samples, the
// median is at or below sample j when at least half of the draws are, so its law is a binomial tail.
// One draw then costs a search, not a resample and a sort.
class median_index {
public:
    explicit median_index(std::size_t n) : cumulative_(n) {
        const std::size_t needed = (n - 1) / 2 + 1;
        for (std::size_t j = 0; j < n; ++j) {
            const double p = static_cast<double>(j + 1) / static_cast<double>(n);
            double fewer = 0;  // P(fewer than `needed` draws are at or below j)
            double log_choose = 0;
            for (std::size_t k = 0; k < needed; ++k) {
                if (p < 1)
                    fewer += std::exp(log_choose + static_cast<double>(k) * std::log(p) +
                                      static_cast<double>(n - k) * std::log1p(-p));
                log_choose += std::log(static_cast<double>(n - k)) - std::log(static_cast<double>(k + 1));
            }
            cumulative_[j] = 1 - fewer;
        }
        cumulative_.back() = 1;
    }
    [[nodiscard]] std::size_t draw(random_stream& random) const {
        const auto found = std::upper_bound(cumulative_.begin(), cumulative_.end(), random.uniform());
        return std::min(static_cast<std::size_t>(found - cumulative_.begin()), cumulative_.size() - 1);
    }

private:
    std::vector<double> cumulative_;
};

class line_fitter {
public:
    explicit line_fitter(std::vector<double> bytes)
        : bytes_(std::move(bytes)), weights_(bytes_.size()), residuals_(bytes_.size()), scratch_(bytes_.size()) {}

    line operator()(std::span<const double> us) {
        for (std::size_t i = 0; i < us.size(); ++i) weights_[i] = 1 / (us[i] * us[i]);
        line best = weighted(us);
        for (int round = 0; round < 12; ++round) {
            for (std::size_t i = 0; i < us.size(); ++i)
                residuals_[i] = std::abs(us[i] - best.alpha - best.us_per_byte * bytes_[i]) / us[i];
            scratch_ = residuals_;
            const double limit = 1.345 * std::max(1.4826 * median(scratch_), 1e-6);
            for (std::size_t i = 0; i < us.size(); ++i)
                weights_[i] = (residuals_[i] <= limit ? 1 : limit / residuals_[i]) / (us[i] * us[i]);
            const line next = weighted(us);
            const bool settled = std::abs(next.us_per_byte - best.us_per_byte) <= 1e-5 * std::abs(best.us_per_byte) &&
                                 std::abs(next.alpha - best.alpha) <= 1e-5 * std::abs(best.alpha);
            best = next;
            if (settled) break;
        }
        return best;
    }

private:
    line weighted(std::span<const double> us) const {
        double w = 0, x = 0, y = 0, xx = 0, xy = 0;
        for (std::size_t i = 0; i < us.size(); ++i) {
            w += weights_[i];
            x += weights_[i] * bytes_[i];
            y += weights_[i] * us[i];
            xx += weights_[i] * bytes_[i] * bytes_[i];
            xy += weights_[i] * bytes_[i] * us[i];
        }
        const double determinant = w * xx - x * x;
        line out{(y * xx - x * xy) / determinant, (w * xy - x * y) / determinant};
        if (out.alpha < 0) out = {0, xy / xx};  // a latency below zero is noise: the line through the origin
        return out;
    }

    std::vector<double> bytes_, weights_, residuals_, scratch_;
};

std::uint32_t count_outliers(std::span<const double> sorted) {
    const double middle = median_of_sorted(sorted);
    std::vector<double> distances;
    for (const double v : sorted) distances.push_back(std::abs(v - middle));
    const double limit = middle + std::max(6 * 1.4826 * median(distances), 0.1 * middle);
    return static_cast<std::uint32_t>(
        std::count_if(sorted.begin(), sorted.end(), [limit](double v) { return v > limit; }));
}

double half_width(std::vector<double>& values, double of) {
    if (of <= 0) return 0;
    std::sort(values.begin(), values.end());
    const auto at = [&](double q) {
        return values[static_cast<std::size_t>(q * static_cast<double>(values.size() - 1) + 0.5)];
    };
    return (at(0.975) - at(0.025)) / 2 / of;
}

topo::error unusable(std::string what) {
    return {topo::errc::bad_input, "", std::move(what), "measure the pair again"};
}

bool usable(double us) { return std::isfinite(us) && us > 0; }

}  // namespace

topo::result<fitted> fit(std::span<const size_samples> sizes, std::uint64_t seed) {
    std::vector<double> bytes;
    std::vector<double> medians;
    std::vector<std::vector<double>> sorted;
    std::map<std::size_t, median_index> laws;
    fitted out;
    for (const auto& s : sizes) {
        if (s.us.empty()) continue;
        if (!(std::isfinite(s.bytes) && s.bytes >= 0)) return unusable("a size of a sample is not a number of bytes");
        if (!std::all_of(s.us.begin(), s.us.end(), usable))
            return unusable("a time of " + std::to_string(s.bytes) + " bytes is not a positive number");
        auto& values = sorted.emplace_back(s.us);
        std::sort(values.begin(), values.end());
        bytes.push_back(s.bytes);
        medians.push_back(median_of_sorted(values));
        laws.try_emplace(values.size(), values.size());
        out.samples += static_cast<std::uint32_t>(values.size());
        out.outliers += count_outliers(values);
    }
    if (bytes.empty() || *std::max_element(bytes.begin(), bytes.end()) == *std::min_element(bytes.begin(), bytes.end()))
        return unusable("a latency and a bandwidth need samples of at least two sizes");

    line_fitter fitter(bytes);
    const line best = fitter(medians);
    if (!(best.us_per_byte > 0) || !std::isfinite(best.us_per_byte))
        return unusable("the time does not grow with the size, so there is no bandwidth");
    out.segments.push_back({0, best.alpha, 1 / (best.us_per_byte * 1e3)});

    random_stream random(seed);
    std::vector<double> alphas, bandwidths, drawn(bytes.size());
    for (int round = 0; round < resamples; ++round) {
        for (std::size_t i = 0; i < sorted.size(); ++i) drawn[i] = sorted[i][laws.at(sorted[i].size()).draw(random)];
        const line again = fitter(drawn);
        if (!(again.us_per_byte > 0)) continue;
        alphas.push_back(again.alpha);
        bandwidths.push_back(1 / (again.us_per_byte * 1e3));
    }
    if (bandwidths.size() < resamples / 2) return unusable("the time hardly grows with the size");
    out.alpha_spread = half_width(alphas, out.alpha_us());
    out.spread = half_width(bandwidths, out.gb_per_s());
    return out;
}

topo::result<fitted_median> fit_median(std::span<const double> samples, std::uint64_t seed) {
    if (samples.empty() || !std::all_of(samples.begin(), samples.end(), usable))
        return unusable("a median needs positive times");
    std::vector<double> sorted(samples.begin(), samples.end());
    std::sort(sorted.begin(), sorted.end());
    fitted_median out{median_of_sorted(sorted), 0, count_outliers(sorted)};
    random_stream random(seed);
    const median_index law(sorted.size());
    std::vector<double> drawn;
    for (int round = 0; round < resamples; ++round) drawn.push_back(sorted[law.draw(random)]);
    out.spread = half_width(drawn, out.value);
    return out;
}

std::size_t next_sample_count(std::size_t now) noexcept { return std::min(max_samples, (now + now / 2) | 1u); }

}  // namespace calibrate

// SPDX-License-Identifier: Apache-2.0
// Plots of the pages, as SVG without script. All texts are escaped. Series differ in colour and, as lines, in dashes.
#pragma once

#include <string>
#include <vector>

namespace cli::render {

inline constexpr std::size_t plot_series = 8;  // more repeat the colours

struct plot_line {
    std::string name;
    std::vector<double> values;  // values[i] at x = (i + ½) · step; NaN: a gap
    double step = 1;
};

// Lines over a common x axis from 0; y from 0 to `top` (0: the largest value). y_of and x_of make the texts of the
// axes.
[[nodiscard]] std::string line_plot(const std::string& title, const std::vector<plot_line>& lines, double top,
                                    std::string (*y_of)(double), std::string (*x_of)(double));

struct plot_bars {
    std::string name;            // of the series
    std::vector<double> values;  // one for each group; NaN: none
};

// Groups of bars, one bar a series. With `logarithmic` the y axis runs over decades and zeros are left out.
[[nodiscard]] std::string bar_plot(const std::string& title, const std::vector<std::string>& groups,
                                   const std::vector<plot_bars>& bars, bool logarithmic, std::string (*y_of)(double));

// The names of the series with their colours.
[[nodiscard]] std::string plot_legend(const std::vector<std::string>& names);

// Round values from 0 to at least `top`, four to eight of them. top > 0.
[[nodiscard]] std::vector<double> round_ticks(double top);

}  // namespace cli::render

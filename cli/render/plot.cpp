// SPDX-License-Identifier: Apache-2.0
#include "cli/render/plot.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/render/text.hpp"

namespace cli::render {
namespace {

constexpr double width = 1120;
constexpr double height = 260;
constexpr double left = 84;
constexpr double right = 16;
constexpr double top_margin = 12;
constexpr double bottom = 30;
constexpr double inner_w = width - left - right;
constexpr double inner_h = height - top_margin - bottom;

std::string open(const std::string& title) {
    return fmt::format(
        "<div class=\"picture\"><svg class=\"plot\" role=\"img\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 "
        "{0:.0f} {1:.0f}\"><title>{2}</title>",
        width, height, html(title));
}

std::string text_at(double x, double y, std::string_view anchor, std::string_view text) {
    return fmt::format("<text class=\"soft small\" text-anchor=\"{}\" x=\"{:.1f}\" y=\"{:.1f}\">{}</text>", anchor, x,
                       y, html(text));
}

// A line across at height share (0 bottom … 1 top) with its text.
std::string rule_at(double share, const std::string& text) {
    const double y = top_margin + inner_h * (1 - share);
    return fmt::format("<path class=\"grid\" d=\"M{:.1f} {:.1f}H{:.1f}\"/>", left, y, width - right) +
           text_at(left - 8, y + 4, "end", text);
}

}  // namespace

std::vector<double> round_ticks(double top) {
    if (!(top > 0) || !std::isfinite(top)) top = 1;
    double step = std::pow(10, std::floor(std::log10(top)));
    for (const double part : {0.1, 0.2, 0.25, 0.5, 1.0})
        if (top / (step * part) <= 7) {
            step *= part;
            break;
        }
    std::vector<double> out{0};
    while (out.back() < top * (1 - 1e-9)) out.push_back(step * static_cast<double>(out.size()));
    return out;
}

std::string plot_legend(const std::vector<std::string>& names) {
    std::string out = "<p class=\"legend\">";
    for (std::size_t i = 0; i < names.size(); ++i)
        out += fmt::format(
            "<span><svg width=\"26\" height=\"12\" aria-hidden=\"true\"><path class=\"line s{0}\" d=\"M1 "
            "6H25\"/></svg> "
            "{1}</span> ",
            i % plot_series, html(names[i]));
    return out + "</p>\n";
}

std::string line_plot(const std::string& title, const std::vector<plot_line>& lines, double top,
                      std::string (*y_of)(double), std::string (*x_of)(double)) {
    double end = 0;
    double most = top;
    for (const auto& l : lines) {
        end = std::max(end, l.step * static_cast<double>(l.values.size()));
        if (top > 0) continue;
        for (const double v : l.values)
            if (std::isfinite(v)) most = std::max(most, v);
    }
    if (!(end > 0)) return {};
    const std::vector<double> ys = round_ticks(most);
    const std::vector<double> xs = round_ticks(end);
    std::string out = open(title);
    for (const double y : ys) out += rule_at(y / ys.back(), y_of(y));
    for (const double x : xs)
        if (x <= end) out += text_at(left + inner_w * x / end, height - 10, "middle", x_of(x));
    for (std::size_t i = 0; i < lines.size(); ++i) {
        std::string path;
        bool down = false;
        for (std::size_t k = 0; k < lines[i].values.size(); ++k) {
            const double v = lines[i].values[k];
            if (!std::isfinite(v)) {
                down = false;
                continue;
            }
            const double x = left + inner_w * lines[i].step * (static_cast<double>(k) + 0.5) / end;
            const double y = top_margin + inner_h * (1 - std::clamp(v / ys.back(), 0.0, 1.0));
            path += fmt::format("{}{:.1f} {:.1f}", down ? "L" : "M", x, y);
            down = true;
        }
        if (!path.empty())
            out += fmt::format("<path class=\"line s{}\" d=\"{}\"><title>{}</title></path>", i % plot_series, path,
                               html(lines[i].name));
    }
    return out + "</svg></div>\n";
}

std::string bar_plot(const std::string& title, const std::vector<std::string>& groups,
                     const std::vector<plot_bars>& bars, bool logarithmic, std::string (*y_of)(double)) {
    double least = INFINITY;
    double most = 0;
    for (const auto& b : bars)
        for (const double v : b.values)
            if (std::isfinite(v) && v > 0) {
                least = std::min(least, v);
                most = std::max(most, v);
            }
    if (groups.empty() || !(most > 0)) return {};
    std::string out = open(title);
    const double low = std::floor(std::log10(least));
    const double high = std::max(low + 1, std::ceil(std::log10(most)));
    const std::vector<double> ys = round_ticks(most);
    if (logarithmic)
        for (double e = low; e <= high; ++e) out += rule_at((e - low) / (high - low), y_of(std::pow(10, e)));
    else
        for (const double y : ys) out += rule_at(y / ys.back(), y_of(y));
    const double slot = inner_w / static_cast<double>(groups.size());
    const double bar = std::min(40.0, slot * 0.8 / static_cast<double>(std::max<std::size_t>(1, bars.size())));
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const double middle = left + slot * (static_cast<double>(g) + 0.5);
        out += text_at(middle, height - 10, "middle", groups[g]);
        for (std::size_t i = 0; i < bars.size(); ++i) {
            const double v = g < bars[i].values.size() ? bars[i].values[g] : NAN;
            if (!std::isfinite(v) || v <= 0) continue;
            const double share = logarithmic ? (std::log10(v) - low) / (high - low) : v / ys.back();
            const double h = inner_h * std::clamp(share, 0.0, 1.0);
            const double x = middle + bar * (static_cast<double>(i) - static_cast<double>(bars.size()) / 2);
            out += fmt::format(
                "<rect class=\"bar s{}\" x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.1f}\" height=\"{:.1f}\"><title>{}</title>"
                "</rect>",
                i % plot_series, x, top_margin + inner_h - h, bar * 0.9, h,
                html(fmt::format("{}, {}: {}", bars[i].name, groups[g], y_of(v))));
        }
    }
    return out + "</svg></div>\n";
}

}  // namespace cli::render

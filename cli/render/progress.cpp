// SPDX-License-Identifier: Apache-2.0
#include "cli/render/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/render/text.hpp"

namespace cli::render {
namespace {

constexpr double redraw_seconds = 0.05;
constexpr std::size_t bar_columns = 28;

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

std::string bar_of(double share, bool utf8) {
    static constexpr std::string_view eighths[] = {" ", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    const double filled = std::clamp(share, 0.0, 1.0) * static_cast<double>(bar_columns);
    const auto full = static_cast<std::size_t>(filled);
    std::string bar;
    for (std::size_t i = 0; i < bar_columns; ++i) {
        if (i < full)
            bar += utf8 ? "█" : "#";
        else if (i == full && utf8)
            bar += eighths[static_cast<std::size_t>((filled - static_cast<double>(full)) * 8)];
        else
            bar += utf8 ? " " : ".";
    }
    return utf8 ? "▕" + bar + "▏" : "[" + bar + "]";
}

}  // namespace

std::string time_left(double seconds) {
    const auto s = static_cast<long>(std::ceil(std::clamp(seconds, 0.0, 1e8)));
    if (s < 60) return fmt::format("{} s", s);
    if (s < 3600) return fmt::format("{} min {} s", s / 60, s % 60);
    return fmt::format("{} h {} min", s / 3600, s % 3600 / 60);
}

void progress_bar::update(std::size_t done, std::size_t total, double seconds_left, std::string_view what) {
    if (style_.terminal) {
        const double at = now();
        if (drawn_ && done < total && at - last_drawn_ < redraw_seconds) return;
        last_drawn_ = at;
        draw(done, total, seconds_left, what);
        return;
    }
    const std::size_t tenth = total == 0 ? 10 : done * 10 / total;
    if (tenth == last_tenth_ && drawn_) return;
    last_tenth_ = tenth;
    drawn_ = true;
    const std::string left = seconds_left >= 0 && done < total ? ", " + time_left(seconds_left) + " left" : "";
    const std::string text =
        fmt::format("{:3} % ({} of {}{})\n", total == 0 ? 100 : done * 100 / total, done, total, left);
    std::fwrite(text.data(), 1, text.size(), to_);
    std::fflush(to_);
}

void progress_bar::draw(std::size_t done, std::size_t total, double seconds_left, std::string_view what) {
    const double share = total == 0 ? 1 : static_cast<double>(done) / static_cast<double>(total);
    std::string text =
        fmt::format("{} {:3.0f} %  {}/{}", bar_of(share, style_.utf8), std::floor(share * 100), done, total);
    if (done < total && seconds_left >= 0) text += "  " + time_left(seconds_left) + " left";
    if (done < total && !what.empty()) text += "  " + std::string(what);
    const std::size_t width = style_.columns > 1 ? style_.columns - 1 : 79;
    text = "\r\x1b[2K" + style_.cyan(shorten(text, width));
    std::fwrite(text.data(), 1, text.size(), to_);
    std::fflush(to_);
    drawn_ = true;
}

void progress_bar::line(std::string_view text) {
    const std::string start = style_.terminal && drawn_ ? "\r\x1b[2K" : "";
    const std::string out = start + std::string(text) + "\n";
    std::fwrite(out.data(), 1, out.size(), to_);
    std::fflush(to_);
    if (style_.terminal) drawn_ = false;
}

void progress_bar::finish() {
    if (style_.terminal && drawn_) {
        std::fputs("\r\x1b[2K", to_);
        std::fflush(to_);
    }
    drawn_ = false;
}

}  // namespace cli::render

// SPDX-License-Identifier: Apache-2.0
// A progress bar with the time left on a terminal; a plain line now and then elsewhere.
#pragma once

#include <cstddef>
#include <cstdio>
#include <string_view>

#include "cli/render/style.hpp"

namespace cli::render {

class progress_bar {
public:
    // `to` is standard error as a rule; `s` is how it may be written.
    progress_bar(std::FILE* to, style s) noexcept : to_(to), style_(s) {}
    ~progress_bar() { finish(); }
    progress_bar(const progress_bar&) = delete;
    progress_bar& operator=(const progress_bar&) = delete;

    // On a terminal redraws the line (at most about 20 times a second, and always at the end); elsewhere
    // prints a line each tenth of the way. seconds_left < 0: not known.
    void update(std::size_t done, std::size_t total, double seconds_left, std::string_view what);
    // Prints a line above the bar.
    void line(std::string_view text);
    // Takes the bar away; what follows starts on a fresh line.
    void finish();

private:
    void draw(std::size_t done, std::size_t total, double seconds_left, std::string_view what);

    std::FILE* to_;
    style style_;
    bool drawn_ = false;
    double last_drawn_ = -1;      // seconds, monotonic
    std::size_t last_tenth_ = 0;  // of plain output
};

// "12 s", "3 min 5 s", "1 h 2 min".
[[nodiscard]] std::string time_left(double seconds);

}  // namespace cli::render

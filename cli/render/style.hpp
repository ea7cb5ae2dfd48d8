// SPDX-License-Identifier: Apache-2.0
// Colours of a terminal, or none.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace cli::render {

enum class colour_mode { automatic, always, never };

// How one stream is to be written.
struct style {
    bool colour = false;
    bool terminal = false;
    bool utf8 = false;        // the locale can show more than ASCII
    std::size_t columns = 0;  // of the terminal; 0: not a terminal, any width will do

    // What `descriptor` is. automatic: colours on a terminal that is not "dumb", unless NO_COLOR is
    // set and not empty (no-color.org). always and never win over both.
    [[nodiscard]] static style of(int descriptor, colour_mode mode);

    [[nodiscard]] std::string bold(std::string_view text) const { return paint("1", text); }
    [[nodiscard]] std::string dim(std::string_view text) const { return paint("2", text); }
    [[nodiscard]] std::string red(std::string_view text) const { return paint("1;31", text); }
    [[nodiscard]] std::string yellow(std::string_view text) const { return paint("1;33", text); }
    [[nodiscard]] std::string cyan(std::string_view text) const { return paint("36", text); }
    // A badge that cannot be overlooked (black on yellow).
    [[nodiscard]] std::string loud(std::string_view text) const { return paint("1;30;43", text); }
    // `goodness` 0 (slow, dark) … 1 (fast, bright) on a scale of 256-colour backgrounds.
    [[nodiscard]] std::string heat(double goodness, std::string_view text) const;

private:
    [[nodiscard]] std::string paint(std::string_view code, std::string_view text) const;
};

}  // namespace cli::render

// SPDX-License-Identifier: Apache-2.0
#include "cli/render/style.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>

namespace cli::render {
namespace {

std::string_view environment(const char* name) {
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view{} : std::string_view{value};
}

bool locale_is_utf8() {
    for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
        const std::string_view value = environment(name);
        if (value.empty()) continue;
        return value.find("UTF-8") != std::string_view::npos || value.find("utf8") != std::string_view::npos ||
               value.find("UTF8") != std::string_view::npos || value.find("utf-8") != std::string_view::npos;
    }
    return false;
}

// Dark purple to bright yellow-green: rises steadily in lightness, so that it also reads in grey and
// with any kind of colour blindness.
struct step {
    int background;
    int foreground;
};
constexpr std::array<step, 12> ramp{{{53, 255},
                                     {54, 255},
                                     {60, 255},
                                     {61, 255},
                                     {25, 255},
                                     {31, 255},
                                     {30, 255},
                                     {36, 16},
                                     {71, 16},
                                     {77, 16},
                                     {149, 16},
                                     {191, 16}}};

}  // namespace

style style::of(int descriptor, colour_mode mode) {
    style s;
    s.terminal = isatty(descriptor) == 1;
    s.utf8 = locale_is_utf8();
    s.colour = mode == colour_mode::always || (mode == colour_mode::automatic && s.terminal &&
                                               environment("NO_COLOR").empty() && environment("TERM") != "dumb");
    winsize window{};
    if (s.terminal) {
        s.columns = 80;
        if (ioctl(descriptor, TIOCGWINSZ, &window) == 0 && window.ws_col > 0) s.columns = window.ws_col;
    }
    return s;
}

std::string style::paint(std::string_view code, std::string_view text) const {
    return colour ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : std::string(text);
}

std::string style::heat(double goodness, std::string_view text) const {
    const double place = std::clamp(goodness, 0.0, 1.0) * static_cast<double>(ramp.size() - 1);
    const step& s = ramp[static_cast<std::size_t>(place + 0.5)];
    return paint(fmt::format("38;5;{};48;5;{}", s.foreground, s.background), text);
}

}  // namespace cli::render

// SPDX-License-Identifier: Apache-2.0
#include "cli/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "cli/render/text.hpp"

namespace cli {

std::string_view name_of(topo::severity s) noexcept {
    switch (s) {
        case topo::severity::info: return "info";
        case topo::severity::warning: return "warning";
        case topo::severity::error: break;
    }
    return "error";
}

console::console(render::colour_mode mode)
    : out_(render::style::of(STDOUT_FILENO, mode)), err_(render::style::of(STDERR_FILENO, mode)) {}

exit_code console::fail(const topo::error& why) const {
    say(err_.red("error:") + " " + render::printable(why.message()));
    return exit_code_of(why.code);
}

exit_code console::fail(std::string where, std::string what, std::string remedy, exit_code code) const {
    fail({topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)});
    return code;
}

void console::report(const topo::findings& notes) const {
    std::size_t shown = 0;
    std::string text;
    for (const topo::severity level : {topo::severity::error, topo::severity::warning, topo::severity::info}) {
        for (const topo::finding& f : notes) {
            if (f.level != level || shown == findings_shown) continue;
            ++shown;
            const std::string label = level == topo::severity::error     ? err_.red("error:")
                                      : level == topo::severity::warning ? err_.yellow("warning:")
                                                                         : err_.cyan("note:");
            text += label + " " + render::printable(f.message()) + "\n";
        }
    }
    if (notes.size() > shown)
        text += fmt::format("… {}; --json prints all of them\n", render::counted(notes.size() - shown, "more finding"));
    std::fwrite(text.data(), 1, text.size(), stderr);
}

void console::say(std::string_view line) const {
    const std::string text = std::string(line) + "\n";
    std::fwrite(text.data(), 1, text.size(), stderr);
}

exit_code console::print(std::string_view text) const {
    const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
    if (written) return done;
    return fail("standard output", fmt::format("cannot be written ({})", std::strerror(errno)),
                "make room or write to a file with -o");
}

exit_code console::print_object(const json& object) const {
    return print(object.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

json to_json(const topo::findings& notes) {
    json list = json::array();
    for (const topo::finding& f : notes)
        list.push_back({{"severity", name_of(f.level)}, {"place", f.where}, {"message", f.what}, {"remedy", f.remedy}});
    return list;
}

}  // namespace cli

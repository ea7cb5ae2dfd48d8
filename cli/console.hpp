// SPDX-License-Identifier: Apache-2.0
// The two streams of the command: results on standard output, everything said about them on
// standard error.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "cli/exit_code.hpp"
#include "cli/render/style.hpp"
#include "topo/finding.hpp"
#include "topo/result.hpp"

namespace cli {

using json = nlohmann::ordered_json;

// More findings than this are counted, not printed; --json holds them all.
inline constexpr std::size_t findings_shown = 50;

class console {
public:
    explicit console(render::colour_mode mode = render::colour_mode::automatic);

    [[nodiscard]] const render::style& out() const noexcept { return out_; }
    [[nodiscard]] const render::style& err() const noexcept { return err_; }

    // "error: where: what; remedy" on standard error; gives the exit code that fits.
    exit_code fail(const topo::error& why) const;
    exit_code fail(std::string where, std::string what, std::string remedy, exit_code code = bad_use) const;
    // Each finding on a line of standard error with its severity, errors first.
    void report(const topo::findings& notes) const;
    // One line on standard error.
    void say(std::string_view line) const;

    // Writes the whole result to standard output. A full disk or a closed stream gives `bad_use` with a message.
    [[nodiscard]] exit_code print(std::string_view text) const;
    // The one object of --json. Text that is no UTF-8 is replaced, never refused.
    [[nodiscard]] exit_code print_object(const json& object) const;

private:
    render::style out_;
    render::style err_;
};

// Findings as --json prints them: severity, place, message, remedy.
[[nodiscard]] json to_json(const topo::findings& notes);
[[nodiscard]] std::string_view name_of(topo::severity s) noexcept;

}  // namespace cli

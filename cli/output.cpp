// SPDX-License-Identifier: Apache-2.0
#include "cli/output.hpp"

#include <fmt/format.h>

#include "cli/render/text.hpp"

namespace cli {

topo::result<destination> destination_of(const std::string& output, bool as_json) {
    if (output == "-" && as_json)
        return topo::error{topo::errc::bad_input, "-o -",
                           "the file and the --json object cannot both go to standard output",
                           "leave out one of the two, or name a file"};
    if (output.empty() || output == "-") return as_json ? destination::inside_json : destination::standard_output;
    return destination::file;
}

exit_code deliver(const console& out, destination to, const std::string& path, std::string_view text) {
    if (to == destination::inside_json) return done;
    if (to == destination::standard_output) return out.print(text);
    const topo::result<topo::done> written = topo::write_file(path, text);
    if (!written) return out.fail(written.failure());
    out.say(fmt::format("wrote {}", render::printable(path)));
    return done;
}

std::string tool_name(std::string_view verb) { return fmt::format("atoll {} {}", ATOLL_VERSION, verb); }

}  // namespace cli

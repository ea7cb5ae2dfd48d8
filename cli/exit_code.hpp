// SPDX-License-Identifier: Apache-2.0
// Exit codes of `atoll`, the same for every verb and listed in every --help.
#pragma once

#include <string_view>

#include "topo/result.hpp"

namespace cli {

enum exit_code : int {
    done = 0,
    difference = 1,  // a check found a difference, or a job does not fit now
    bad_use = 2,     // wrong use, bad input, or a file that cannot be read or written
    failed = 3,      // hardware or a peer failed, or is not there
};

inline constexpr std::string_view exit_code_help =
    "Exit codes:\n"
    "  0  done\n"
    "  1  a check found a difference, or the job does not fit now\n"
    "  2  wrong use, bad input, or a file that cannot be read or written\n"
    "  3  hardware or a peer failed, or is not there\n";

[[nodiscard]] constexpr exit_code exit_code_of(topo::errc code) noexcept {
    switch (code) {
        case topo::errc::no_fit: return difference;
        case topo::errc::hardware: return failed;
        default: return bad_use;
    }
}

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
// Counts in messages, with the right form of the noun.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace topo {

// "1 GPU", "8 GPUs"; `many` is the form for all but one when it is not `one` and an s. Either form may go on:
// counted(n, "host has no link", "hosts have no link").
[[nodiscard]] inline std::string counted(std::size_t n, std::string_view one, std::string_view many = {}) {
    std::string out = std::to_string(n) + " ";
    out += n == 1 || many.empty() ? one : many;
    if (n != 1 && many.empty()) out += 's';
    return out;
}

}  // namespace topo

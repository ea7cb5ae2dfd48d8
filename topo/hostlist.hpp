// SPDX-License-Identifier: Apache-2.0
// Slurm-style host lists: "g[0001-1024],r[1-2]n[1,3-4],login".
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/result.hpp"

namespace topo {

inline constexpr std::size_t max_hosts = 1u << 20;  // more is a typing error

// All names in written order, leading zeros kept ("g[08-10]" → g08 g09 g10), several brackets a name
// allowed. Fails with bad_input (unbalanced bracket, empty item, a > b, different widths are fine) or
// limit (more than max_hosts); the error's place is "column N". O(names).
[[nodiscard]] result<std::vector<std::string>> expand_hostlist(std::string_view text);

// The shortest list this writer finds, keeping the order of first appearance by prefix: names that
// differ in their last number only are joined ("g1","g2","g4" → "g[1-2,4]"). The numbers of a bracket
// have one width, or none has a leading zero ("g9","g10" → "g[9-10]"). expand(compress(x)) gives the names of x in the
// order of x for any x (a break in order starts a new item). O(total length).
[[nodiscard]] std::string compress_hostlist(std::span<const std::string> names);

// What a message says of a list that expand_hostlist refused: "'g[2-1]', column 3: range '2-1' runs backwards".
[[nodiscard]] std::string hostlist_fault(std::string_view list, const error& why);

}  // namespace topo

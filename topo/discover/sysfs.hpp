// SPDX-License-Identifier: Apache-2.0
// Private to topo/discover: attributes, folders and links below /sys and /proc, never trusted: what is
// missing, unreadable, no regular file, larger than 64 kB or a loop of links is simply not there.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "topo/id_set.hpp"

namespace topo::sysfs {

// First 64 kB of a regular file without blanks at its ends; never waits. Empty optional when there is
// none or it holds more.
[[nodiscard]] std::optional<std::string> read(const std::string& path);
[[nodiscard]] std::optional<long> read_number(const std::string& path);   // decimal
[[nodiscard]] std::optional<unsigned> read_hex(const std::string& path);  // "0x10de"
[[nodiscard]] std::optional<id_set> read_list(const std::string& path);   // "0-3,8"
// Names in a folder but "." and "..", sorted; at most 65,536. Empty when it cannot be read.
[[nodiscard]] std::vector<std::string> names(const std::string& folder);
// Absolute path without links; empty optional for a dangling link or a loop.
[[nodiscard]] std::optional<std::string> resolve(const std::string& path);
[[nodiscard]] bool exists(const std::string& path);

}  // namespace topo::sysfs

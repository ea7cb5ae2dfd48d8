// SPDX-License-Identifier: GPL-2.0-or-later
// Reading a file inside slurmctld, which must never wait: a pipe or a device in its place is refused.
#pragma once

#include <cstddef>
#include <string>

#include "topo/result.hpp"

namespace slurm_plugin {

// The whole file. `missing` when there is none, `io` when it is no regular file or cannot be read, `limit` above
// `most` bytes. Never blocks on a pipe, also not when one takes the file's place meanwhile.
[[nodiscard]] topo::result<std::string> read_regular(const std::string& path, std::size_t most);

}  // namespace slurm_plugin

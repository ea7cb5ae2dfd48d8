// SPDX-License-Identifier: GPL-2.0-or-later
// Finds and opens atoll_slurm_glue.so beside spank_atoll.so.
#pragma once

#include <cstddef>

#include "plugin/spank/node_side.h"

namespace slurm_plugin {

// nullptr, with the reason in `why`, when it cannot be used. It stays open until the process ends.
[[nodiscard]] const atoll_node_api* open_node_api(char* why, std::size_t size);

}  // namespace slurm_plugin

// SPDX-License-Identifier: GPL-2.0-or-later
// CPUs, memory and NICs of the process that calls: only narrowed, never failed.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "plugin/spank/node_side.h"

namespace slurm_plugin {

using cpu_words = std::array<std::uint64_t, ATOLL_CPU_WORDS>;

// Keeps the process on those of its CPUs that are in `near`, where at least `wanted` of them are. True when it now runs
// on near CPUs only.
bool narrow_cpus(const cpu_words& near, std::uint32_t wanted) noexcept;

// Memory of this NUMA node first, then any other.
void prefer_memory(int numa) noexcept;

// A verbs device of this node; where the node lists none, a name that is not a net device's.
[[nodiscard]] bool may_be_verbs(const std::string& name);

}  // namespace slurm_plugin

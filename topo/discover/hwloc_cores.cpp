// SPDX-License-Identifier: Apache-2.0
#include <hwloc.h>

#include <algorithm>

#include "topo/discover/parts.hpp"

namespace topo::parts {

std::optional<core_counts> hwloc_cores() {
    hwloc_topology_t topology = nullptr;
    if (hwloc_topology_init(&topology) != 0) return std::nullopt;
    // A cgroup must not hide cores: the class describes the machine, not this process's share of it.
    hwloc_topology_set_flags(topology, HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED);
    std::optional<core_counts> counts;
    if (hwloc_topology_load(topology) == 0) {
        const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
        int threads = 0;
        for (int i = 0; i < cores; ++i) {
            const hwloc_obj_t core = hwloc_get_obj_by_type(topology, HWLOC_OBJ_CORE, static_cast<unsigned>(i));
            if (core != nullptr && core->cpuset != nullptr)
                threads = std::max(threads, hwloc_bitmap_weight(core->cpuset));
        }
        if (cores > 0 && threads > 0) counts = core_counts{cores, threads};
    }
    hwloc_topology_destroy(topology);
    return counts;
}

}  // namespace topo::parts

// SPDX-License-Identifier: Apache-2.0
// Which device of a node as it is now is which device of the same node as it was stored.
#pragma once

#include <vector>

#include "topo/node_class.hpp"

namespace calibrate {

struct matched_devices {
    static constexpr int absent = -1;
    std::vector<int> gpus, nics, numa;  // [index now] index before, or absent

    [[nodiscard]] const std::vector<int>& of(topo::endpoint e) const noexcept {
        return e == topo::endpoint::gpu ? gpus : e == topo::endpoint::nic ? nics : numa;
    }
    // Every device of both sides has its partner, at the same index.
    [[nodiscard]] bool unchanged(const topo::node_class& now, const topo::node_class& before) const noexcept;
};

// By UUID or GUID, then by PCI address, then by name: indexes and NIC names are not stable from boot to boot. NUMA
// nodes by number. O(devices²).
[[nodiscard]] matched_devices match_devices(const topo::node_class& now, const topo::node_class& before);

}  // namespace calibrate

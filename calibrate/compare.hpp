// SPDX-License-Identifier: Apache-2.0
// A node as it is now against the same node as it was stored: what changed, by name. Nothing is
// overwritten here; the caller decides whether the new description is kept.
//
// Devices are matched by UUID or GUID, then by PCI address, then by name: indexes and NIC names are
// not stable from boot to boot.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/finding.hpp"
#include "topo/node_class.hpp"

namespace calibrate {

enum class change_kind : std::uint8_t {
    device_missing,   // was there, is not
    device_added,     // is there, was not
    degraded_nvlink,  // fewer NVLinks between a pair, or none
    link_changed,     // another link class between a pair (not a loss of NVLinks)
    swapped_nic,      // another NIC is nearest to a GPU
    slower,           // a measured cost got worse
    faster,           // a measured cost got better
};
[[nodiscard]] std::string_view name_of(change_kind k) noexcept;

struct change {
    change_kind kind = change_kind::slower;
    std::string where;   // device, "GPU2-GPU5", or "GPU2 → GPU5, ce", by the names of now (of then if missing)
    std::string before;  // "NV12", "276.1 GB/s"
    std::string now;     // "SYS", "138.2 GB/s"
    double share = 1;    // now / before of a bandwidth or link count; 1 where no such figure exists
};

struct comparison {
    std::vector<change> changes;
    [[nodiscard]] bool same() const noexcept { return changes.empty(); }
    [[nodiscard]] bool degraded() const noexcept;  // anything but added devices and faster costs
};

// A cost counts as changed when its bandwidth differs by more than max(5 %, the sum of the two spreads).
// Costs of different engines, or of different sources (a simulated one against a measured one), are
// never compared; nor are those that only one side has. O(cells).
[[nodiscard]] comparison compare(const topo::node_description& now, const topo::node_description& stored);

// One finding a change of devices and links; of the slower (and of the faster) costs the most changed one
// and how many more there are. The remedy says that the stored costs were kept.
[[nodiscard]] topo::findings to_findings(const comparison& c);

}  // namespace calibrate

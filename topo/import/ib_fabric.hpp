// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: from a graph of InfiniBand switches and adapters to a fabric_description.
//
// How the tree is made:
//   leaf      a switch with an adapter of a host on it (a SHARP aggregation node is not a host).
//   level 0   leaves that share at least half of their hosts (of the smaller one) are one group: the leaves of
//             the rails of one scalable unit, or of two planes. A single host that joins two units (a management
//             node) does not merge them; it stays with the group that has more of its ports.
//   level i+1 the switches above level i; those that share a group below are one group, whether or not every
//             cable is up. The spines of a two-level fabric are so one root, those of a pod one switch of it.
//   peers     roots that are joined by direct links only get a common root of their own, with a note.
// A group is named after its first switch in the file. Its uplink is the sum of its cables to the level above.
#pragma once

#include <string>

#include "topo/fabric.hpp"
#include "topo/finding.hpp"
#include "topo/import/ib_records.hpp"
#include "topo/result.hpp"

namespace topo {

// form tree, or rail_optimised when leaves were merged; unknown (with a warning) without switches or hosts.
// Adapters without a host name are hosts of their own, named by GUID. Fails with limit on more than 16
// levels or a host on more than 64 switches. O(links × rails + hosts × rails²).
[[nodiscard]] result<fabric_description> ib_fabric(const ib_net& net, const std::string& file, findings& notes);

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// Writers of other tools' files from the cluster model.
#pragma once

#include <string>

#include "topo/cluster.hpp"
#include "topo/finding.hpp"
#include "topo/result.hpp"

namespace topo {

struct export_output {
    std::string text;
    findings notes;  // what the target cannot say
};

// topology.conf: SwitchName lines for trees (unconnected trees stay unconnected), BlockName lines and
// BlockSizes for blocks. Fails with bad_input when the fabric is unknown. What our importer reads back is equal.
[[nodiscard]] result<export_output> to_slurm_topology(const cluster& c);

// gres.conf: one line a GPU and class: NodeName, Name=gpu, File=/dev/nvidiaN, Cores= (Slurm core numbers,
// no sibling threads; left out with a finding when unknown), Links= (NVLink counts, -1 for itself).
[[nodiscard]] result<export_output> to_slurm_gres(const cluster& c);

// Kubernetes. Each fails with bad_input when the fabric has no switches (unknown, torus, hypercube) or a name cannot
// stand there; what a target cannot say, and nodes that lack a level, are notes. Deterministic. O(nodes × depth).
//
// Node objects with labels for `kubectl apply --server-side`: fabric.topograph.run/tier-N (0: leaf),
// accelerator.topograph.run/domain, the older network.topology.nvidia.com/{leaf,spine,core,accelerator}, and
// atoll.dev/node-class.
[[nodiscard]] result<export_output> to_k8s_labels(const cluster& c);
// The same labels as NodeFeature objects, which NFD's master puts on the nodes.
[[nodiscard]] result<export_output> to_nfd(const cluster& c);
// Kueue: Topology with the levels of these labels, a ResourceFlavor, and a ClusterQueue and LocalQueue to start from.
[[nodiscard]] result<export_output> to_kueue(const cluster& c);
// Volcano: a HyperNode a switch; tier 1 is a leaf.
[[nodiscard]] result<export_output> to_volcano(const cluster& c);
// NVIDIA topograph: a model file. What our importer reads back has the same switches, nodes and domains.
[[nodiscard]] result<export_output> to_topograph(const cluster& c);

}  // namespace topo

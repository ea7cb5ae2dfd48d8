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

}  // namespace topo

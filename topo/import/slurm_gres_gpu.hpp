// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: the Name=gpu lines of gres.conf.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topo/finding.hpp"
#include "topo/id_set.hpp"
#include "topo/import/import.hpp"
#include "topo/import/slurm_conf.hpp"
#include "topo/import/switch_rules.hpp"
#include "topo/result.hpp"

namespace topo {

struct gres_gpu_line {
    std::size_t line = 0;
    std::string type;
    std::vector<std::string> files;  // one a GPU; empty strings when the line only has a Count
    id_set cores;                    // as written
    bool cpus_key = false;           // written as CPUs=
    std::vector<int> links;          // empty: none given
    std::optional<slurm::field> links_field;
};

// Fails with file:line:column on a Count, core list, file list or Links that cannot be read.
[[nodiscard]] result<gres_gpu_line> read_gres_gpu(const slurm::record& r, const std::string& file, host_reader& files,
                                                  findings& notes);

// Makes the lines of one node into the only node of `out`. Fails (bad_input) when a device file stands twice,
// when a Links list has not one number a GPU or not exactly one -1, and with limit above 64 GPUs.
//   Links n > 0 is n NVLinks (xGMI for AMD devices); 0 is SYS, the worst it can be; no Links is unknown.
//   A core list with both hardware threads of its cores (two ranges that lie the same distance apart in every line)
//   is what slurmctld calls an invalid GRES core specification: it is kept as the CPU affinity it is, the counts of
//   cores and threads are taken from it, and a warning gives the Cores= that is meant. All other lists are
//   core numbers, kept as they are; both without a NUMA node.
[[nodiscard]] result<done> make_gres_node(const std::vector<const gres_gpu_line*>& lines, const std::string& file,
                                          import_output& out, const import_options& options);

}  // namespace topo

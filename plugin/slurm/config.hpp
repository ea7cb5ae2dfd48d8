// SPDX-License-Identifier: GPL-2.0-or-later
// The plugin's configuration file (usually /etc/atoll/atoll.yaml):
//     cluster_file: /etc/atoll/cluster.yaml   # required unless mode is off; relative to this file's folder
//     mode: on                                # off: the plugin only passes calls on
//     allow_simulated: false                  # true: take costs that were simulated, not measured
//     damage_weight: 0.02                     # share of step time that saving an island may cost, 0 … 1
//     message_bytes: 64e6                     # size of the all-reduce that placements are compared at
//     far_cores: exclude                      # keep: leave the choice of cores to Slurm
//     nccl_topo_file: /etc/atoll/x.xml        # NCCL_TOPO_FILE of tasks, where spank_atoll.so is used
//     stats_file: /run/atoll/slurm.stats      # counters for `atoll status`; off: none
//     log_decisions: false                    # one info line a decision (else with DebugFlags=SelectType)
#pragma once

#include <string>
#include <string_view>

#include "topo/result.hpp"

namespace slurm_plugin {

struct config {
    std::string cluster_file;
    bool on = true;
    bool allow_simulated = false;
    double damage_weight = 0.02;
    double message_bytes = 64e6;
    bool exclude_far_cores = true;
    bool log_decisions = false;
    std::string stats_file;      // "off": none; "": the default, where its folder is there
    std::string nccl_topo_file;  // "": none
};

// An unknown key, a key given twice, a value of the wrong type or out of range, or no cluster_file: bad_input with
// "file:line". An empty file is an error too (no cluster_file). `file` is only used as the place.
[[nodiscard]] topo::result<config> parse_config(std::string_view text, const std::string& file);

}  // namespace slurm_plugin

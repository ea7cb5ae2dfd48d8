// SPDX-License-Identifier: Apache-2.0
// The nodes and GPUs that a Slurm job has: from the environment of the job itself, or by its number from slurmctld.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "placement/request.hpp"
#include "topo/cluster.hpp"
#include "topo/result.hpp"

namespace cli {

// What slurmctld tells of a job: its nodes as a host list, and a line of devices for each of them in that order,
// "gpu:a100:2(IDX:0-1),nic:1(IDX:0)".
struct slurm_job {
    std::string nodes;
    std::vector<std::string> gres;
};
using job_source = std::function<topo::result<slurm_job>(std::uint32_t id)>;
// nullptr where a variable is not set.
using environment = std::function<const char*(const char* name)>;

// GPUs of one device line, all types together; no bit where it names none. Fails with bad_input on an index above 63,
// a list that cannot be read, or GPUs that are only counted (no IDX, so nobody knows which). O(length).
[[nodiscard]] topo::result<placement::gpu_mask> gpus_of_gres(std::string_view line);

// The shares of a job in the order that Slurm lists its nodes. Fails with bad_input or missing when a node or GPU is
// not in the cluster, or a node of the job has no GPU.
[[nodiscard]] topo::result<std::vector<placement::node_share>> shares_of(const slurm_job& job, const topo::cluster& c);

// From inside a job: SLURM_JOB_NODELIST, and the GPUs
//  - of a job on one node from SLURM_JOB_GPUS or SLURM_STEP_GPUS;
//  - of more nodes all of them where SLURM_GPUS_PER_NODE says that these are all that each node has;
//  - else as `ask` tells for SLURM_JOB_ID (the other nodes' GPUs stand in no variable).
// Fails with `missing` outside of a job.
[[nodiscard]] topo::result<std::vector<placement::node_share>> shares_here(const environment& env,
                                                                           const job_source& ask,
                                                                           const topo::cluster& c);

// Asks slurmctld through libslurm. The library is opened only here, by atoll_slurm_client.so, which is built with the
// Slurm plugin for one version of Slurm; fails with `missing` or `hardware` and the remedy.
[[nodiscard]] topo::result<slurm_job> ask_slurm(std::uint32_t id);

}  // namespace cli

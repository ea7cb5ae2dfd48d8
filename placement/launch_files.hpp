// SPDX-License-Identifier: Apache-2.0
// A rank order in the words of the programs that start ranks.
//
// Ranks are given as placement::answer has them: ranks[r] is the place of rank r. All texts end in a line break, are
// equal wherever they are made, and take O(ranks). Names come from the cluster file.
#pragma once

#include <span>
#include <string>

#include "placement/request.hpp"
#include "topo/cluster.hpp"
#include "topo/result.hpp"

namespace placement {

using rank_list = std::span<const rank_place>;

// SLURM_HOSTFILE for `srun -m arbitrary`: line r is the host of rank r.
[[nodiscard]] std::string slurm_hostfile(const topo::cluster& c, rank_list ranks);

// Open MPI rank file: "rank 3=g1 slot=4-7". The slots are cores near the rank's GPU, those of a NUMA node shared out
// evenly over the GPUs that the job has there, in the numbers of the operating system: start mpirun with
// `--mca rmaps_rank_file_physical 1`. A NUMA node with fewer cores than GPUs gives all its cores to each. Fails with
// bad_input where the class does not say which CPUs are near a GPU.
[[nodiscard]] topo::result<std::string> open_mpi_rankfile(const topo::cluster& c, rank_list ranks);

// MPICH's hydra (`mpiexec -f`): "g1:8", neighbouring ranks of one host in one line.
[[nodiscard]] std::string hydra_hosts(const topo::cluster& c, rank_list ranks);

// DeepSpeed's hostfile: "g1 slots=8". Fails with bad_input when the ranks of a host do not stand together.
[[nodiscard]] topo::result<std::string> deepspeed_hostfile(const topo::cluster& c, rank_list ranks);

// The arguments of torchrun, a line a host in the order of the node ranks:
//     g3 --nnodes=2 --nproc-per-node=8 --node-rank=0 --master-addr=g3 --master-port=29500
// Fails with bad_input when the ranks of a host do not stand together or hosts have different numbers of them.
[[nodiscard]] topo::result<std::string> torchrun_lines(const topo::cluster& c, rank_list ranks);

}  // namespace placement

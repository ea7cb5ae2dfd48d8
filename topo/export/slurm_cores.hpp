// SPDX-License-Identifier: Apache-2.0
// Private to topo (export, and import of gres.conf): from the CPU numbers of Linux to the core numbers of Slurm.
//
// Linux numbers hardware threads; the Cores= of gres.conf(5) counts physical cores from 0, socket by
// socket, and slurmctld refuses a node whose Cores= names more than it has ("invalid GRES core
// specification"). With C cores of T threads, two numberings are in use:
//   halves    threads of core k are k, k + C, …      (Linux on x86: an affinity reads "0-55,112-167")
//   adjacent  threads of core k are k·T … k·T + T-1  (POWER, some guests: it reads "0-111")
// The sets themselves tell which: a CPU set of a NUMA node or a GPU holds whole cores, so it is closed
// under the numbering in use. NUMA nodes are asked first (a GPU's set may be clipped by a cgroup).
// A set of T ranges that lie C apart is halves, although it may be closed under both.
// Machines that deal CPU numbers out to sockets in turn (node 0 has the even ones) are put in Slurm's
// order by their NUMA nodes. When C or T is unknown they are taken from sets that fall into two equal
// parts at one common distance, or nothing is said.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "topo/id_set.hpp"
#include "topo/node_class.hpp"

namespace topo {

class core_numbering {
public:
    // Empty when the numbers cannot be told; `why` then says what is missing. O(CPUs × sets).
    [[nodiscard]] static std::optional<core_numbering> of(const node_class& hardware, std::string& why);

    // Slurm's numbers of the cores that have a thread in `cpus`. Every id below core_count() × threads(). O(ids).
    [[nodiscard]] id_set cores(const id_set& cpus) const;
    [[nodiscard]] std::uint32_t core_count() const noexcept { return cores_; }
    [[nodiscard]] std::uint32_t threads() const noexcept { return threads_; }

private:
    [[nodiscard]] std::uint32_t core_of(std::uint32_t cpu) const noexcept;
    void order_by_numa(const node_class& hardware);

    std::uint32_t cores_ = 0;
    std::uint32_t threads_ = 1;
    bool adjacent_ = false;
    std::vector<std::uint32_t> slurm_number_;  // of each core; empty: the same
};

// The distance at which `cpus` falls into two equal parts (0-55,112-167: 112); empty when it does not.
// Needs ≥ 4 CPUs, so that "0,2" is not taken for one core of two threads. O(ranges).
[[nodiscard]] std::optional<std::uint32_t> sibling_distance(const id_set& cpus);

}  // namespace topo

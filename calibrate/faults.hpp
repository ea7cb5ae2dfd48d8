// SPDX-License-Identifier: Apache-2.0
// What can be wrong with a simulated machine.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "calibrate/machine.hpp"
#include "calibrate/model.hpp"
#include "topo/result.hpp"

namespace calibrate {

enum class fault_kind {
    nvlink_lost,   // n NVLinks of a pair are down (all without n); drivers show it
    pcie_half,     // a GPU's slot trained to half its width; drivers show it under load
    nic_slow,      // a NIC moves only a part of what it should; nothing shows it
    link_slow,     // a pair moves only a part, both ways; nothing shows it
    one_way,       // the same in one direction only
    numa_unknown,  // no device knows its NUMA node
    flat_guest,    // a guest that shows every pair as PHB in one NUMA node
    gdr_refused,   // NICs cannot reach GPU memory
    noisy,         // the samples of a pair scatter by tens of percent
    burst,         // the first samples of a pair take several times as long, later ones do not
    busy,          // another process on a GPU
    throttled,     // a GPU's clocks are held back
    replays,       // a GPU's NVLink replay counter moves while it works
    corrupt,       // a pair delivers wrong bytes
    dies,          // a device stops answering after n operations
};

struct machine_fault {
    fault_kind kind = fault_kind::nvlink_lost;
    place a;           // valid for kinds that name a device
    place b;           // valid for kinds that name a pair
    double value = 0;  // count or factor
};

// Reads "kind", "kind:DEVICE", "kind:DEVICE-DEVICE", each with ":number" where the kind takes one.
// Fails with bad_input; the place is "--fault TEXT", the remedy names the forms or the devices.
[[nodiscard]] topo::result<std::vector<machine_fault>> parse_faults(std::span<const std::string> texts,
                                                                    const machine_model& m);

}  // namespace calibrate

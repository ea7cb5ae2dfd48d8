// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: where devices hang in a machine, and the link class that follows from it.
#pragma once

#include <cstdint>
#include <vector>

#include "topo/device.hpp"

namespace topo {

class device_tree {
public:
    enum class kind : std::uint8_t {
        machine,      // the root, spot 0
        nowhere,      // a place whose NUMA node is not known
        cpu,          // a NUMA node with its CPUs
        host_bridge,  // a root complex
        bridge,       // a PCIe port or switch
        device,
    };

    // `switch_ports`: bridges between a device and the middle of one PCIe switch. 0 when a bridge is a
    // whole switch (NCCL's files), 1 when ports are listed one by one (hwloc, sysfs).
    // `one_cpu`: the class of two devices that meet in a CPU: PHB where the file does not show host
    // bridges, else NODE.
    device_tree(int switch_ports, link_class one_cpu) : switch_ports_(switch_ports), one_cpu_(one_cpu) {
        spots_.push_back({0, 0, kind::machine});
    }

    // The index of a new spot below `parent`, which must exist.
    std::size_t add(std::size_t parent, kind what) {
        spots_.push_back({parent, spots_[parent].depth + 1, what});
        return spots_.size() - 1;
    }
    [[nodiscard]] std::size_t size() const noexcept { return spots_.size(); }

    // The class of the path between two different devices. O(depth).
    [[nodiscard]] link_class between(std::size_t a, std::size_t b) const noexcept {
        int ports_a = 0;
        int ports_b = 0;
        bool known = true;
        const auto step = [&](std::size_t& at, int& ports) {
            at = spots_[at].parent;
            ports += spots_[at].what == kind::bridge ? 1 : 0;
            known = known && spots_[at].what != kind::nowhere;
        };
        while (spots_[a].depth > spots_[b].depth) step(a, ports_a);
        while (spots_[b].depth > spots_[a].depth) step(b, ports_b);
        while (a != b) {
            step(a, ports_a);
            step(b, ports_b);
        }
        switch (spots_[a].what) {
            case kind::device:  // functions of one device
            case kind::bridge:  // both sides counted the bridge they meet in
                return ports_a - 1 <= switch_ports_ && ports_b - 1 <= switch_ports_ ? link_class::pix : link_class::pxb;
            case kind::host_bridge: return link_class::phb;
            case kind::cpu: return one_cpu_;
            case kind::nowhere: return link_class::unknown;
            case kind::machine: return known ? link_class::sys : link_class::unknown;
        }
        return link_class::unknown;
    }

private:
    struct spot {
        std::size_t parent;
        int depth;
        kind what;
    };
    std::vector<spot> spots_;
    int switch_ports_;
    link_class one_cpu_;
};

}  // namespace topo

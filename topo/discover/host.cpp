// SPDX-License-Identifier: Apache-2.0
// NUMA nodes, cores and PCIe lanes.
#include <algorithm>
#include <limits>
#include <set>
#include <sstream>

#include "topo/discover/parts.hpp"
#include "topo/discover/sysfs.hpp"

namespace topo::parts {
namespace {

// N of "node12" or "cpu12".
std::optional<int> number_after(const std::string& name, const std::string& prefix) {
    if (!name.starts_with(prefix) || name.size() == prefix.size() || name.size() > prefix.size() + 6)
        return std::nullopt;
    const std::string digits = name.substr(prefix.size());
    if (digits.find_first_not_of("0123456789") != std::string::npos) return std::nullopt;
    return std::stoi(digits);
}

}  // namespace

std::vector<numa_node> read_numa(const std::string& sysfs_root) {
    std::vector<numa_node> nodes;
    const std::string folder = sysfs_root + "/devices/system/node";
    for (const auto& name : sysfs::names(folder)) {
        const auto id = number_after(name, "node");
        if (!id) continue;
        numa_node n;
        n.id = *id;
        if (auto cpus = sysfs::read_list(folder + "/" + name + "/cpulist")) n.cpus = std::move(*cpus);
        nodes.push_back(std::move(n));
    }
    std::sort(nodes.begin(), nodes.end(), [](const numa_node& a, const numa_node& b) { return a.id < b.id; });
    const auto same = [](const numa_node& a, const numa_node& b) { return a.id == b.id; };
    nodes.erase(std::unique(nodes.begin(), nodes.end(), same), nodes.end());  // "node1" and "node01"
    return nodes;
}

std::optional<core_counts> read_cores(const std::string& sysfs_root) {
    const std::string folder = sysfs_root + "/devices/system/cpu";
    std::set<std::string> cores;
    std::size_t threads = 0;
    for (const auto& name : sysfs::names(folder)) {
        if (!number_after(name, "cpu")) continue;
        auto siblings = sysfs::read_list(folder + "/" + name + "/topology/core_cpus_list");
        if (!siblings) siblings = sysfs::read_list(folder + "/" + name + "/topology/thread_siblings_list");
        if (!siblings || siblings->empty()) continue;
        cores.insert(siblings->text());
        threads = std::max(threads, siblings->size());
    }
    if (cores.empty()) return std::nullopt;
    return core_counts{static_cast<int>(cores.size()), static_cast<int>(threads)};
}

int cpu_node_of(std::optional<int> numa, const node_class& hardware, const std::string& sysfs_root) {
    if (!numa) return unknown_numa;
    if (hardware.numa_has_cpus(*numa)) return *numa;
    const auto text = sysfs::read(sysfs_root + "/devices/system/node/node" + std::to_string(*numa) + "/distance");
    if (!text) return unknown_numa;
    // The distances stand in the order of the node ids.
    std::istringstream distances(*text);
    long best = std::numeric_limits<long>::max();
    int nearest = unknown_numa;
    long distance = 0;
    for (const auto& n : hardware.numa) {
        if (!(distances >> distance)) return unknown_numa;
        if (n.cpus.empty() || distance > best) continue;
        nearest = distance == best ? unknown_numa : n.id;
        best = distance;
    }
    return nearest;
}

void check_lanes(const pci_device& d, const std::string& name, findings& notes) {
    const auto now = sysfs::read_number(d.folder + "/current_link_width");
    const auto most = sysfs::read_number(d.folder + "/max_link_width");
    if (!now || !most || *now <= 0 || *most <= 0 || !sysfs::read(d.folder + "/max_link_speed")) {
        notes.push_back(
            {severity::info, name, "the speed or width of its PCIe link cannot be read; it counts as unknown", ""});
        return;
    }
    if (*now < *most)
        notes.push_back({severity::warning, name,
                         "its PCIe link runs with " + std::to_string(*now) + " of " + std::to_string(*most) + " lanes",
                         "reseat the card, unless the slot has no more"});
}

}  // namespace topo::parts

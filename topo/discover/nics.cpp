// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>

#include "topo/counted.hpp"
#include "topo/discover/parts.hpp"
#include "topo/discover/sysfs.hpp"

namespace topo::parts {
namespace {

// Names go into files and onto terminals.
std::string clean(std::string text) {
    std::erase_if(text,
                  [](char c) { return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f; });
    return text.substr(0, 64);
}

// GB/s of "400 Gb/sec (4X NDR)". The kernel's rates are data rates.
std::optional<double> rate(const std::string& text) {
    double gb = 0;
    const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), gb);
    if (failed != std::errc{} ||
        !std::string_view(end, static_cast<std::size_t>(text.data() + text.size() - end)).starts_with(" Gb/sec"))
        return std::nullopt;
    if (!(gb > 0) || gb > 1e5) return std::nullopt;
    return gb / 8;
}

// Best active port; `why` when there is none.
std::optional<double> port_speed(const std::string& folder, std::string& why) {
    std::optional<double> best;
    why = "no port of it can be read";
    for (const auto& port : sysfs::names(folder + "/ports")) {
        const auto state = sysfs::read(folder + "/ports/" + port + "/state");
        const auto text = sysfs::read(folder + "/ports/" + port + "/rate");
        if (state && state->find("ACTIVE") == std::string::npos) {
            if (!best) why = "port " + clean(port) + " is not active";
            continue;
        }
        const auto speed = text ? rate(*text) : std::nullopt;
        if (speed && (!best || *speed > *best)) best = speed;
        if (!speed && !best) why = "the rate of port " + clean(port) + " cannot be read";
    }
    return best;
}

void note_unknown_speed(const found_nic& n, const std::string& why, findings& notes) {
    notes.push_back(
        {severity::info, n.device.name, "its speed is unknown (" + why + "), which is not 0: the NIC stays", ""});
}

void locate(found_nic& n, const std::string& device_link, const pci_tree& tree, const discover_options& options,
            const node_class& hardware, findings& notes) {
    const auto resolved = sysfs::resolve(device_link);
    if (resolved) n.at = pci_address_in(*resolved);
    n.device.pci = n.at;
    const auto found = n.at ? tree.find(*n.at) : tree.end();
    if (found == tree.end()) {
        notes.push_back({severity::info, n.device.name, "its PCI device is unknown", ""});
        return;
    }
    n.device.numa = cpu_node_of(found->second.numa, hardware, options.sysfs_root);
    check_lanes(found->second, n.device.name, notes);
}

// sysfs prints GUIDs as "e09d:7300:0000:0001".
std::string guid(const std::string& folder) {
    std::string text = clean(sysfs::read(folder + "/node_guid").value_or(""));
    std::erase(text, ':');
    const bool zero = text.find_first_not_of('0') == std::string::npos;
    return zero ? std::string() : text;
}

}  // namespace

std::vector<found_nic> find_nics(const pci_tree& tree, const discover_options& options, const node_class& hardware,
                                 findings& notes) {
    std::vector<found_nic> nics;
    std::set<pci_address> rdma;
    const auto full = [&] { return nics.size() == max_nics_per_node; };
    std::size_t left_out = 0;
    const std::string verbs = options.sysfs_root + "/class/infiniband";
    for (const auto& name : sysfs::names(verbs)) {
        if (full()) {
            ++left_out;
            continue;
        }
        const std::string folder = verbs + "/" + name;
        found_nic n;
        n.device.name = clean(name);
        n.device.model = clean(sysfs::read(folder + "/hca_type").value_or(""));
        n.device.guid = guid(folder);
        std::string why;
        n.device.gb_per_s = port_speed(folder, why);
        locate(n, folder + "/device", tree, options, hardware, notes);
        if (!n.device.gb_per_s) note_unknown_speed(n, why, notes);
        if (n.at) rdma.insert(*n.at);
        nics.push_back(std::move(n));
    }
    const bool any_rdma = !nics.empty();
    const std::string net = options.sysfs_root + "/class/net";
    for (const auto& name : sysfs::names(net)) {
        const auto resolved = sysfs::resolve(net + "/" + name + "/device");
        const auto address = resolved ? pci_address_in(*resolved) : std::nullopt;
        if (!address || !tree.contains(*address) || rdma.contains(*address)) continue;  // bridges, tunnels, USB
        if (full()) {
            ++left_out;
            continue;
        }
        found_nic n;
        n.device.name = clean(name);
        n.device.compute = !any_rdma;
        if (const auto mbit = sysfs::read_number(net + "/" + name + "/speed"); mbit && *mbit > 0 && *mbit < 100'000'000)
            n.device.gb_per_s = static_cast<double>(*mbit) / 8000;
        locate(n, net + "/" + name + "/device", tree, options, hardware, notes);
        if (!n.device.gb_per_s) note_unknown_speed(n, "the link is down or does not tell", notes);
        nics.push_back(std::move(n));
    }
    if (left_out > 0)
        notes.push_back({severity::warning, "",
                         counted(left_out, "NIC") + " beyond the first " + std::to_string(max_nics_per_node) +
                             (left_out == 1 ? " was" : " were") + " left out",
                         "say which NICs count when calibrating"});
    return nics;
}

}  // namespace topo::parts

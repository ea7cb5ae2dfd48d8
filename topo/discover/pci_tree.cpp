// SPDX-License-Identifier: Apache-2.0
#include "topo/discover/pci_tree.hpp"

#include <algorithm>
#include <string_view>

#include "topo/discover/sysfs.hpp"

namespace topo {
namespace {

std::vector<std::string_view> components(std::string_view path) {
    std::vector<std::string_view> parts;
    while (!path.empty()) {
        const std::size_t slash = path.find('/');
        if (slash > 0) parts.push_back(path.substr(0, slash));
        if (slash == std::string_view::npos) break;
        path.remove_prefix(slash + 1);
    }
    return parts;
}

// "0000:4f:00.0", but not the "4f:00.0" that parse() takes besides.
std::optional<pci_address> full_address(std::string_view text) {
    if (std::count(text.begin(), text.end(), ':') != 2) return std::nullopt;
    auto address = pci_address::parse(text);
    return address ? std::optional<pci_address>(*address) : std::nullopt;
}

// Where the device hangs: /sys/devices/pci0000:16/0000:16:01.0/0000:17:00.0. An Intel VMD is a host bridge
// of its own behind that of the CPU (…/0000:16:05.5/pci10000:00/10000:00:02.0/…): the last one counts.
void place(pci_device& d, const std::string& resolved) {
    std::string root;
    std::vector<pci_address> bridges;
    for (const auto part : components(resolved)) {
        if (const auto address = full_address(part)) {
            if (!root.empty()) bridges.push_back(*address);
        } else if (part.starts_with("pci")) {
            root = part;
            bridges.clear();
        }
    }
    if (bridges.empty() || bridges.back() != d.address) return;
    bridges.pop_back();
    d.root = std::move(root);
    d.bridges = std::move(bridges);
}

}  // namespace

std::optional<pci_address> pci_address_in(const std::string& path) {
    const auto parts = components(path);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part)
        if (auto address = full_address(*part)) return address;
    return std::nullopt;
}

pci_tree read_pci_tree(const std::string& sysfs_root) {
    pci_tree tree;
    const std::string folder = sysfs_root + "/bus/pci/devices";
    for (const auto& name : sysfs::names(folder)) {
        const auto address = full_address(name);
        if (!address) continue;
        pci_device d;
        d.address = *address;
        d.folder = folder + "/" + name;
        const auto device_class = sysfs::read_hex(d.folder + "/class");
        if (!device_class) continue;
        d.device_class = *device_class;
        d.vendor = sysfs::read_hex(d.folder + "/vendor").value_or(0);
        d.device = sysfs::read_hex(d.folder + "/device").value_or(0);
        if (const auto numa = sysfs::read_number(d.folder + "/numa_node"); numa && *numa >= 0 && *numa < 1 << 16)
            d.numa = static_cast<int>(*numa);
        d.virtual_function = sysfs::exists(d.folder + "/physfn");
        if (const auto resolved = sysfs::resolve(d.folder)) place(d, *resolved);
        tree.emplace(*address, std::move(d));
    }
    return tree;
}

link_class pci_link(const pci_device& a, const pci_device& b) noexcept {
    if (a.address == b.address) return link_class::self;
    if (a.root.empty() || b.root.empty()) return link_class::unknown;
    if (a.root != b.root) {
        if (!a.numa || !b.numa) return link_class::unknown;
        return *a.numa == *b.numa ? link_class::node : link_class::sys;
    }
    const auto [end_a, end_b] = std::mismatch(a.bridges.begin(), a.bridges.end(), b.bridges.begin(), b.bridges.end());
    if (end_a == a.bridges.begin()) return link_class::phb;
    const auto below = std::max(a.bridges.end() - end_a, b.bridges.end() - end_b);
    return below <= 1 ? link_class::pix : link_class::pxb;
}

}  // namespace topo

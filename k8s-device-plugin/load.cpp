// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <array>

#include "k8s-device-plugin/inventory.hpp"
#include "topo/discover/discover.hpp"
#include "topo/file.hpp"

namespace kube {
namespace {

topo::result<topo::node_description> this_node(const settings& s) {
    if (s.devices_file.empty()) {
        topo::discover_options how;
        how.sysfs_root = s.sysfs_root;
        how.proc_root = s.proc_root;
        how.use_hwloc = s.sysfs_root == "/sys";
        return topo::discover(how);
    }
    const auto text = topo::read_file(s.devices_file);
    if (!text) return text.failure();
    auto got = topo::parse_node(*text, s.devices_file);
    if (!got) return got.failure();
    for (const auto& f : topo::check(got->hardware))
        if (f.level == topo::severity::error)
            return topo::error{topo::errc::bad_input, s.devices_file + ": " + f.where, f.what, f.remedy};
    return got;
}

std::string host_name() {
    std::array<char, 256> name{};
    if (::gethostname(name.data(), name.size() - 1) != 0) return {};
    return name.data();
}

// Kubernetes nodes often carry the full name, cluster files the short one, or the other way round.
std::optional<topo::node_id> find_node(const topo::cluster& c, const std::string& name) {
    if (const auto found = c.find(name)) return found;
    const std::string first = name.substr(0, name.find('.'));
    return first != name ? c.find(first) : std::nullopt;
}

}  // namespace

topo::result<inventory> load_inventory(const settings& s) {
    const auto here = this_node(s);
    if (!here) return here.failure();
    if (s.cluster_file.empty()) return inventory::make(*here, nullptr, s);
    const auto cluster = topo::load_cluster(s.cluster_file);
    if (!cluster) return cluster.failure();
    const std::string name = !s.node_name.empty() ? s.node_name : !here->host.empty() ? here->host : host_name();
    const auto node = find_node(*cluster, name);
    if (!node)
        return topo::error{topo::errc::missing, s.cluster_file, "no node '" + name + "' stands in it",
                           "merge the node file of this node, or set node-name to its name there"};
    return inventory::make(*here, &cluster->class_of(*node), s);
}

}  // namespace kube

// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/arranged.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace slurm_plugin {
namespace {

// The description with its node lists in Slurm's order: runs of neighbours of one class.
topo::cluster_description in_slurm_order(const topo::cluster_description& file, const atoll_node_info* nodes,
                                         std::uint32_t count, arranged& out) {
    std::unordered_map<std::string_view, const std::string*> class_of;
    for (const auto& group : file.nodes)
        for (const std::string& name : group.nodes) class_of.emplace(name, &group.class_name);

    topo::cluster_description in;
    in.name = file.name;
    in.classes = file.classes;
    in.fabric = file.fabric;
    out.known.assign(count, 0);
    std::unordered_set<std::string_view> in_slurm;
    for (std::uint32_t i = 0; i < count; ++i) {
        const std::string name = nodes[i].name != nullptr ? nodes[i].name : fmt::format("(unused slot {})", i);
        const auto found = class_of.find(name);
        out.known[i] = found != class_of.end() ? 1 : 0;
        if (nodes[i].name != nullptr) in_slurm.insert(nodes[i].name);
        const std::string& hardware = out.known[i] != 0 ? *found->second : file.classes.front().name;
        if (in.nodes.empty() || in.nodes.back().class_name != hardware) in.nodes.push_back({hardware, {}});
        in.nodes.back().nodes.push_back(name);
    }
    for (const auto& group : file.nodes)
        for (const std::string& name : group.nodes)
            if (!in_slurm.contains(name)) {
                if (out.unslurmed.size() < 5) out.unslurmed.push_back(name);
                ++out.unslurmed_count;
            }
    return in;
}

void index_classes(arranged& a) {
    for (const topo::node_class& c : a.cluster->classes()) {
        std::vector<int> with_cpus;
        for (const topo::numa_node& n : c.numa)
            if (c.numa_has_cpus(n.id)) with_cpus.push_back(n.id);
        std::sort(with_cpus.begin(), with_cpus.end());
        std::vector<std::int8_t> sockets;
        for (const topo::gpu& g : c.gpus) {
            const auto at = std::lower_bound(with_cpus.begin(), with_cpus.end(), g.numa);
            const bool found = at != with_cpus.end() && *at == g.numa && at - with_cpus.begin() < 64;
            sockets.push_back(found ? static_cast<std::int8_t>(at - with_cpus.begin()) : std::int8_t{-1});
        }
        a.socket.push_back(std::move(sockets));
        a.numa_nodes.push_back(static_cast<std::uint32_t>(with_cpus.size()));
    }
}

void index_nodes(arranged& a, const atoll_node_info* nodes, std::uint32_t count) {
    for (std::uint32_t i = 0; i < count; ++i) {
        const bool known = a.known[i] != 0;
        const auto gpus = static_cast<std::uint32_t>(a.cluster->class_of(topo::node_id{i}).gpus.size());
        a.gpus.push_back(known ? gpus : 0);
        a.slurm_sockets.push_back(nodes[i].sockets);
        a.cpus.push_back(nodes[i].cpus);
        (known ? a.nodes_known : a.nodes_unknown) += nodes[i].name != nullptr ? 1 : 0;
        if (known) a.limits.gpus = std::max(a.limits.gpus, gpus);
        if (known) a.limits.cpus = std::max(a.limits.cpus, nodes[i].cpus);
    }
}

}  // namespace

topo::result<arranged> arrange(const topo::cluster_description& file, const atoll_node_info* nodes, std::uint32_t count,
                               const placement::placer_options& options) {
    arranged a;
    if (file.classes.empty())
        return topo::error{topo::errc::bad_input, "", "the cluster file has no node class", "run atoll merge"};
    auto built = topo::cluster::build(in_slurm_order(file, nodes, count, a), true);
    if (!built) return built.failure();
    a.cluster = std::make_unique<topo::cluster>(std::move(*built));
    index_classes(a);
    index_nodes(a, nodes, count);
    if (a.nodes_known == 0)
        return topo::error{topo::errc::bad_input, "", "none of Slurm's nodes is in the cluster file",
                           "compare its node names with `scontrol show nodes` (NodeName, not the address)"};
    auto made = placement::placer::make(*a.cluster, options);
    if (!made) return made.failure();
    a.placer = std::make_unique<placement::placer>(std::move(*made));
    for (std::uint32_t i = 0; i < count; ++i) a.placer->set_free(topo::node_id{i}, 0);
    return a;
}

}  // namespace slurm_plugin

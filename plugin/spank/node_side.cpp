// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/spank/node_side.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <utility>

#include "placement/rank_order.hpp"
#include "placement/subset_table.hpp"
#include "plugin/slurm/config.hpp"
#include "plugin/slurm/glue.h"
#include "plugin/slurm/regular_file.hpp"
#include "plugin/spank/task_text.hpp"
#include "topo/cluster.hpp"
#include "topo/file.hpp"
#include "topo/hostlist.hpp"

struct atoll_node {
    topo::cluster cluster;
    placement::subset_table table;
    std::vector<int> nics;
    topo::node_id here;
    std::string nccl_topo_file;

    [[nodiscard]] const topo::node_class& hardware() const { return cluster.class_of(here); }
};

namespace {

using topo::errc;

std::string path_or_default(const char* given) {
    if (given != nullptr) return given;
    const char* from_env = std::getenv("ATOLL_CONF");
    return from_env != nullptr && *from_env != '\0' ? from_env : ATOLL_DEFAULT_CONFIG;
}

topo::error nothing_to_do() { return {errc::missing, "", "", ""}; }

topo::result<slurm_plugin::config> settings_of(const char* given) {
    const std::string path = path_or_default(given);
    const auto text = slurm_plugin::read_regular(path, 1u << 20);
    if (!text) return text.failure().code == errc::missing ? nothing_to_do() : text.failure();
    auto settings = slurm_plugin::parse_config(*text, path);
    if (settings && !settings->on) return nothing_to_do();
    return settings;
}

topo::result<topo::cluster> cluster_of(const slurm_plugin::config& settings) {
    const auto text = slurm_plugin::read_regular(settings.cluster_file, topo::max_file_bytes);
    if (!text) return text.failure();
    auto parsed = topo::parse_cluster(*text, settings.cluster_file);
    if (!parsed) return parsed.failure();
    auto built = topo::cluster::build(std::move(*parsed), true);
    if (!built) return built.failure();
    if (built->simulated() && !settings.allow_simulated)
        return topo::error{errc::refused, settings.cluster_file, "its costs are simulated, not measured",
                           "calibrate the nodes, or write allow_simulated: true"};
    return built;
}

topo::result<std::unique_ptr<atoll_node>> open_node(const char* given, const char* host) {
    const auto settings = settings_of(given);
    if (!settings) return settings.failure();
    auto cluster = cluster_of(*settings);
    if (!cluster) return cluster.failure();
    const auto here = cluster->find(host);
    if (!here) return nothing_to_do();
    const topo::node_class& hardware = cluster->class_of(*here);
    auto table = placement::subset_table::build(hardware, {.message_bytes = settings->message_bytes});
    if (!table) return table.failure();
    std::vector<int> nics = topo::nearest_nics(hardware);
    return std::unique_ptr<atoll_node>(
        new atoll_node{std::move(*cluster), std::move(*table), std::move(nics), *here, settings->nccl_topo_file});
}

// Runs `body`; an exception becomes its text in `why`. Nothing leaves it.
template <class T, class Body>
T guarded(T otherwise, char* why, std::size_t size, Body&& body) noexcept {
    try {
        return body();
    } catch (const std::exception& e) {
        if (why != nullptr && size > 0) *std::copy_n(e.what(), std::min(size - 1, std::strlen(e.what())), why) = '\0';
    } catch (...) {
        if (why != nullptr && size > 0) *why = '\0';
    }
    return otherwise;
}

bool put(const std::string& text, char* to, std::size_t size) noexcept {
    if (to == nullptr || text.size() >= size) return false;
    std::memcpy(to, text.c_str(), text.size() + 1);
    return true;
}

atoll_node* open_it(const char* config, const char* host, char* why, std::size_t size) {
    if (why != nullptr && size > 0) *why = '\0';
    if (host == nullptr) return nullptr;
    return guarded<atoll_node*>(nullptr, why, size, [&]() -> atoll_node* {
        auto opened = open_node(config, host);
        if (opened) return opened->release();
        const std::string text = opened.failure().what.empty() ? std::string{} : opened.failure().message();
        if (!put(text, why, size)) put(text.substr(0, size > 0 ? size - 1 : 0), why, size);
        return nullptr;
    });
}

void close_it(atoll_node* node) { delete node; }

std::uint32_t ring_order(const atoll_node* node, std::uint64_t mask, std::uint8_t* out) {
    if (node == nullptr || out == nullptr || (mask & ~topo::first_gpus(node->hardware().gpus.size())) != 0) return 0;
    return static_cast<std::uint32_t>(node->table.ring_order(mask, {out, ATOLL_MOST_GPUS}));
}

int gpu_place(const atoll_node* node, std::uint32_t gpu, atoll_gpu_place* out) {
    if (node == nullptr || out == nullptr || gpu >= node->hardware().gpus.size()) return 0;
    const topo::node_class& hardware = node->hardware();
    *out = {};
    out->numa = -1;
    if (const int nic = node->nics[gpu]; nic >= 0) out->nic = hardware.nics[static_cast<std::size_t>(nic)].name.c_str();
    if (!hardware.locality_trusted) return 1;
    for (const topo::numa_node& n : hardware.numa) {
        if (n.id != hardware.gpus[gpu].numa || n.cpus.empty()) continue;
        out->numa = n.id;
        for (const auto& [first, last] : n.cpus.ranges())
            for (std::uint32_t cpu = first; cpu <= last && cpu < ATOLL_CPU_WORDS * 64; ++cpu)
                out->cpus[cpu / 64] |= std::uint64_t{1} << (cpu % 64);
    }
    return 1;
}

const char* nccl_topo_file(const atoll_node* node) {
    return node == nullptr || node->nccl_topo_file.empty() ? nullptr : node->nccl_topo_file.c_str();
}

int rank_hosts(const atoll_node* node, const char* hosts, const char* tasks, char* list, std::size_t list_size,
               char* lines, std::size_t lines_size) {
    if (node == nullptr || hosts == nullptr || tasks == nullptr) return 0;
    return guarded(0, nullptr, 0, [&] {
        const auto names = topo::expand_hostlist(hosts);
        if (!names) return 0;
        const auto counts = slurm_plugin::task_counts(tasks, names->size());
        if (counts.size() != names->size()) return 0;
        std::vector<placement::node_share> shares;
        std::vector<std::uint32_t> tasks_of(node->cluster.nodes().size(), 0);
        for (std::size_t i = 0; i < names->size(); ++i) {
            const auto id = node->cluster.find((*names)[i]);
            if (!id) return 0;
            shares.push_back({*id, 0});
            tasks_of[id->value] = counts[i];
        }
        placement::sort_by_fabric(node->cluster.network(), shares);
        std::vector<std::string> ordered;
        std::string all;
        for (const placement::node_share& s : shares) {
            ordered.push_back(node->cluster.nodes()[s.node.value].name);
            for (std::uint32_t t = 0; t < tasks_of[s.node.value]; ++t) all += ordered.back() + "\n";
            if (all.size() >= lines_size) return 0;
        }
        return put(topo::compress_hostlist(ordered), list, list_size) && put(all, lines, lines_size) ? 1 : 0;
    });
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const atoll_node_api* atoll_node_entry(void) {
    static constexpr atoll_node_api api{ATOLL_NODE_ABI, open_it,        close_it,  ring_order,
                                        gpu_place,      nccl_topo_file, rank_hosts};
    return &api;
}

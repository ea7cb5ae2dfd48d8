// SPDX-License-Identifier: Apache-2.0
#include "topo/discover/discover.hpp"

#include <algorithm>
#include <cctype>
#include <exception>
#include <utility>

#include "topo/discover/parts.hpp"
#include "topo/discover/sysfs.hpp"
#include "topo/import/node_marks.hpp"
#include "topo/link_table.hpp"

namespace topo {
namespace {

void count_cores(node_class& hardware, const discover_options& options, findings& notes) {
    auto counts = parts::read_cores(options.sysfs_root);
    if (options.use_hwloc && options.sysfs_root == "/sys") {  // hwloc only knows the running machine
        const auto seen = parts::hwloc_cores();
        if (!seen)
            notes.push_back({severity::info, "hwloc", "it could not read this machine; cores are those of sysfs", ""});
        else if (counts && (counts->cores != seen->cores || counts->threads != seen->threads))
            notes.push_back({severity::info, "hwloc",
                             "it counts " + std::to_string(seen->cores) + " cores of " + std::to_string(seen->threads) +
                                 " threads, sysfs " + std::to_string(counts->cores) + " of " +
                                 std::to_string(counts->threads) + "; those of hwloc are taken",
                             ""});
        if (seen) counts = seen;
    }
    if (!counts) {
        notes.push_back({severity::info, "", "the numbers of cores and threads are unknown", ""});
        return;
    }
    hardware.cores = counts->cores;
    hardware.threads_per_core = counts->threads;
}

void join_devices(node_class& hardware, const std::vector<parts::found_gpu>& gpus,
                  const std::vector<parts::found_nic>& nics, const pci_tree& tree) {
    hardware.gpu_links = matrix<link>(gpus.size(), gpus.size());
    hardware.nic_links = matrix<link>(gpus.size(), nics.size());
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        const pci_device& from = tree.at(gpus[a].at);
        for (std::size_t b = 0; b < gpus.size(); ++b)
            hardware.gpu_links(a, b) = {pci_link(from, tree.at(gpus[b].at)), 0};
        for (std::size_t k = 0; k < nics.size(); ++k) {
            const auto at = nics[k].at ? tree.find(*nics[k].at) : tree.end();
            if (at != tree.end()) hardware.nic_links(a, k) = {pci_link(from, at->second), 0};
        }
    }
}

// "nvidia-h100-80gb-hbm3-x8"; what a class made of this node will be called.
std::string class_name(const node_class& hardware) {
    if (hardware.gpus.empty()) return "no-gpu";
    std::string name;
    for (const char c : hardware.gpus.front().model) {
        const auto u = static_cast<unsigned char>(c);
        if (std::isalnum(u) != 0)
            name += static_cast<char>(std::tolower(u));
        else if (!name.empty() && name.back() != '-')
            name += '-';
    }
    while (!name.empty() && name.back() == '-') name.pop_back();
    return (name.empty() ? "gpu" : name) + "-x" + std::to_string(hardware.gpus.size());
}

void note_what_is_missing(node_class& hardware, findings& notes) {
    if (hardware.gpus.empty()) {
        notes.push_back({severity::info, "", "no GPU found", ""});
        return;
    }
    if (flat_guest(hardware)) {
        hardware.locality_trusted = false;
        notes.push_back({severity::warning, "",
                         "virtual, locality not trusted: every pair is PHB and at most one NUMA node is known",
                         "measure with atoll calibrate, or import the topology XML of the host"});
    }
    if (hardware.gpus.size() > 1)
        notes.push_back({severity::info, "", "sysfs shows PCI only: NVLink and xGMI are not seen here",
                         "import nvidia-smi topo -m, or measure with atoll calibrate"});
    if (hardware.nics.empty()) notes.push_back({severity::info, "", "no NIC on PCI found", ""});
}

std::string driver_of(const discover_options& options) {
    // "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  …": the first word that is a version.
    const auto text = sysfs::read(options.proc_root + "/driver/nvidia/version");
    if (!text) return {};
    std::string word;
    for (const char c : *text + " ") {
        if (c != ' ' && c != '\n' && c != '\t') {
            word += c;
            continue;
        }
        const bool version = !word.empty() && word.find('.') != std::string::npos &&
                             word.find_first_not_of("0123456789.") == std::string::npos;
        if (version) return word.substr(0, 32);
        word.clear();
    }
    return {};
}

result<node_description> discover_all(const discover_options& options) {
    if (sysfs::names(options.sysfs_root).empty())
        return error{errc::io, options.sysfs_root, "the folder cannot be read or is empty",
                     "mount sysfs there, or give the folder of a captured tree"};
    node_description node;
    node_class& hardware = node.hardware;
    node.host = clean_name(sysfs::read(options.proc_root + "/sys/kernel/hostname").value_or(""));
    hardware.numa = parts::read_numa(options.sysfs_root);
    if (hardware.numa.empty()) node.notes.push_back({severity::info, "", "no NUMA node can be read", ""});
    count_cores(hardware, options, node.notes);
    const pci_tree tree = read_pci_tree(options.sysfs_root);
    const auto gpus = parts::find_gpus(tree, options, hardware, node.notes);
    const auto nics = parts::find_nics(tree, options, hardware, node.notes);
    for (const auto& g : gpus) hardware.gpus.push_back(g.device);
    for (const auto& n : nics) hardware.nics.push_back(n.device);
    join_devices(hardware, gpus, nics, tree);
    mark_nics(hardware);
    note_what_is_missing(hardware, node.notes);
    hardware.name = class_name(hardware);
    hardware.made_by.tool = "atoll discover";
    hardware.made_by.host = node.host;
    hardware.made_by.driver = driver_of(options);
    hardware.made_by.input = options.sysfs_root;
    fill_estimates(hardware);
    return node;
}

}  // namespace

result<node_description> discover(const discover_options& options) {
    try {
        return discover_all(options);
    } catch (const std::exception& e) {
        return error{errc::io, options.sysfs_root, std::string("discovery failed: ") + e.what(), "free some memory"};
    }
}

}  // namespace topo

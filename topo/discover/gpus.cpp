// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <sstream>
#include <string_view>

#include "topo/counted.hpp"
#include "topo/discover/parts.hpp"
#include "topo/discover/sysfs.hpp"
#include "topo/import/node_marks.hpp"

namespace topo::parts {
namespace {

constexpr unsigned nvidia = 0x10de;
constexpr unsigned amd = 0x1002;

// 0x0302 3D controller, 0x0300 VGA controller, 0x1200 processing accelerator (PCI code and ID assignment).
// A VGA controller of AMD may be the small one of a board or CPU: only with the driver that can compute.
bool is_gpu(const pci_device& d) {
    const unsigned kind = d.device_class >> 8;
    if (d.vendor == nvidia) return kind == 0x0302 || kind == 0x0300;
    if (d.vendor != amd) return false;
    if (kind == 0x1200 || kind == 0x0302 || kind == 0x0380) return true;
    return kind == 0x0300 && sysfs::exists(d.folder + "/mem_info_vram_total");
}

std::string field_of(const std::string& text, std::string_view key) {
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        if (!std::string_view(line).starts_with(key)) continue;
        const std::size_t colon = line.find(':');
        if (colon == std::string::npos) continue;
        const std::size_t start = line.find_first_not_of(" \t", colon + 1);
        std::string value = start == std::string::npos ? "" : line.substr(start);
        while (!value.empty() && (value.back() == ' ' || value.back() == '\t' || value.back() == '\r'))
            value.pop_back();
        std::erase_if(value, [](char c) {
            return static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f;
        });
        return value.substr(0, 128);
    }
    return {};
}

// What the NVIDIA driver tells in /proc without being asked through its library.
void read_nvidia_proc(found_gpu& g, const std::string& proc_root) {
    const auto text = sysfs::read(proc_root + "/driver/nvidia/gpus/" + g.at.text() + "/information");
    if (!text) return;
    g.device.model = field_of(*text, "Model");
    g.device.uuid = field_of(*text, "GPU UUID");
    if (g.device.uuid.find('?') != std::string::npos) g.device.uuid.clear();  // "GPU-????????-…" before first use
    const std::string digits = field_of(*text, "Device Minor");
    if (!digits.empty() && digits.size() < 5 && digits.find_first_not_of("0123456789") == std::string::npos)
        g.minor = std::stol(digits);
}

void order_and_name(std::vector<found_gpu>& gpus) {
    std::set<long> minors;
    for (const auto& g : gpus)
        if (g.minor) minors.insert(*g.minor);
    const bool by_minor = minors.size() == gpus.size();
    if (by_minor)
        std::sort(gpus.begin(), gpus.end(), [](const found_gpu& a, const found_gpu& b) { return *a.minor < *b.minor; });
    for (std::size_t i = 0; i < gpus.size(); ++i)
        gpus[i].device.name = "GPU" + std::to_string(by_minor ? *gpus[i].minor : static_cast<long>(i));
}

}  // namespace

std::vector<found_gpu> find_gpus(const pci_tree& tree, const discover_options& options, const node_class& hardware,
                                 findings& notes) {
    std::vector<found_gpu> gpus;
    std::size_t virtuals = 0;
    std::size_t too_many = 0;
    for (const auto& [address, d] : tree) {
        if (!is_gpu(d)) continue;
        if (d.virtual_function) {
            ++virtuals;
            continue;
        }
        if (gpus.size() == max_gpus_per_node) {
            ++too_many;
            continue;
        }
        found_gpu g;
        g.at = address;
        g.device.pci = address;
        g.device.numa = cpu_node_of(d.numa, hardware, options.sysfs_root);
        // The CPUs of the NUMA node, not the device's local_cpulist, which is wrong on C2C machines.
        for (const auto& n : hardware.numa)
            if (n.id == g.device.numa) g.device.cpus = n.cpus;
        if (d.vendor == nvidia) read_nvidia_proc(g, options.proc_root);
        if (g.device.model.empty())
            if (const auto name = sysfs::read(d.folder + "/product_name")) g.device.model = clean_name(*name);
        gpus.push_back(std::move(g));
    }
    order_and_name(gpus);
    for (const auto& g : gpus) {
        check_lanes(tree.at(g.at), g.device.name, notes);
        if (g.device.numa == unknown_numa)
            notes.push_back({severity::info, g.device.name,
                             "locality unknown: the system names no NUMA node for " + g.at.text(), ""});
    }
    if (virtuals > 0)
        notes.push_back(
            {severity::info, "",
             counted(virtuals, "virtual function of a GPU was left out", "virtual functions of GPUs were left out"),
             ""});
    if (too_many > 0)
        notes.push_back({severity::warning, "",
                         counted(too_many, "GPU") + " beyond the first " + std::to_string(max_gpus_per_node) +
                             (too_many == 1 ? " was" : " were") + " left out",
                         "describe them as a node of their own"});
    return gpus;
}

}  // namespace topo::parts

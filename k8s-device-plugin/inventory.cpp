// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/inventory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "k8s-device-plugin/driver_files.hpp"
#include "topo/link_table.hpp"

namespace kube {
namespace {

using topo::errc;
using topo::error;
using topo::result;

constexpr std::size_t longest_id = 63;  // of a device, by the protocol

std::string id_of(const topo::gpu& g) { return g.uuid.empty() ? g.name : g.uuid; }

// For each device of the class, its position on this node: by PCI address, else by position where the numbers
// agree. -1: not here.
template <class Device>
result<std::vector<int>> match(const std::vector<Device>& of_class, const std::vector<Device>& here,
                               std::string_view what, const std::string& class_name) {
    std::vector<int> out(of_class.size(), -1);
    const auto addressed = [](const Device& d) { return d.pci.has_value(); };
    if (std::all_of(of_class.begin(), of_class.end(), addressed) && std::all_of(here.begin(), here.end(), addressed)) {
        for (std::size_t h = 0; h < here.size(); ++h) {
            const auto found =
                std::find_if(of_class.begin(), of_class.end(), [&](const Device& d) { return d.pci == here[h].pci; });
            if (found == of_class.end())
                return error{
                    errc::bad_input, "class " + class_name,
                    fmt::format("has no {} at {}, where this node has {}", what, here[h].pci->text(), here[h].name),
                    "calibrate this node, merge it into the cluster file, and check node-name"};
            out[static_cast<std::size_t>(found - of_class.begin())] = static_cast<int>(h);
        }
        return out;
    }
    if (of_class.size() != here.size())
        return error{errc::bad_input, "class " + class_name,
                     fmt::format("has {} {}s, this node {}, and no PCI addresses tell which is missing",
                                 of_class.size(), what, here.size()),
                     "calibrate this node and merge it, or let both files carry PCI addresses"};
    for (std::size_t i = 0; i < here.size(); ++i) out[i] = static_cast<int>(i);
    return out;
}

std::int64_t latest_measurement(const topo::node_class& hardware) {
    std::int64_t latest = hardware.made_by.time;
    if (const auto* layer = hardware.best_layer(topo::endpoint::gpu, topo::endpoint::gpu))
        for (std::size_t a = 0; a < layer->cells.rows(); ++a)
            for (std::size_t b = 0; b < layer->cells.columns(); ++b)
                if (layer->cells(a, b).from == topo::source::measured)
                    latest = std::max(latest, layer->cells(a, b).time);
    return latest;
}

bool only_estimates(const topo::node_class& hardware) {
    const auto* layer = hardware.best_layer(topo::endpoint::gpu, topo::endpoint::gpu);
    if (layer == nullptr) return true;
    for (std::size_t a = 0; a < layer->cells.rows(); ++a)
        for (std::size_t b = 0; b < layer->cells.columns(); ++b)
            if (a != b && layer->cells(a, b).from != topo::source::estimated) return false;
    return hardware.gpus.size() > 1;
}

// Identity, locality and presence come from the node; links and costs from the class.
result<topo::node_class> joined(const topo::node_description& here, const topo::node_class& measured,
                                std::vector<bool>& gpu_here, std::vector<bool>& nic_here, topo::findings& notes) {
    topo::node_class out = measured;
    const auto gpus = match(measured.gpus, here.hardware.gpus, "GPU", measured.name);
    if (!gpus) return gpus.failure();
    gpu_here.assign(out.gpus.size(), false);
    for (std::size_t i = 0; i < out.gpus.size(); ++i) {
        if ((*gpus)[i] < 0) {
            notes.push_back({topo::severity::warning, out.gpus[i].name,
                             "the class has this GPU, this node does not show it: it is not offered",
                             "look for Xid 79 in the kernel log, then calibrate again"});
            continue;
        }
        const topo::gpu& local = here.hardware.gpus[static_cast<std::size_t>((*gpus)[i])];
        gpu_here[i] = true;
        out.gpus[i].name = local.name;
        out.gpus[i].uuid = local.uuid;
        if (local.pci) out.gpus[i].pci = local.pci;
        if (local.numa != topo::unknown_numa) out.gpus[i].numa = local.numa;
    }
    nic_here.assign(out.nics.size(), true);
    if (const auto nics = match(measured.nics, here.hardware.nics, "NIC", measured.name); !nics) {
        if (!here.hardware.nics.empty())
            notes.push_back(
                {topo::severity::warning, nics.failure().where, nics.failure().what, nics.failure().remedy});
    } else {
        for (std::size_t i = 0; i < out.nics.size(); ++i) {
            nic_here[i] = (*nics)[i] >= 0;
            if (nic_here[i]) out.nics[i].name = here.hardware.nics[static_cast<std::size_t>((*nics)[i])].name;
        }
    }
    if (!here.hardware.numa.empty()) out.numa = here.hardware.numa;
    out.locality_trusted = measured.locality_trusted && here.hardware.locality_trusted;
    return out;
}

}  // namespace

std::string_view name_of(cost_origin o) noexcept {
    switch (o) {
        case cost_origin::cluster_file: return "cluster file";
        case cost_origin::node_file: return "node file";
        case cost_origin::estimated: break;
    }
    return "estimated";
}

topo::gpu_mask inventory::present() const noexcept {
    topo::gpu_mask mask = 0;
    for (std::size_t g = 0; g < parts_.size(); ++g)
        if (parts_[g].here) mask |= topo::gpu_mask{1} << g;
    return mask;
}

const device* inventory::find(std::string_view id) const {
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? nullptr : &devices_[found->second];
}

result<inventory> inventory::make(const topo::node_description& here, const topo::node_class* measured,
                                  const settings& s) {
    inventory out;
    std::vector<bool> gpu_here, nic_here;
    if (measured != nullptr) {
        auto both = joined(here, *measured, gpu_here, nic_here, out.notes_);
        if (!both) return both.failure();
        out.hardware_ = std::move(*both);
        out.origin_ = cost_origin::cluster_file;
    } else {
        out.hardware_ = here.hardware;
        out.origin_ = cost_origin::node_file;
        gpu_here.assign(out.hardware_.gpus.size(), true);
        nic_here.assign(out.hardware_.nics.size(), true);
    }
    topo::node_class& hw = out.hardware_;
    if (hw.gpus.empty() && s.fail_on_init_error)
        return error{errc::missing, "this node", "no GPU was found",
                     "load the driver, or set fail-on-init-error to false"};
    if (only_estimates(hw)) out.origin_ = cost_origin::estimated;
    // The class may lack GPU costs altogether; NIC layers are filled at the same time.
    topo::fill_estimates(hw);
    if (hw.simulated() && !s.allow_simulated)
        return error{errc::refused, "class " + hw.name, "its costs were simulated, not measured",
                     "calibrate a real node, or set allow-simulated for a trial"};
    out.measured_at_ = latest_measurement(hw);

    const std::vector<int> nics = topo::nearest_nics(hw);
    std::set<std::string> ids;
    out.parts_.resize(hw.gpus.size());
    for (std::size_t g = 0; g < hw.gpus.size(); ++g) {
        gpu_parts& p = out.parts_[g];
        p.here = gpu_here[g];
        p.id = id_of(hw.gpus[g]);
        p.number = static_cast<unsigned>(g);
        if (hw.gpus[g].pci)
            if (const auto minor = gpu_minor(s.proc_root, *hw.gpus[g].pci)) p.number = *minor;
        if (hw.locality_trusted && hw.numa_has_cpus(hw.gpus[g].numa)) p.numa = hw.gpus[g].numa;
        if (g < nics.size() && nics[g] >= 0 && nic_here[static_cast<std::size_t>(nics[g])]) {
            p.nic = hw.nics[static_cast<std::size_t>(nics[g])].name;
            p.verbs = verbs_file(s.sysfs_root, p.nic).value_or("");
        }
        if (!p.here) continue;
        for (unsigned slice = 0; slice < s.replicas; ++slice) {
            device d;
            d.id = s.replicas > 1 ? p.id + "::" + std::to_string(slice) : p.id;
            d.gpu = static_cast<std::uint8_t>(g);
            d.slice = static_cast<std::uint16_t>(slice);
            if (d.id.empty() || d.id.size() > longest_id || !ids.insert(d.id).second)
                return error{errc::bad_input, hw.gpus[g].name,
                             "its identifier is empty, longer than 63 characters or stands twice: " + d.id,
                             "correct uuid or name in the node file"};
            out.devices_.push_back(std::move(d));
        }
    }
    std::sort(out.devices_.begin(), out.devices_.end(), [](const device& a, const device& b) { return a.id < b.id; });
    for (std::size_t i = 0; i < out.devices_.size(); ++i) out.by_id_.emplace(out.devices_[i].id, i);
    placement::subset_options how;
    how.message_bytes = s.message_bytes;
    auto table = placement::subset_table::build(hw, how);
    if (!table) return table.failure();
    out.table_ = std::move(*table);
    return out;
}

}  // namespace kube

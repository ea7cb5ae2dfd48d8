// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/allocation.hpp"

#include <array>
#include <bit>

#include "k8s-device-plugin/cdi.hpp"
#include "topo/quote.hpp"

namespace kube {
namespace {

void join(std::string& list, std::string_view item) {
    if (!list.empty()) list += ',';
    list += item;
}

std::vector<std::size_t> members(topo::gpu_mask mask) {
    std::vector<std::size_t> out;
    for (; mask != 0; mask &= mask - 1) out.push_back(static_cast<std::size_t>(std::countr_zero(mask)));
    return out;
}

// What the container runtime finds the GPUs by.
void name_gpus(allocation& out, const inventory& node, const settings& s, const std::vector<std::size_t>& gpus) {
    std::string list, names;
    for (const std::size_t g : gpus) {
        const gpu_parts& p = node.parts(g);
        const std::string id = s.ids == id_strategy::uuid ? p.id : std::to_string(p.number);
        join(list, id);
        join(names, node.hardware().gpus[g].name);
        if (s.list.volume_mounts) out.mounts.push_back({"/var/run/nvidia-container-devices/" + id, "/dev/null"});
        if (s.list.cdi()) out.cdi.push_back(s.resource + "=" + cdi_name(p));
        if (s.pass_device_specs)
            for (const std::string& file : gpu_files(p)) out.files.push_back({file, host_path(s, file)});
    }
    if (s.pass_device_specs)
        for (const std::string& file : control_files(s)) out.files.push_back({file, host_path(s, file)});
    if (s.list.envvar) out.environment["NVIDIA_VISIBLE_DEVICES"] = list;
    if (s.list.volume_mounts) out.environment["NVIDIA_VISIBLE_DEVICES"] = "/var/run/nvidia-container-devices";
    if (s.list.cdi_annotations) {
        std::string value;
        for (const std::string& name : out.cdi) join(value, name);
        std::string key = s.resource;
        for (char& c : key) c = c == '/' ? '_' : c;
        out.annotations[s.cdi_prefix + key] = value;
    }
    if (!s.list.cdi_cri) out.cdi.clear();
    out.environment["ATOLL_GPUS"] = names;
}

void name_nics(allocation& out, const inventory& node, const settings& s, const std::vector<std::size_t>& gpus) {
    if (!s.nics) return;
    std::string hcas, devices, each;
    std::vector<std::string> seen;
    bool any_file = false;
    for (const std::size_t g : gpus) {
        const gpu_parts& p = node.parts(g);
        join(each, p.nic.empty() ? "-" : p.nic);
        if (p.nic.empty() || std::find(seen.begin(), seen.end(), p.nic) != seen.end()) continue;
        seen.push_back(p.nic);
        join(hcas, p.nic);
        join(devices, p.nic + ":1");
        if (p.verbs.empty()) continue;
        any_file = true;
        const std::string file = "/dev/infiniband/" + p.verbs;
        out.files.push_back({file, host_path(s, file)});
    }
    if (seen.empty()) return;
    if (any_file) out.files.push_back({"/dev/infiniband/rdma_cm", host_path(s, "/dev/infiniband/rdma_cm")});
    out.environment["NCCL_IB_HCA"] = "=" + hcas;  // "=": these names, not names that begin so
    out.environment["UCX_NET_DEVICES"] = devices;
    out.environment["ATOLL_NICS"] = each;
}

void name_order(allocation& out, const inventory& node, const std::vector<std::size_t>& gpus) {
    std::array<std::uint8_t, topo::max_gpus_per_node> order{};
    const std::size_t n = node.table().ring_order(out.gpus, order);
    std::string ring;
    for (std::size_t i = 0; i < n; ++i) {
        const auto at = std::find(gpus.begin(), gpus.end(), order[i]) - gpus.begin();
        join(ring, std::to_string(at));
    }
    out.environment["ATOLL_RING"] = ring;
    const std::vector<int> near = node.hardware().numa_of(out.gpus);
    if (!near.empty() && node.hardware().locality_trusted)
        out.environment["ATOLL_CPU_NUMA"] = std::to_string(near.front());
}

}  // namespace

std::string cdi_name(const gpu_parts& gpu) {
    std::string name;
    for (const char c : gpu.id) {
        const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
        name += letter || (!name.empty() && (c == '-' || c == '_' || c == '.')) ? c : '_';
    }
    if (!name.empty() && name.front() == '_') name.insert(0, "gpu");
    while (!name.empty() && (name.back() == '-' || name.back() == '_' || name.back() == '.')) name.pop_back();
    return name;
}

topo::result<allocation> allocate(const inventory& node, const settings& s, std::span<const std::string_view> ids) {
    allocation out;
    for (const std::string_view id : ids) {
        const device* d = node.find(id);
        if (d == nullptr)
            return topo::error{topo::errc::bad_input, "Allocate", "unknown device '" + topo::shown(id) + "'",
                               "the devices of this node changed; the pod is placed anew by its controller"};
        out.gpus |= topo::gpu_mask{1} << d->gpu;
    }
    const std::vector<std::size_t> gpus = members(out.gpus);
    name_gpus(out, node, s, gpus);
    name_nics(out, node, s, gpus);
    name_order(out, node, gpus);
    if (!s.nccl_topo_file.empty()) {
        out.mounts.push_back({"/etc/nccl-topo.xml", s.nccl_topo_file});
        out.environment["NCCL_TOPO_FILE"] = "/etc/nccl-topo.xml";
    }
    return out;
}

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// What a container is given with its devices: Allocate without the protocol around it.
//
//   NVIDIA_VISIBLE_DEVICES     UUIDs (or numbers) of its GPUs, for the NVIDIA container runtime   (envvar)
//   mounts below /var/run/nvidia-container-devices                                                (volume-mounts)
//   annotation / CDI names "atoll.dev/gpu=GPU-…"                                 (cdi-annotations, cdi-cri)
//   /dev/nvidiaN and the control files                                           (pass-device-specs)
//   NIC of each GPU: /dev/infiniband/uverbsN, rdma_cm; NCCL_IB_HCA, UCX_NET_DEVICES               (nics)
//   ATOLL_GPUS, ATOLL_NICS     one entry a GPU, in the same order as NVIDIA_VISIBLE_DEVICES
//   ATOLL_RING                 positions in that order, as the fastest ring visits the GPUs
//   ATOLL_CPU_NUMA             the NUMA node with CPUs that is near most of the GPUs; left out when unknown
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "k8s-device-plugin/inventory.hpp"
#include "k8s-device-plugin/settings.hpp"
#include "topo/result.hpp"

namespace kube {

struct allocation {
    struct mount {
        std::string container_path, host_path;
    };  // read-only
    struct device_file {
        std::string container_path, host_path;
    };  // "rw"
    std::map<std::string, std::string> environment;
    std::map<std::string, std::string> annotations;
    std::vector<mount> mounts;
    std::vector<device_file> files;
    std::vector<std::string> cdi;  // "vendor/class=name"
    topo::gpu_mask gpus = 0;
};

// `ids` of one container, in any order; slices of one GPU count as that GPU. Fails with bad_input on an id that this
// node does not have. O(ids · log ids).
[[nodiscard]] topo::result<allocation> allocate(const inventory& node, const settings& s,
                                                std::span<const std::string_view> ids);

// Name of a GPU in CDI: the characters that CDI allows of its id.
[[nodiscard]] std::string cdi_name(const gpu_parts& gpu);

}  // namespace kube

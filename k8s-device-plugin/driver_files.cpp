// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/driver_files.hpp"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "topo/file.hpp"

namespace kube {

std::optional<std::string> verbs_file(const std::string& sysfs_root, const std::string& nic) {
    if (nic.empty() || nic.size() > 64 || nic.find('/') != std::string::npos || nic.starts_with(".")) return {};
    std::error_code failed;
    const std::filesystem::path folder = sysfs_root + "/class/infiniband/" + nic + "/device/infiniband_verbs";
    std::optional<std::string> lowest;
    for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
        std::string name = at->path().filename().string();
        if (!name.starts_with("uverbs") || name.size() > 16) continue;
        if (!lowest || name < *lowest) lowest = std::move(name);
    }
    return lowest;
}

std::optional<unsigned> gpu_minor(const std::string& proc_root, const topo::pci_address& at) {
    const auto text = topo::read_file(proc_root + "/driver/nvidia/gpus/" + at.text() + "/information", 64u << 10);
    if (!text) return {};
    constexpr std::string_view key = "Device Minor:";
    const std::size_t found = text->find(key);
    if (found == std::string::npos) return {};
    std::size_t digit = text->find_first_not_of(" \t", found + key.size());
    std::optional<unsigned> value;
    for (; digit < text->size() && (*text)[digit] >= '0' && (*text)[digit] <= '9'; ++digit) {
        value = value.value_or(0) * 10 + static_cast<unsigned>((*text)[digit] - '0');
        if (*value > 4096) return {};
    }
    return value;
}

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/cdi.hpp"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "k8s-device-plugin/allocation.hpp"
#include "topo/file.hpp"

namespace kube {

std::string host_path(const settings& s, const std::string& container_path) {
    return s.dev_root == "/" || s.dev_root.empty() ? container_path : s.dev_root + container_path;
}

std::vector<std::string> gpu_files(const gpu_parts& gpu) { return {"/dev/nvidia" + std::to_string(gpu.number)}; }

std::vector<std::string> control_files(const settings& s) {
    std::vector<std::string> out;
    for (const char* file : {"/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset"}) {
        std::error_code failed;
        if (std::filesystem::exists(host_path(s, file), failed)) out.emplace_back(file);
    }
    return out;
}

std::string cdi_spec(const inventory& node, const settings& s) {
    using json = nlohmann::ordered_json;
    const auto file_node = [&](const std::string& path) {
        json one{{"path", path}};
        if (host_path(s, path) != path) one["hostPath"] = host_path(s, path);
        return one;
    };
    json devices = json::array();
    for (std::size_t g = 0; g < node.hardware().gpus.size(); ++g) {
        const gpu_parts& p = node.parts(g);
        if (!p.here) continue;
        json files = json::array();
        for (const std::string& file : gpu_files(p)) files.push_back(file_node(file));
        devices.push_back({{"name", cdi_name(p)}, {"containerEdits", {{"deviceNodes", files}}}});
    }
    json spec{{"cdiVersion", "0.5.0"}, {"kind", s.resource}, {"devices", devices}};
    json control = json::array();
    for (const std::string& file : control_files(s)) control.push_back(file_node(file));
    if (!control.empty()) spec["containerEdits"] = {{"deviceNodes", control}};
    return spec.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}

topo::result<topo::done> write_cdi(const inventory& node, const settings& s) {
    if (!s.list.cdi()) return topo::done{};
    std::string name = s.resource;
    for (char& c : name) c = c == '/' ? '-' : c;
    std::error_code failed;
    std::filesystem::create_directories(s.cdi_dir, failed);
    return topo::write_file(s.cdi_dir + "/" + name + ".json", cdi_spec(node, s));
}

}  // namespace kube

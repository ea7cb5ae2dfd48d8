// SPDX-License-Identifier: Apache-2.0
#include "tests/topo/fake_sysfs.hpp"

#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <stdexcept>

namespace fs = std::filesystem;

namespace topo::test {

fake_sysfs::fake_sysfs() : root_((fs::temp_directory_path() / "atoll-sysfs-XXXXXX").string()) {
    if (::mkdtemp(root_.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder("sys");
    folder("proc");
}

fake_sysfs::~fake_sysfs() {
    std::error_code ignored;
    fs::remove_all(root_, ignored);
}

void fake_sysfs::folder(const std::string& path) const { fs::create_directories(root_ + "/" + path); }

void fake_sysfs::file(const std::string& path, const std::string& text) const {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    std::ofstream(root_ + "/" + path, std::ios::binary) << text;
}

void fake_sysfs::link(const std::string& path, const std::string& target) const {
    fs::create_directories(fs::path(root_ + "/" + path).parent_path());
    fs::create_symlink(target, root_ + "/" + path);
}

void fake_sysfs::pci(const std::string& place, const std::string& device_class, const std::string& vendor,
                     int numa) const {
    const std::string folder = "sys/devices/" + place;
    file(folder + "/class", device_class + "\n");
    file(folder + "/vendor", vendor + "\n");
    file(folder + "/device", "0x2330\n");
    file(folder + "/numa_node", std::to_string(numa) + "\n");
    file(folder + "/current_link_width", "16\n");
    file(folder + "/max_link_width", "16\n");
    file(folder + "/max_link_speed", "32.0 GT/s PCIe\n");
    link("sys/bus/pci/devices/" + place.substr(place.rfind('/') + 1), "../../../devices/" + place);
}

void fake_sysfs::verbs(const std::string& name, const std::string& place, const std::string& rate) const {
    const std::string folder = "sys/devices/" + place + "/infiniband/" + name;
    file(folder + "/node_guid", "e09d:7300:0000:0001\n");
    file(folder + "/hca_type", "MT4129\n");
    file(folder + "/ports/1/state", "4: ACTIVE\n");
    if (!rate.empty()) file(folder + "/ports/1/rate", rate + "\n");
    link("sys/devices/" + place + "/infiniband/" + name + "/device", "../../../" + place.substr(place.rfind('/') + 1));
    link("sys/class/infiniband/" + name, "../../devices/" + place + "/infiniband/" + name);
}

void fake_sysfs::numa(int id, const std::string& cpus, const std::string& distance) const {
    const std::string folder = "sys/devices/system/node/node" + std::to_string(id);
    file(folder + "/cpulist", cpus + "\n");
    if (!distance.empty()) file(folder + "/distance", distance + "\n");
}

void fake_sysfs::cpus(int cores, int threads) const {
    for (int cpu = 0; cpu < cores * threads; ++cpu) {
        std::string list;
        for (int t = 0; t < threads; ++t) list += (t > 0 ? "," : "") + std::to_string(cpu % cores + t * cores);
        file("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list", list + "\n");
    }
}

discover_options fake_sysfs::options() const { return {root_ + "/sys", root_ + "/proc", false}; }

}  // namespace topo::test

// SPDX-License-Identifier: Apache-2.0
// A tree with the layout of /sys and /proc in a temporary folder, gone at the end of the test.
#pragma once

#include <string>

#include "topo/discover/discover.hpp"

namespace topo::test {

class fake_sysfs {
public:
    fake_sysfs();
    ~fake_sysfs();
    fake_sysfs(const fake_sysfs&) = delete;
    fake_sysfs& operator=(const fake_sysfs&) = delete;

    // `path` is below the folder, as "sys/class/…".
    void file(const std::string& path, const std::string& text) const;
    void link(const std::string& path, const std::string& target) const;  // target as written into the link
    void folder(const std::string& path) const;

    // A PCI device at "pci0000:16/0000:16:01.0/0000:17:00.0" below sys/devices, with its link in the bus folder.
    void pci(const std::string& place, const std::string& device_class, const std::string& vendor, int numa) const;
    // A verbs device of that PCI place; an empty rate leaves the attribute out.
    void verbs(const std::string& name, const std::string& place, const std::string& rate) const;
    void numa(int id, const std::string& cpus, const std::string& distance = "") const;
    // CPUs 0 … cores·threads-1 numbered as Linux on x86 does.
    void cpus(int cores, int threads) const;

    [[nodiscard]] discover_options options() const;

private:
    std::string root_;
};

}  // namespace topo::test

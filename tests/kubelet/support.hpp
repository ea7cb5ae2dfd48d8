// SPDX-License-Identifier: Apache-2.0
// Nodes made in code for the tests of the device plugin.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "k8s-device-plugin/inventory.hpp"

namespace kube_test {

// A board of tests/placement/boards.hpp as a node: uuids "GPU-00" …, PCI addresses, costs marked measured.
[[nodiscard]] topo::node_description node_of(topo::node_class board, const std::string& host = "n1");
[[nodiscard]] kube::inventory inventory_of(topo::node_class board, const kube::settings& s = {});

// Eight GPUs in pairs 0-1, 2-3, 4-5, 6-7.
[[nodiscard]] topo::node_class four_pairs();

[[nodiscard]] std::string id_of(unsigned gpu);  // "GPU-00"
[[nodiscard]] std::vector<std::string> ids_of(topo::gpu_mask gpus);
[[nodiscard]] topo::gpu_mask mask_of(const std::vector<std::string>& ids);

// The value of a sample of Prometheus text whose labels hold all of `labels` (name="value" parts); NaN: not there.
[[nodiscard]] double sample(const std::string& text, const std::string& name,
                            const std::vector<std::string>& labels = {});

// A folder that goes away with its owner.
class folder {
public:
    folder();
    ~folder();
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    [[nodiscard]] const std::string& path() const noexcept { return path_; }
    std::string write(const std::string& name, const std::string& text) const;  // its path

private:
    std::string path_;
};

}  // namespace kube_test

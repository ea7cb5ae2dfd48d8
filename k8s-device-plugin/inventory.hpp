// SPDX-License-Identifier: Apache-2.0
// What this node offers: its GPUs as the kubelet knows them, the tables that choose among them, and what belongs to
// each (NIC, NUMA node, files). Made when devices are loaded, then read-only: calls of the kubelet read no file and ask
// no driver.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "k8s-device-plugin/settings.hpp"
#include "placement/subset_table.hpp"
#include "topo/cluster.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace kube {

// Where the costs came from that sets of GPUs are compared by.
enum class cost_origin : std::uint8_t { cluster_file, node_file, estimated };
[[nodiscard]] std::string_view name_of(cost_origin o) noexcept;

struct device {
    std::string id;           // UUID, else name; "UUID::3" where GPUs are shared
    std::uint8_t gpu = 0;     // position in hardware().gpus
    std::uint16_t slice = 0;  // 0 … replicas - 1
};

// What a GPU brings with it.
struct gpu_parts {
    bool here = false;        // false: the class has it, this node does not show it (lost, or hidden from us)
    std::string id;           // UUID, else name
    unsigned number = 0;      // N of /dev/nvidiaN
    std::optional<int> numa;  // CPU-bearing node only
    std::string nic;          // name on this node; empty: none
    std::string verbs;        // "uverbs3"; empty: unknown
};

class inventory {
public:
    // `here`: the devices of this node; `measured`: the class of the cluster file, or nullptr. GPUs and NICs of the two
    // are matched by PCI address, else by position when their numbers agree. A simulated cost fails with `refused`
    // unless settings allow it; a class that does not fit the node with bad_input; no GPU with missing unless
    // fail_on_init_error is off. Takes as long as subset_table::build.
    [[nodiscard]] static topo::result<inventory> make(const topo::node_description& here,
                                                      const topo::node_class* measured, const settings& s);

    [[nodiscard]] const topo::node_class& hardware() const noexcept { return hardware_; }
    [[nodiscard]] const std::vector<device>& devices() const noexcept { return devices_; }  // by id
    [[nodiscard]] const device* find(std::string_view id) const;                            // O(1); nullptr: unknown
    [[nodiscard]] const gpu_parts& parts(std::size_t gpu) const noexcept { return parts_[gpu]; }
    [[nodiscard]] topo::gpu_mask present() const noexcept;  // the GPUs that are here
    [[nodiscard]] const placement::subset_table& table() const noexcept { return table_; }
    [[nodiscard]] cost_origin origin() const noexcept { return origin_; }
    [[nodiscard]] std::int64_t measured_at() const noexcept { return measured_at_; }  // seconds since 1970; 0 unknown
    [[nodiscard]] const topo::findings& notes() const noexcept { return notes_; }

private:
    topo::node_class hardware_;
    std::vector<gpu_parts> parts_;
    std::vector<device> devices_;
    std::unordered_map<std::string_view, std::size_t> by_id_;  // views into devices_, whose buffer moves along
    placement::subset_table table_;
    cost_origin origin_ = cost_origin::estimated;
    std::int64_t measured_at_ = 0;
    topo::findings notes_;
};

// Reads the files that the settings name, or looks at this host, and makes the inventory. Fails as read_file, the
// readers of topo and make() do; the error names the file.
[[nodiscard]] topo::result<inventory> load_inventory(const settings& s);

}  // namespace kube

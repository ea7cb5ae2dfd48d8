// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: which host an InfiniBand adapter belongs to, and what switches are called.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/finding.hpp"
#include "topo/import/ib_records.hpp"

namespace topo {

// Host name of an adapter's description ("node0001 mlx5_5", "node0001 HCA-1"); empty when it names none
// ("MT4129 ConnectX7   Mellanox Technologies", "localhost mlx5_0"). O(length).
[[nodiscard]] std::string ib_host_of(const std::string& description);

// A name of each switch (by node of the net): from its description ("MF0;leaf-01:MQM9701/U1" → leaf-01)
// where no other switch has it, else its id. Empty for nodes that are no switch. O(nodes).
[[nodiscard]] std::vector<std::string> ib_switch_names(const ib_net& net);

struct ib_hosts {
    static constexpr std::uint32_t none = ~std::uint32_t{0};
    std::vector<std::string> names;
    std::vector<bool> named;             // false: the name is only a GUID
    std::vector<std::uint32_t> of_node;  // by node of the net; none for switches and SHARP aggregation nodes
};

// Adapters with one host name are one host. Those without are hosts of their own, named by GUID, with a
// warning; an ibsim file tells no descriptions and its ids are the names. O(nodes).
[[nodiscard]] ib_hosts ib_hosts_of(const ib_net& net, const std::string& file, findings& notes);

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// Private to topo/export: where each node hangs, in names that Kubernetes takes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topo/cluster.hpp"
#include "topo/finding.hpp"
#include "topo/result.hpp"

namespace topo::k8s {

struct place {
    std::string node;
    std::vector<std::string> tiers;  // switches from the leaf (tier 0) upwards; empty: hangs nowhere
    std::string domain;              // NVLink domain; empty: none
    const node_class* hardware = nullptr;
};

struct tree {
    std::vector<place> nodes;  // in the order of the cluster
    std::size_t tiers = 0;     // the most that any node has
    bool domains = false;      // any node has one
    std::size_t uneven = 0;    // nodes with fewer tiers than that
    std::string uneven_example;
    findings notes;
};

// Switch and domain names become label values: characters that a label cannot hold become '-', the rest is cut at 63.
// Fails with bad_input when the fabric has no tiers of switches (unknown, torus, hypercube), when two switches of one
// tier become the same label, or a node's name is none that Kubernetes takes. O(nodes × depth).
[[nodiscard]] result<tree> read_tree(const cluster& c);

// As a label value, and as the name of an object (lower case); "" when nothing of it can stand there.
[[nodiscard]] std::string label_value(std::string_view text);
[[nodiscard]] std::string object_name(std::string_view text);

// A domain id of zeros alone stands for "none" in drivers.
[[nodiscard]] bool no_domain(std::string_view id) noexcept;

}  // namespace topo::k8s

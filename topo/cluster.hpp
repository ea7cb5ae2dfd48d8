// SPDX-License-Identifier: Apache-2.0
// The cluster model: node classes, nodes, and the fabric between them. Built once, then read-only.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "topo/fabric.hpp"
#include "topo/finding.hpp"
#include "topo/ids.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace topo {

// What a cluster file says, as plain data: this is what readers make and writers take.
struct cluster_description {
    std::string name;
    std::vector<node_class> classes;
    struct nodes_of_class {
        std::string class_name;
        std::vector<std::string> nodes;  // expanded, in file order
        friend bool operator==(const nodes_of_class&, const nodes_of_class&) = default;
    };
    std::vector<nodes_of_class> nodes;
    fabric_description fabric;
    friend bool operator==(const cluster_description&, const cluster_description&) = default;
};

struct node {
    std::string name;
    class_id hardware;
};

class cluster {
public:
    // Checks the description (check() of every class, every name unique and known) and indexes it.
    // node_id i is the i-th node of the description. O(size of the description).
    [[nodiscard]] static result<cluster> build(cluster_description description, bool lenient = false);

    [[nodiscard]] const std::string& name() const noexcept { return description_.name; }
    [[nodiscard]] std::span<const node_class> classes() const noexcept { return description_.classes; }
    [[nodiscard]] std::span<const node> nodes() const noexcept { return nodes_; }
    [[nodiscard]] const node_class& class_of(node_id n) const noexcept {
        return description_.classes[nodes_[n.value].hardware.value];
    }
    [[nodiscard]] const fabric& network() const noexcept { return *fabric_; }
    [[nodiscard]] const cluster_description& description() const noexcept { return description_; }
    [[nodiscard]] const findings& notes() const noexcept { return notes_; }
    [[nodiscard]] std::optional<node_id> find(std::string_view node_name) const;  // O(1)
    [[nodiscard]] bool simulated() const noexcept;                                // any class with a simulated cost

private:
    struct text_hash {
        using is_transparent = void;
        std::size_t operator()(std::string_view s) const noexcept { return std::hash<std::string_view>{}(s); }
    };
    cluster_description description_;
    std::vector<node> nodes_;
    std::unordered_map<std::string, node_id, text_hash, std::equal_to<>> by_name_;
    std::unique_ptr<const fabric> fabric_;
    findings notes_;
};

}  // namespace topo

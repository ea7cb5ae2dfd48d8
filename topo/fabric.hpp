// SPDX-License-Identifier: Apache-2.0
// The fabric between nodes, behind one interface: which level joins two nodes, what a level costs,
// and how much a group of a level can carry upwards.
//
// Level 0 is a leaf: nodes on one leaf switch (or in one NVLink domain) share it. Level i + 1 is the
// next switch tier. A path between two nodes whose lowest common level is i crosses 2·i + 1 switches
// in a tree. Nodes that share no level at all are unreachable from one another, and a job never spans them.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/cost.hpp"
#include "topo/finding.hpp"
#include "topo/ids.hpp"
#include "topo/result.hpp"

namespace topo {

inline constexpr int unreachable_level = 255;

enum class fabric_form : std::uint8_t {
    unknown,
    tree,
    block,
    nvlink_domain,
    rail_optimised,
    dragonfly,
    torus,
    hypercube
};
[[nodiscard]] std::string_view name_of(fabric_form f) noexcept;
[[nodiscard]] std::optional<fabric_form> fabric_form_named(std::string_view text) noexcept;

// One switch (tree) or block, as files describe it. Children and nodes are names.
struct switch_description {
    std::string name;
    std::vector<std::string> switches;      // child switches
    std::vector<std::string> nodes;         // attached nodes
    std::optional<double> uplink_gb_per_s;  // sum of its links upwards, one direction; empty: unknown
    std::string domain;                     // NVLink domain id of a block; empty or all zeros: none
    std::string where;                      // "file:line" it was read from, for messages
    friend bool operator==(const switch_description& a, const switch_description& b) {
        return a.name == b.name && a.switches == b.switches && a.nodes == b.nodes &&
               a.uplink_gb_per_s == b.uplink_gb_per_s && a.domain == b.domain;
    }
};

struct fabric_description {
    fabric_form form = fabric_form::unknown;
    std::vector<switch_description> switches;
    std::vector<std::uint32_t> block_sizes;  // Slurm BlockSizes; empty for trees
    std::vector<cost> level_costs;  // [i]: one node to another whose common level is i, per NIC; may be short or empty
    friend bool operator==(const fabric_description&, const fabric_description&) = default;
};

// Faults of a description: a child switch without a line, a switch or node under two parents, a
// cycle, duplicate names. Errors name switch, child and place. O(switches + nodes).
[[nodiscard]] findings check(const fabric_description& fabric);

// What placement asks. Implementations are immutable and all calls are noexcept and allocation-free.
class fabric {
public:
    virtual ~fabric() = default;
    [[nodiscard]] virtual fabric_form form() const noexcept = 0;
    [[nodiscard]] virtual int levels() const noexcept = 0;  // 0: nothing known, every node alone on its own
    // How many groups a level has; ids are 0 … groups(level)-1. level in [0, levels()).
    [[nodiscard]] virtual std::uint32_t groups(int level) const noexcept = 0;
    // The group of a node at a level; an invalid id when the node hangs under no switch of that level.
    [[nodiscard]] virtual group_id group_of(node_id node, int level) const noexcept = 0;
    // The group one level up that holds it; invalid at a root. O(1).
    [[nodiscard]] virtual group_id parent(int level, group_id group) const noexcept = 0;
    // Child groups one level down (empty at level 0) and all nodes below, both ascending. O(1).
    [[nodiscard]] virtual std::span<const group_id> children(int level, group_id group) const noexcept = 0;
    [[nodiscard]] virtual std::span<const node_id> nodes(int level, group_id group) const noexcept = 0;
    [[nodiscard]] virtual std::string_view name(int level, group_id group) const noexcept = 0;
    // Lowest level whose group holds both; unreachable_level if none. a == b gives 0 if attached. O(levels).
    [[nodiscard]] virtual int level_of(node_id a, node_id b) const noexcept = 0;
    // GB/s a group can carry upwards, one direction; +infinity when unknown (never a bottleneck). O(1).
    [[nodiscard]] virtual double capacity(int level, group_id group) const noexcept = 0;
    // One NIC of a node to one NIC of another whose common level is `level`. Always present. O(1).
    [[nodiscard]] virtual const cost& level_cost(int level) const noexcept = 0;
};

// Builds the form a description asks for. `node_names[i]` is the name of node_id i; names in the
// description that are not in it are left out with a finding of severity warning, nodes that hang
// nowhere are reachable from nothing (with an empty description: `unknown`, levels() == 1, all nodes in one group).
// A tree may have any depth and leaves of different height: every path is padded so that all roots
// are at one level. lenient: a child switch without a line is a warning and left out; otherwise an error.
// Missing level_costs are estimated (docs/cost-model.md) and marked so. O((switches + nodes) × depth).
struct fabric_build {
    std::unique_ptr<const fabric> built;
    findings notes;
};
[[nodiscard]] result<fabric_build> build_fabric(const fabric_description& description,
                                                std::span<const std::string> node_names, bool lenient);

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// The fabric between nodes, behind one interface: which level joins two nodes, what a level costs,
// and how much a group of a level can carry upwards.
//
// Level 0 is a leaf: nodes on one leaf switch (or in one NVLink domain) share it. Level i + 1 is the
// next switch tier. A path between two nodes whose lowest common level is i crosses 2·i + 1 switches
// in a tree. Nodes that share no level at all are unreachable from one another, and a job never spans them.
//
// A torus and a hypercube have no switch tiers. Their levels are nested boxes of positions (each box of a level is
// halved along its longest side for the level below, down to ≤ 8 positions), which serve for counting nodes; what two
// nodes cost one another goes by hops. separation() is the one word for both: in trees the common level, in grids the
// number of hops less one. It is the index into level_cost().
#pragma once

#include <cstddef>
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
inline constexpr std::size_t max_torus_dims = 6;
inline constexpr std::size_t max_hypercube_dims = 20;
inline constexpr std::uint32_t max_separation = 250;  // longer ways in a grid are refused

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
    // Whether it aggregates all-reduces (SHARP and the like); empty: as fabric_description::in_network_reduction.
    std::optional<bool> in_network_reduction = std::nullopt;
    friend bool operator==(const switch_description& a, const switch_description& b) {
        return a.name == b.name && a.switches == b.switches && a.nodes == b.nodes &&
               a.uplink_gb_per_s == b.uplink_gb_per_s && a.domain == b.domain &&
               a.in_network_reduction == b.in_network_reduction;
    }
};

// Nodes of a torus or hypercube from one position on, in row-major order (the last coordinate runs fastest).
struct grid_run {
    std::vector<std::uint32_t> at;   // one coordinate a dimension; empty: the origin
    std::vector<std::string> nodes;  // positions without a node are left out by starting another run
    std::string where;               // "file:line"
    friend bool operator==(const grid_run& a, const grid_run& b) { return a.at == b.at && a.nodes == b.nodes; }
};

struct fabric_description {
    fabric_form form = fabric_form::unknown;
    std::vector<switch_description> switches;
    std::vector<std::uint32_t> block_sizes;  // Slurm BlockSizes; empty for trees
    std::vector<cost> level_costs;           // [i]: one node to another of separation i, per NIC; may be short or empty
    std::vector<std::uint32_t> dims;         // torus and hypercube: positions along each dimension, all wrap around
    std::vector<grid_run> grid;              // torus and hypercube: which node stands where
    std::optional<double> link_gb_per_s;     // torus and hypercube: one link, one direction; empty: unknown
    std::uint32_t spare_nodes = 0;           // of each group of level 0, kept back while other nodes serve
    bool in_network_reduction = false;       // of all switches that do not say otherwise
    friend bool operator==(const fabric_description&, const fabric_description&) = default;
};

// Faults of a description: a child switch without a line, a switch or node under two parents, a
// cycle, duplicate names, a grid whose runs leave it or meet. Errors name switch, child and place. O(switches + nodes).
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
    // How far two nodes are from one another: an index into level_cost(), growing with the distance. Trees:
    // level_of(a, b). Torus and hypercube: the fewest hops less one (0 for a == b); so nodes of one group of level 0
    // may differ in it. unreachable_level where level_of() says so. O(levels) or O(dimensions).
    [[nodiscard]] virtual int separation(node_id a, node_id b) const noexcept = 0;
    // One more than the greatest separation that two positions can have, and no less than levels().
    [[nodiscard]] virtual int separations() const noexcept = 0;
    // One NIC of a node to one NIC of another at this separation, in [0, separations()). Always present. O(1).
    [[nodiscard]] virtual const cost& level_cost(int separation) const noexcept = 0;
    // The group's own switch aggregates all-reduces. A job can reduce in the network when the groups of all its nodes
    // do so at every level up to the one they have in common. O(1).
    [[nodiscard]] virtual bool in_network_reduction(int level, group_id group) const noexcept = 0;
    // Nodes of each group of level 0 that are kept back while other nodes serve (16 + 2 trays of an NVL72 rack: 2).
    [[nodiscard]] virtual std::uint32_t spare_nodes() const noexcept = 0;
    // Torus and hypercube: sizes of the dimensions (empty otherwise), and the row-major position of a node (an invalid
    // id when it stands nowhere). O(1).
    [[nodiscard]] virtual std::span<const std::uint32_t> dims() const noexcept = 0;
    [[nodiscard]] virtual position_id position(node_id node) const noexcept = 0;
};

// Builds the form a description asks for. `node_names[i]` is the name of node_id i; names in the
// description that are not in it are left out with a finding of severity warning, nodes that hang
// nowhere are reachable from nothing (with an empty description: `unknown`, levels() == 1, all nodes in one group).
// A tree may have any depth and leaves of different height: every path is padded so that all roots
// are at one level. The groups of a dragonfly are its top switches, or the children of its one top switch; a root that
// joins them is added where there is none. lenient: a child switch without a line is a warning and left out; otherwise
// an error. Missing level_costs are estimated (docs/cost-model.md) and marked so. O((switches + nodes) × depth).
struct fabric_build {
    std::unique_ptr<const fabric> built;
    findings notes;
};
[[nodiscard]] result<fabric_build> build_fabric(const fabric_description& description,
                                                std::span<const std::string> node_names, bool lenient);

}  // namespace topo

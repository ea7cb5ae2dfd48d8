// SPDX-License-Identifier: Apache-2.0
// Which nodes of the fabric a job of several nodes gets. Internal to placement/.
//
// Objective, in this order: lowest level whose group holds the job; fewest child groups of it; whole nodes broken (jobs
// that take a part of a node); untouched child broken (0 or 1); nodes left over in the children used; fewest
// candidates in the group; lowest id. One group of the lowest level is compared with all others of that level. For the
// least number of children, at most one of them is used in part (any fewer could not hold the job), and the best set of
// children is found by a DP over (child, how many taken, nodes below the largest such set), exact while the slack is
// below 64 nodes and the table fits; beyond that largest first and the tightest last. Inside the partly used child the
// same rules apply again.
//
// With segments every group of level 0 counts as so many candidates as it holds whole segments, and the job, the
// children and what is left over are counted in segments; inside one group of level 0 what is left over is counted in
// nodes.
#pragma once

#include <compare>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/node_index.hpp"

namespace placement {

struct node_plan {
    struct key_type {
        int level = topo::unreachable_level;
        std::uint32_t children = 0;
        std::uint32_t nodes_broken = 0;
        std::uint32_t untouched_broken = 0;
        std::uint32_t left_over = 0;
        std::uint32_t candidates = 0;
        std::uint32_t group = no_group;
        friend auto operator<=>(const key_type&, const key_type&) = default;
    };
    key_type key;
    std::uint32_t even_over = 0;  // 0: fewest children; else equal shares over so many
    [[nodiscard]] bool found() const noexcept { return key.group != no_group; }
};

class node_choice {
public:
    node_choice(const fabric_index& net, const node_index& nodes);

    // Nodes of a segment from now on; they must divide what is wanted. 1: none.
    void set_segment(std::uint32_t nodes) noexcept { segment_ = nodes; }

    // The best place for `wanted` of the eligible nodes, k GPUs on each. O(leaves + children log children + DP).
    [[nodiscard]] node_plan find(node_index::words eligible, unsigned k, std::uint32_t wanted) noexcept;

    // The same group's nodes in equal shares over `children` of its children, the tightest that hold theirs; not found
    // when it has not so many. The counts must be those of the plan. O(children log children).
    [[nodiscard]] node_plan spread(const node_plan& packed, std::uint32_t wanted, std::uint32_t children) noexcept;

    // Appends the nodes of a plan, leaf by leaf, by id inside a leaf. The counts must be those of the same eligible
    // nodes: from find(), or from count() up to the plan's level.
    void collect(const node_plan& plan, node_index::words eligible, unsigned k, std::uint32_t wanted,
                 std::vector<node_share>& out) noexcept;

    void count(node_index::words eligible, int up_to) noexcept;

    // The most eligible nodes, in whole segments, that one job can have. O(nodes / 64 + groups).
    [[nodiscard]] std::uint32_t most(node_index::words eligible) noexcept;

private:
    struct child {
        std::uint32_t count;
        std::uint32_t group;
        bool untouched;
    };
    void count_level(int level) noexcept;
    [[nodiscard]] std::uint32_t count_in_leaf(std::uint32_t leaf, node_index::words bits) const noexcept;
    [[nodiscard]] std::uint32_t nodes_broken(std::uint32_t leaf, node_index::words eligible, unsigned k,
                                             std::uint32_t wanted) const noexcept;
    std::uint32_t sort_children(int level, std::uint32_t group, std::uint32_t wanted) noexcept;
    void plan_children(std::uint32_t wanted, node_plan::key_type& key) noexcept;
    bool search_children(std::uint32_t m, std::uint32_t slack) noexcept;
    void take_greedily(std::uint32_t m, std::uint32_t wanted) noexcept;
    void split(int level, std::uint32_t wanted) noexcept;
    void choose_evenly(std::uint32_t m, std::uint32_t wanted) noexcept;
    void split_evenly(int level, std::uint32_t wanted) noexcept;
    void walk(int level, std::uint32_t group, std::uint32_t wanted, node_index::words eligible, unsigned k,
              std::vector<node_share>& out, std::uint32_t even_over = 0) noexcept;
    void take_leaf(std::uint32_t leaf, std::uint32_t wanted, node_index::words eligible, unsigned k,
                   std::vector<node_share>& out) const noexcept;

    const fabric_index* net_;
    const node_index* nodes_;
    std::vector<std::vector<std::uint32_t>> count_;  // [level][group] segments of eligible nodes
    std::vector<std::vector<std::uint32_t>> take_;   // [level][group] segments to take; zeros between calls
    std::uint32_t segment_ = 1;
    std::vector<child> children_;        // of one group, most nodes first
    std::vector<std::uint32_t> chosen_;  // indices into children_
    struct reach {
        std::uint64_t any = 0;      // bit r: reachable with r nodes below the largest set
        std::uint64_t touched = 0;  // the same, with a child that is touched already
    };
    std::vector<reach> reach_;  // [item][taken]
};

}  // namespace placement

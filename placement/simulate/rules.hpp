// SPDX-License-Identifier: Apache-2.0
// How schedulers people run choose nodes: own implementations of their published rules. Each says what it leaves out;
// docs/simulate.md says more. None of them sees costs.
//
// Every rule takes nodes with enough free GPUs under one root, one node for each part of the shape. It finds a place
// whenever pool::fits() says there is one. Ties go to the lowest index.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "placement/simulate/pool.hpp"

namespace placement::simulate {

enum class rule : std::uint8_t {
    linear,         // the first nodes by index
    slurm_tree,     // topology/tree: lowest switch that holds the job, then leaves by distance and best fit
    slurm_block,    // topology/block: smallest aggregate of blocks that holds the job, then best fit over base blocks
    kueue_bestfit,  // Kueue topology-aware scheduling, preferred at leaf level: the tightest domain that holds the job
};
[[nodiscard]] std::string_view name_of(rule r) noexcept;  // "slurm-tree"
[[nodiscard]] std::optional<rule> rule_named(std::string_view text) noexcept;

class node_rules {
public:
    // The fabric must outlive it. block_sizes as topo::fabric_description has them (nodes); empty: a leaf is the base
    // block, with all powers of two of it.
    node_rules(const fabric_index& net, std::vector<std::uint32_t> block_sizes);

    // Nodes for the shape: the nodes with per_node GPUs by index, then the one with `last`. False: none.
    // O(nodes × levels + leaves²).
    [[nodiscard]] bool choose(rule by, const shape& s, const pool& free, std::vector<std::uint32_t>& out);

private:
    using group_list = std::vector<std::uint32_t>;
    void count(const shape& s, const pool& free, std::uint32_t root, bool in_pods);
    void linear(const shape& s, std::vector<std::uint32_t>& out) const;
    void tree(const shape& s, std::vector<std::uint32_t>& out);
    void block(const shape& s, std::vector<std::uint32_t>& out);
    void kueue(const shape& s, const pool& free, std::vector<std::uint32_t>& out);
    void kueue_descend(int level, std::uint32_t group, std::uint32_t wanted, const shape& s, const pool& free,
                       std::vector<std::uint32_t>& out);
    void kueue_split(std::vector<std::pair<std::uint32_t, std::uint32_t>>& domains, std::uint32_t wanted) const;
    void take_from_leaf(std::uint32_t leaf, std::uint32_t most, std::vector<std::uint32_t>& out) const;
    [[nodiscard]] bool add_last(const shape& s, const pool& free, std::uint32_t root,
                                std::vector<std::uint32_t>& out) const;
    [[nodiscard]] int distance(std::uint32_t leaf_a, std::uint32_t leaf_b) const noexcept;

    const fabric_index* net_;
    std::vector<std::uint32_t> blocks_in_;             // base blocks of each aggregate size, ascending
    std::vector<std::vector<std::uint32_t>> in_leaf_;  // [leaf] its nodes by index
    std::vector<std::vector<std::uint32_t>> count_;    // [level][group] eligible nodes (or pods)
    std::vector<std::uint8_t> eligible_;               // [node]
};

}  // namespace placement::simulate

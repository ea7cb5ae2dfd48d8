// SPDX-License-Identifier: Apache-2.0
// Free GPUs of every node during a replay, with the counts that answer "does it fit" and "how much of it is usable" in
// constant time.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/request.hpp"
#include "placement/simulate/trace.hpp"
#include "topo/cluster.hpp"

namespace placement::simulate {

// A job in nodes: `nodes` nodes with per_node GPUs each, and when `last` > 0 one more node with that many.
struct shape {
    std::uint32_t nodes = 1;
    std::uint32_t per_node = 1;
    std::uint32_t last = 0;
    [[nodiscard]] std::uint32_t all_nodes() const noexcept { return nodes + (last > 0 ? 1 : 0); }
    [[nodiscard]] std::uint32_t gpus() const noexcept { return nodes * per_node + last; }
};

// node_gpus is the size of the usual node. The trace's own node count holds where its GPUs divide evenly and fit; else
// as few nodes as possible, all full but the last.
[[nodiscard]] shape shape_of(const job& j, std::uint32_t node_gpus) noexcept;

// The job sizes for which unusable free GPUs are counted.
inline constexpr std::array<std::uint32_t, 4> fragment_sizes = {8, 16, 64, 256};

class pool {
public:
    // Everything free. Both must outlive it. O(nodes × levels).
    pool(const topo::cluster& c, const fabric_index& net);

    void set_free(std::uint32_t node, gpu_mask free) noexcept;  // O(GPUs changed + levels)
    [[nodiscard]] gpu_mask free(std::uint32_t node) const noexcept { return free_[node]; }
    [[nodiscard]] unsigned free_count(std::uint32_t node) const noexcept { return topo::count(free_[node]); }

    [[nodiscard]] std::uint32_t node_count() const noexcept { return static_cast<std::uint32_t>(free_.size()); }
    [[nodiscard]] std::uint32_t node_gpus() const noexcept { return node_gpus_; }  // of the class with most GPUs in all
    [[nodiscard]] std::uint64_t gpus() const noexcept { return gpus_; }
    [[nodiscard]] std::uint64_t free_gpus() const noexcept { return free_gpus_; }

    // Nodes of different roots cannot reach one another, so a job stays in one.
    [[nodiscard]] std::uint32_t roots() const noexcept { return roots_; }
    [[nodiscard]] std::uint32_t root_of(std::uint32_t node) const noexcept { return root_[node]; }
    [[nodiscard]] bool fits_in(std::uint32_t root, const shape& s) const noexcept;
    [[nodiscard]] bool fits(const shape& s) const noexcept;  // O(roots)

    // Free GPUs that jobs of fragment_sizes[i] can have: k ≤ node_gpus: whole sets of k in a node; more: sets of whole
    // nodes inside one group of the lowest level whose largest group can hold such a job.
    [[nodiscard]] std::uint64_t usable(std::size_t i) const noexcept { return sizes_[i].usable; }

    [[nodiscard]] const fabric_index& net() const noexcept { return *net_; }

private:
    struct size_state {
        std::uint32_t gpus = 0;   // k
        std::uint32_t nodes = 0;  // whole nodes for k; 0: a part of one
        int level = 0;
        std::vector<std::uint32_t> whole;  // [group] whole free nodes, of the usual size
        std::uint64_t usable = 0;
    };
    [[nodiscard]] bool is_whole(std::uint32_t node) const noexcept {
        return free_count(node) == node_gpus_ && free_[node] == all_[node];
    }
    void change_whole(std::uint32_t node, int by) noexcept;

    const fabric_index* net_;
    std::vector<gpu_mask> free_, all_;
    std::vector<std::uint32_t> root_;
    std::uint32_t roots_ = 0;
    std::uint32_t node_gpus_ = 1;
    std::uint32_t stride_ = 0;
    std::uint64_t gpus_ = 0;
    std::uint64_t free_gpus_ = 0;
    std::vector<std::uint32_t> at_least_;  // [root × stride + k] nodes with ≥ k free
    std::array<size_state, fragment_sizes.size()> sizes_;
};

}  // namespace placement::simulate

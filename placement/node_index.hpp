// SPDX-License-Identifier: Apache-2.0
// Which nodes have how many free GPUs, and how good those are, as bitmaps of nodes. Internal to placement/.
//
// 10,240 nodes are 160 words, so that a question over all nodes costs a few hundred word operations and the caller's
// filter is one more AND.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/request.hpp"
#include "topo/cluster.hpp"

namespace placement {

// Quality tier of a node for k GPUs: how much slower its best free subset is than the best of any class.
inline constexpr std::array<double, 7> tier_limits = {1.05, 1.15, 1.3, 1.6, 2, 3, 5};
inline constexpr unsigned tier_count = 8;  // the last holds the rest

enum class job_kind : std::uint8_t { one_node, several_nodes };  // judged by the ring inside, or by that and the NICs

class node_index {
public:
    using words = std::span<const std::uint64_t>;
    // Time of k GPUs out of `free` of a class, in any unit, lower is better; asked at construction and by set_free.
    using judge = std::function<double(topo::class_id, gpu_mask free, unsigned k, job_kind)>;

    node_index(const topo::cluster& c, const fabric_index& net, judge how_slow);

    void set_free(std::uint32_t node, gpu_mask free);
    [[nodiscard]] gpu_mask free(std::uint32_t node) const noexcept { return free_[node]; }
    [[nodiscard]] gpu_mask all(std::uint32_t node) const noexcept { return all_[node]; }
    [[nodiscard]] topo::class_id hardware(std::uint32_t node) const noexcept { return hardware_[node]; }
    [[nodiscard]] std::size_t word_count() const noexcept { return words_; }
    [[nodiscard]] std::size_t node_count() const noexcept { return free_.size(); }
    [[nodiscard]] unsigned max_gpus() const noexcept { return max_gpus_; }

    // Nodes with ≥ k GPUs free; k in 0 … max_gpus() + 1.
    [[nodiscard]] words at_least(unsigned k) const noexcept { return row(at_least_, k); }
    [[nodiscard]] words whole() const noexcept { return whole_; }                        // everything free, ≥ 1 GPU
    [[nodiscard]] words of_size(unsigned k) const noexcept { return row(of_size_, k); }  // the class has k GPUs
    [[nodiscard]] words of_class(topo::class_id c) const noexcept { return row(of_class_, c.value); }
    // Nodes whose k best free GPUs are of that tier or better; tier < tier_count − 1.
    [[nodiscard]] words tier(job_kind kind, unsigned k, unsigned tier) const noexcept {
        return row(tiers_, tier_row(kind, k, tier));
    }
    [[nodiscard]] std::uint32_t whole_in(std::uint32_t leaf) const noexcept { return whole_in_.front()[leaf]; }
    // Every node of the group is wholly free.
    [[nodiscard]] bool untouched(int level, std::uint32_t group) const noexcept {
        const auto& whole_here = whole_in_[static_cast<std::size_t>(level)];
        return whole_here[group] == net_->nodes_in(level, group);
    }

private:
    [[nodiscard]] words row(const std::vector<std::uint64_t>& rows, std::size_t i) const noexcept {
        return {rows.data() + i * words_, words_};
    }
    [[nodiscard]] std::size_t tier_row(job_kind kind, unsigned k, unsigned tier) const noexcept {
        return (static_cast<std::size_t>(kind) * (max_gpus_ + 1) + k) * (tier_count - 1) + tier;
    }
    void put(std::vector<std::uint64_t>& rows, std::size_t i, std::uint32_t node, bool on) noexcept {
        std::uint64_t& word = rows[i * words_ + node / 64];
        const std::uint64_t bit = std::uint64_t{1} << (node % 64);
        word = on ? word | bit : word & ~bit;
    }
    void find_best_times();
    void change_whole(std::uint32_t node, bool on);
    [[nodiscard]] unsigned tier_of(double time, job_kind kind, unsigned k) const noexcept;

    const fabric_index* net_;
    judge how_slow_;
    std::size_t words_;
    unsigned max_gpus_ = 0;
    std::vector<gpu_mask> free_, all_;
    std::vector<topo::class_id> hardware_;
    std::vector<std::uint64_t> at_least_, whole_, of_size_, of_class_, tiers_;
    std::array<std::vector<double>, 2> best_time_;      // [kind][k] over all classes
    std::vector<std::vector<std::uint32_t>> whole_in_;  // [level][group]
};

}  // namespace placement

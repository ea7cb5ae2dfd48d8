// SPDX-License-Identifier: GPL-2.0-or-later
// What the glue holds between two loads: the arranged cluster, what is known of each node, and scratch
// memory made once so that choosing allocates nothing.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "placement/placer.hpp"
#include "plugin/slurm/arranged.hpp"
#include "plugin/slurm/config.hpp"
#include "plugin/slurm/glue.h"
#include "plugin/slurm/job_hint.hpp"

namespace slurm_plugin {

// A set of nodes that can be emptied one by one. Every call O(1) amortised, bits beyond the end are ignored.
class node_set {
public:
    void resize(std::uint32_t nodes);
    void add(std::uint32_t node) noexcept;
    void add_words(const std::uint64_t* words, std::uint32_t bits) noexcept;
    void add_all() noexcept;
    [[nodiscard]] bool take(std::uint32_t& node) noexcept;

private:
    std::vector<std::uint64_t> words_;
    std::uint32_t nodes_ = 0;
    std::size_t first_ = 0;  // no bit below this word
};

class session {
public:
    session(arranged a, const config& c, topo::cluster_description file);

    [[nodiscard]] const arranged& cluster() const noexcept { return arranged_; }
    [[nodiscard]] const config& settings() const noexcept { return config_; }
    // The file it was made from, to arrange it again when Slurm's node table changes.
    [[nodiscard]] const topo::cluster_description& file() const noexcept { return file_; }
    [[nodiscard]] std::uint32_t nodes() const noexcept { return static_cast<std::uint32_t>(weight_.size()); }
    [[nodiscard]] std::uint64_t differing() const noexcept { return differing_; }
    [[nodiscard]] node_set& dirty() noexcept { return dirty_; }
    [[nodiscard]] bool next_audit(std::uint32_t& node) noexcept;

    // True when anything changed. O(levels).
    bool set_node(std::uint32_t node, const atoll_node_state& s) noexcept;
    [[nodiscard]] atoll_verdict choose(const atoll_wish& wish, atoll_choice& out) noexcept;

private:
    struct needs {
        std::uint64_t cpus, memory;
        std::uint32_t type, flags;
    };
    // What 64 neighbours have in common, so that most words of a bitmap are decided at once. Only nodes with
    // a free GPU count.
    struct block {
        std::uint64_t with_gpus = 0;
        std::uint64_t least_memory = 0;
        std::uint32_t least_cpus = 0;
        std::uint32_t common_flags = 0;
        std::uint32_t type = 0, weight = 0;
        bool same_type = true, same_weight = true, stale = true;
    };
    void sum_up(std::uint32_t word) noexcept;
    [[nodiscard]] static bool all_fit(const block& b, const needs& n) noexcept;
    void keep_node(std::uint32_t node, bool only_lightest, std::uint32_t& limit, std::uint32_t& kept,
                   std::uint32_t& heavier) noexcept;
    [[nodiscard]] bool fits(std::uint32_t node, const needs& n) const noexcept;
    // Fills filter_ with the allowed nodes that fit and are no heavier than `most_weight` (`lightest`: only
    // those of the lowest weight); returns how many, and in `heavier` the lowest weight left out (0: none).
    static constexpr std::uint32_t lightest = 0;
    std::uint32_t filter(const atoll_wish& wish, const needs& n, std::uint32_t most_weight,
                         std::uint32_t& heavier) noexcept;
    [[nodiscard]] bool choose_spread(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept;
    [[nodiscard]] bool choose_shape(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept;
    // One choice among filter_, away from sockets without CPUs where that is possible.
    [[nodiscard]] bool ask_placer(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept;
    // GPUs of the node whose sockets have CPUs enough for a job of `cpus` beside them; all when unknown.
    [[nodiscard]] std::uint64_t near_gpus(std::uint32_t node, std::uint64_t cpus) const noexcept;
    [[nodiscard]] bool starved(const atoll_share& share, std::uint64_t cpus) const noexcept;
    [[nodiscard]] bool any_nodes(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept;
    void take_answer(atoll_choice& out) noexcept;

    arranged arranged_;
    config config_;
    topo::cluster_description file_;
    std::vector<std::uint64_t> free_gpus_, free_memory_;
    std::vector<std::uint32_t> weight_, type_, free_cpus_, flags_;
    std::vector<std::array<std::uint16_t, ATOLL_MOST_SOCKETS>> socket_cpus_;
    std::vector<std::uint8_t> differs_;
    std::uint64_t differing_ = 0;
    std::vector<block> blocks_;
    std::vector<std::uint64_t> filter_;
    std::vector<atoll_share> shares_, first_shares_;
    placement::answer answer_;
    node_set dirty_;
    job_hint hint_;  // of the job that is being placed
    std::uint32_t audit_ = 0;
};

}  // namespace slurm_plugin

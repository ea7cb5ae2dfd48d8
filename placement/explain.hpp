// SPDX-License-Identifier: Apache-2.0
// Why a job goes where it goes: what was taken, what else there was, what each would have cost, and what kept a better
// one away.
//
// Example:
//   auto why = placement::explain(chooser, cluster, wanted, {});
//   if (why.how == outcome::placed) … why.options[0] is what was taken
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "placement/placer.hpp"

namespace placement {

enum class option_kind : std::uint8_t {
    taken,
    runner_up,
    in_order,  // the nodes taken, ranks node by node; only where ranks were mapped
    by_index,  // the first nodes and GPUs in order of index that are free: what counting alone gives
    all_free,  // what would be taken if every GPU of the cluster were free
};
[[nodiscard]] std::string_view name_of(option_kind k) noexcept;  // "runner_up"

// What stands between the job and a faster step.
enum class bound : std::uint8_t {
    nothing,        // it could not be faster even with every GPU free
    busy_groups,    // no leaf (or higher group) has enough free nodes: the job spans more of the fabric
    busy_gpus,      // nodes enough, but the GPUs that would be best together are taken
    slow_nodes,     // the free nodes are of a slower class, or in a slower part of the fabric
    no_room,        // not placed: too few free GPUs
    no_connection,  // not placed: enough, but not on nodes that reach one another
    no_segments,    // not placed: enough, but not in whole segments
    request_fault,  // not placed: the request contradicts itself
};
[[nodiscard]] std::string_view name_of(bound b) noexcept;

struct explained_option {
    option_kind kind = option_kind::taken;
    std::vector<node_share> nodes;
    prediction predicted;
    double damage = 0;
    int level = -1;            // lowest fabric level that holds all its nodes; −1: one node
    std::uint32_t groups = 1;  // groups of level 0 that it touches
};

// One level of the fabric, and whether the job could have stayed inside one group of it.
struct level_supply {
    int level = 0;
    std::uint32_t most_nodes = 0;  // nodes of one group with enough free GPUs for a node's share of the job
    std::uint32_t group = 0;       // that group
    std::uint32_t taken = 0;       // groups of the level that the job touches
};

// One node of the job: what it had free and what was taken.
struct node_account {
    node_share taken;
    gpu_mask free = 0;
    ring_cost ring;        // of the GPUs taken
    gpu_mask instead = 0;  // the next best GPUs of this node; 0: none
    ring_cost instead_ring;
    gpu_mask best_if_free = 0;  // what would be best were all its GPUs free
    ring_cost best_ring;
};

struct explanation {
    outcome how = outcome::bad_request;
    bound held_back_by = bound::nothing;
    answer got;                             // as choose() gives it; empty when not placed
    std::vector<explained_option> options;  // the taken one first; empty when not placed
    std::vector<level_supply> levels;       // of more than one node
    std::vector<node_account> accounts;     // of the first nodes taken, at most max_accounts
    std::uint64_t gpus = 0, gpus_free = 0;  // of the allowed nodes
    std::uint32_t nodes_allowed = 0;
    std::uint32_t nodes_enough = 0;  // with as many free GPUs as the job's largest share of a node
    std::uint32_t share = 0;         // that share
    std::uint32_t most_free = 0;     // greatest number of free GPUs of one node

    static constexpr std::size_t max_accounts = 16;
};

// Asks the placer several times, among them with every GPU set free for a moment; its free state is as before
// afterwards. Allocates; not for the choose path. A few choices and O(nodes × levels).
[[nodiscard]] explanation explain(placer& chooser, const topo::cluster& c, const request& wanted, node_filter allowed);

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// Who decides what in a replay: nodes, GPUs inside them and the order of ranks, each by Atoll or as stock does.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "placement/placer.hpp"
#include "placement/simulate/pool.hpp"
#include "placement/simulate/rules.hpp"

namespace placement::simulate {

struct policy {
    std::string name;           // "atoll", "slurm-tree", "slurm-tree+subset"
    std::optional<rule> nodes;  // empty: by Atoll
    bool gpus_by_cost = true;   // false: the lowest free indices
    bool ranks_by_cost = true;  // false: nodes and GPUs in order of their index
    bool blind = false;         // decides on the cluster without its degraded links
};

enum class part : std::uint8_t { subset, nodes, ranks };
[[nodiscard]] std::optional<part> part_named(std::string_view text) noexcept;  // "subset", "nodes", "ranks"

// "atoll", "atoll-blind", or a rule of rules.hpp; empty for other text.
[[nodiscard]] std::optional<policy> policy_named(std::string_view text);
// Only that part by Atoll, the rest as `base` does it.
[[nodiscard]] policy only(part p, rule base);

// The one place where a job of a trace becomes a request to the placer.
[[nodiscard]] request request_of(const shape& s, double message_bytes) noexcept;

// A policy at work on one cluster. One thread at a time.
class decider {
public:
    // `truth` is what decisions are scored on; `believed` is what a blind policy decides on: the same nodes with the
    // same ids. Both must outlive it. Fails as placer::make.
    [[nodiscard]] static topo::result<decider> make(const topo::cluster& truth, const topo::cluster& believed,
                                                    const policy& by, double message_bytes);
    decider(decider&&) noexcept;
    decider& operator=(decider&&) noexcept;
    ~decider();

    // Fills out.nodes in rank order; false when the job does not fit now. Changes no state.
    [[nodiscard]] bool place(const shape& s, const pool& free, answer& out);
    // The free GPUs of a node from now on.
    void set_free(std::uint32_t node, gpu_mask free) noexcept;
    // The predicted time of placed nodes on the true cluster, by the one predictor that all policies are scored with.
    void score(const shape& s, answer& io) const noexcept;

    [[nodiscard]] const policy& by() const noexcept;
    [[nodiscard]] const fabric_index& net() const noexcept;
    [[nodiscard]] double message_bytes() const noexcept;

private:
    struct state;
    explicit decider(std::unique_ptr<state> s) noexcept;
    std::unique_ptr<state> state_;
};

}  // namespace placement::simulate

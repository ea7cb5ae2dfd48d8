// SPDX-License-Identifier: Apache-2.0
// A placement as the object of --json and as text.
#pragma once

#include <string>

#include "cli/console.hpp"
#include "cli/render/style.hpp"
#include "placement/request.hpp"
#include "topo/cluster.hpp"

namespace cli {

struct placed_job {
    const topo::cluster& on;
    const placement::request& wanted;
    const placement::answer& got;
};

// The NICs that a node's ranks use, in rank order without repeats: indices into its class.
[[nodiscard]] std::vector<int> nics_of(const placed_job& job, topo::node_id node);

// {outcome, request, nodes[], ranks[], predicted{}, damage, runner_up, notes[]} as docs/cli.md says.
[[nodiscard]] json placement_json(const placed_job& job, const topo::findings& notes);

// The answer when nothing fits: {outcome, message, request, nodes: [], ranks: [], predicted: null, runner_up: null}.
[[nodiscard]] json no_placement_json(const placement::request& wanted, std::string_view outcome,
                                     std::string_view message, const topo::findings& notes);

// Ranks and predicted time only, for nodes that were given.
[[nodiscard]] std::string ranks_text(const placed_job& job, const render::style& s);
[[nodiscard]] std::string placement_text(const placed_job& job, const render::style& s);

// What the reader must know: remarks on the classes of the job's nodes, as findings. No class twice.
[[nodiscard]] topo::findings placement_notes(const placed_job& job);

// "inside the node", "leaf", "spine": where the slowest hop of a prediction or of one term runs.
[[nodiscard]] std::string hop_name(unsigned slowest_level, const topo::fabric& f);
[[nodiscard]] std::string hop_name(const placement::prediction& p, const topo::fabric& f);

// Pieces of them that other views share.
[[nodiscard]] json prediction_json(const placement::prediction& p, const topo::fabric& f);
[[nodiscard]] json request_json(const placement::request& r);
[[nodiscard]] json share_json(const topo::cluster& c, const placement::node_share& share);  // {name, gpus}
// "g[1-4] GPUs 0-7; g9 GPU 3": neighbours with equal GPUs together.
[[nodiscard]] std::string shares_text(const topo::cluster& c, const std::vector<placement::node_share>& shares);
// "ring_allreduce of 64 MB", "composite tp 8 pp 2 dp 4".
[[nodiscard]] std::string what_is_predicted(const placement::request& r, std::size_t ranks);
// A row a term: how often, what it takes, where it is limited.
[[nodiscard]] std::string parts_table(const placement::prediction& p, const topo::fabric& f, const render::style& s);

}  // namespace cli

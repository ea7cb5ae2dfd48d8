// SPDX-License-Identifier: Apache-2.0
// An explanation as the object of --json and as text.
#pragma once

#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/render/style.hpp"
#include "placement/explain.hpp"
#include "topo/cluster.hpp"

namespace cli {

struct explained_job {
    const topo::cluster& on;
    const placement::request& wanted;
    const placement::explanation& why;
};

// The explanation in sentences: what held the job back, what the other choices would have cost, what limits the one
// that was taken. At least one.
[[nodiscard]] std::vector<std::string> reasons(const explained_job& job);

// "taken", "runner-up", "ranks in order", "first free by index", "if all GPUs were free".
[[nodiscard]] std::string label_of(placement::option_kind k);
// "one node", "one leaf", "3 leaves", "3 leaves of one spine".
[[nodiscard]] std::string reach_of(const placement::explained_option& o, const topo::fabric& f);

// {outcome, held_back_by, reasons[], request, supply{}, options[], levels[], nodes[], notes[]} as docs/cli.md says.
[[nodiscard]] json explanation_json(const explained_job& job, const topo::findings& notes);

[[nodiscard]] std::string explanation_text(const explained_job& job, const render::style& s);

}  // namespace cli

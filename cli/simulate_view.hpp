// SPDX-License-Identifier: Apache-2.0
// A simulation as the object of --json and as text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/console.hpp"
#include "cli/render/style.hpp"
#include "placement/simulate/degrade.hpp"
#include "placement/simulate/report.hpp"
#include "placement/simulate/series.hpp"
#include "placement/simulate/trace.hpp"

namespace cli {

struct simulated_policy {
    placement::simulate::summary figures;
    placement::simulate::series over_time;
    double seconds = 0;  // that the replay took here
};

struct simulation {
    std::string cluster;  // name
    std::size_t nodes = 0;
    std::uint64_t gpus = 0;
    std::vector<std::string> levels;  // "leaf", "spine", …
    bool cluster_simulated = false;
    placement::simulate::trace jobs;
    double load = 0;  // offered
    std::string queue;
    double message_bytes = 0;
    std::optional<placement::simulate::degraded> slow;  // its cluster is left empty
    placement::simulate::degrade_options slow_how;
    bool complete = true;
    std::vector<simulated_policy> policies;  // in the order asked for
};

// As docs/simulate.md says.
[[nodiscard]] json simulation_json(const simulation& s);
[[nodiscard]] std::string simulation_text(const simulation& s, const render::style& how);

// "SIMULATED: …" and what else a reader must know before using the figures, one sentence each.
[[nodiscard]] std::vector<std::string> simulation_caveats(const simulation& s);

// The lines above all figures: cluster, jobs, load, slow links.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> simulation_facts(const simulation& s);

// One figure of all policies: name, then a text for each.
struct figure_row {
    std::string name;
    std::vector<std::string> values;
};
[[nodiscard]] std::vector<figure_row> simulation_figures(const simulation& s);
// Mean (p99) step time by size of job, "" where a policy started none.
[[nodiscard]] std::vector<figure_row> simulation_steps(const simulation& s);

// "12 s", "3.4 h"; "0" for 0.
[[nodiscard]] std::string seconds_text(double seconds);
// "node to leaf", "leaf to spine".
[[nodiscard]] std::string link_level_name(const simulation& s, std::size_t level);

}  // namespace cli

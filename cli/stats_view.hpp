// SPDX-License-Identifier: Apache-2.0
// The plugin's counters as text, as the object of --json, and for Prometheus.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/console.hpp"
#include "topo/plugin_stats.hpp"

namespace cli {

[[nodiscard]] std::string stats_text(const topo::stats::counters& c, const render::style& s);

// {state, pid, started, loaded, last_decision, nodes: {known, unknown, differing}, decisions: {all, placed, …},
//  left_to_slurm: [{reason, count}], times_us: {decision: {count, mean, p50, p90, p99, p999}, own, bookkeeping}}.
// Times are seconds since 1970, null where never.
[[nodiscard]] json stats_json(const topo::stats::counters& c);

// Text format 0.0.4; label values are escaped. Seconds, as Prometheus wants them.
[[nodiscard]] std::string stats_prometheus(const topo::stats::counters& c);

}  // namespace cli

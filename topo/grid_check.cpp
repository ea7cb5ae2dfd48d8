// SPDX-License-Identifier: Apache-2.0
// Faults of a torus or hypercube description.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "topo/fabric_check.hpp"
#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

std::string joined(const std::vector<std::uint32_t>& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

// How many positions; 0 when dims are no dims of the form (said in `out`).
std::uint64_t check_dims(const fabric_description& f, findings& out) {
    const bool cube = f.form == fabric_form::hypercube;
    const std::size_t most = cube ? max_hypercube_dims : max_torus_dims;
    const auto fault = [&](std::string what, std::string remedy) {
        out.push_back({severity::error, "", std::move(what), std::move(remedy)});
        return std::uint64_t{0};
    };
    if (f.dims.empty() || f.dims.size() > most)
        return fault(fmt::format("a {} has 1 to {} dimensions, not {}", name_of(f.form), most, f.dims.size()),
                     cube ? "write dims with a 2 for each dimension, such as [2, 2, 2]"
                          : "write dims with the size of each dimension, such as [4, 4, 4]");
    std::uint64_t positions = 1, diameter = 0;
    for (const std::uint32_t d : f.dims) {
        if (cube ? d != 2 : d == 0)
            return fault(fmt::format("a dimension of the {} has {} positions", name_of(f.form), d),
                         cube ? "every dimension of a hypercube is 2" : "leave it out, or give it 1 or more");
        positions *= d;
        diameter += d / 2;
        if (positions > max_hosts)
            return fault(fmt::format("dims {} are more than {} positions", joined(f.dims), max_hosts),
                         "correct the sizes");
    }
    if (diameter > max_separation)
        return fault(
            fmt::format("dims {} put nodes {} hops apart; {} at most", joined(f.dims), diameter, max_separation),
            "correct the sizes");
    return positions;
}

void check_run(const fabric_description& f, const grid_run& run, std::uint64_t positions, findings& out) {
    const auto fault = [&](std::string what, std::string remedy) {
        out.push_back({severity::error, run.where, std::move(what), std::move(remedy)});
    };
    if (!run.at.empty() && run.at.size() != f.dims.size())
        return fault(fmt::format("the run at {} has {} coordinates, the grid has {} dimensions", joined(run.at),
                                 run.at.size(), f.dims.size()),
                     "give one coordinate a dimension");
    for (std::size_t d = 0; d < run.at.size(); ++d)
        if (run.at[d] >= f.dims[d])
            return fault(fmt::format("position {} lies outside dims {}", joined(run.at), joined(f.dims)),
                         "coordinates go from 0 to size - 1");
    if (run.nodes.empty()) return fault("a run of the grid has no nodes", "name its nodes, or take it out");
    const std::uint64_t first = first_position(f.dims, run.at);
    if (first + run.nodes.size() > positions)
        fault(fmt::format("{} nodes from position {} on leave dims {}", run.nodes.size(),
                          run.at.empty() ? "0" : joined(run.at), joined(f.dims)),
              "shorten the run or correct dims");
}

void check_overlaps(const fabric_description& f, findings& out) {
    std::unordered_set<std::string_view> seen;
    std::unordered_map<std::uint64_t, std::string_view> taken;
    for (const grid_run& run : f.grid) {
        std::uint64_t at = first_position(f.dims, run.at);
        for (const auto& name : run.nodes) {
            if (!seen.insert(name).second)
                out.push_back({severity::error, run.where, fmt::format("node {} stands in the grid twice", shown(name)),
                               "keep one of the two"});
            else if (const auto [known, added] = taken.emplace(at, name); !added)
                out.push_back({severity::error, run.where,
                               fmt::format("nodes {} and {} stand at one position", shown(known->second), shown(name)),
                               "correct where the runs begin"});
            if (!out.empty()) return;
            ++at;
        }
    }
}

}  // namespace

std::uint64_t first_position(const std::vector<std::uint32_t>& dims, const std::vector<std::uint32_t>& at) noexcept {
    std::uint64_t position = 0;
    for (std::size_t d = 0; d < at.size(); ++d) position = position * dims[d] + at[d];
    return position;
}

void check_grid(const fabric_description& f, findings& out) {
    const auto fault = [&](std::string what, std::string remedy) {
        out.push_back({severity::error, "", std::move(what), std::move(remedy)});
    };
    if (!is_grid(f.form)) {
        if (!f.dims.empty() || !f.grid.empty() || f.link_gb_per_s)
            fault(fmt::format("dims, grid and link_gb_per_s say nothing of a {} fabric", name_of(f.form)),
                  "write form torus or hypercube, or take them out");
        return;
    }
    if (!f.switches.empty())
        fault(fmt::format("a {} has dims and a grid, no switches", name_of(f.form)),
              "take the switches out, or write form tree");
    const bool reduces = f.in_network_reduction;
    if (reduces)
        fault(fmt::format("a {} has no switch that reduces", name_of(f.form)), "take in_network_reduction out");
    if (f.link_gb_per_s && !(std::isfinite(*f.link_gb_per_s) && *f.link_gb_per_s > 0))
        fault(fmt::format("link_gb_per_s is {} GB/s", *f.link_gb_per_s), "give a positive number, or leave it out");
    const std::uint64_t positions = check_dims(f, out);
    if (positions == 0) return;
    if (f.grid.empty()) fault("no node stands in the grid", "name nodes under grid");
    for (const grid_run& run : f.grid) check_run(f, run, positions, out);
    if (out.empty()) check_overlaps(f, out);
}

}  // namespace topo

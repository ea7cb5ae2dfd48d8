// SPDX-License-Identifier: Apache-2.0
// Sets of several nodes by the form of the fabric, beside the nested groups of choose_several.cpp: boxes and arcs of a
// grid, equal shares of the groups of a dragonfly or of the leaves of a tree.
#include <algorithm>

#include "placement/placer_state.hpp"

namespace placement {
namespace {

// A ring leaves and enters every group once, however many of its nodes the job has: shares do not matter to it.
bool shares_matter(pattern p) noexcept { return p != pattern::ring_allreduce; }

}  // namespace

void placer::state::consider_grid(const recipe& from, const request& wanted, std::uint32_t count,
                                  unsigned gpus) noexcept {
    for (const auto how : {grid_plan::kind::box, grid_plan::kind::snake, grid_plan::kind::boxes}) {
        if (scored_count_ == max_scored || late(wanted)) return;
        scored& s = scored_[scored_count_];
        s = {};
        s.from = from;
        s.grid = grid.find(how, narrowed_, count);
        if (!s.grid.found()) continue;
        score(s, wanted, count, gpus);
        // After the nested boxes of the same level where the time is the same: those keep other boxes whole.
        int level = 0;
        for (const auto& n : trial_) level = std::max(level, net.level_of(trial_.front().node.value, n.node.value));
        s.plan.key = {level, no_group, 0, 0, 0, 0, static_cast<std::uint32_t>(how)};
        ++scored_count_;
    }
}

void placer::state::consider_shares(const recipe& from, const node_plan& packed, const request& wanted,
                                    std::uint32_t count, unsigned gpus) noexcept {
    const std::uint32_t units = count / std::max(1u, wanted.segment_nodes);
    const std::uint32_t least = packed.key.children;
    std::array<std::uint32_t, 3> over = {least, 0, 0};
    if (net.form() == topo::fabric_form::dragonfly) {
        over[1] = 2 * least;
        over[2] = static_cast<std::uint32_t>(net.children(packed.key.level, packed.key.group).size());
    } else {
        while (over[0] <= 2 * least && units % over[0] != 0) ++over[0];  // equal, or not at all
        if (over[0] > 2 * least) return;
    }
    for (std::size_t i = 0; i < over.size(); ++i) {
        if (over[i] < 2 || std::find(over.begin(), over.begin() + i, over[i]) != over.begin() + i) continue;
        if (scored_count_ == max_scored || late(wanted)) return;
        scored& s = scored_[scored_count_];
        s = {};
        s.from = from;
        s.plan = choice.spread(packed, count, over[i]);
        if (!s.plan.found()) continue;
        score(s, wanted, count, gpus);
        ++scored_count_;
    }
}

// For the nodes of the best set so far.
void placer::state::consider_shapes(const request& wanted, std::uint32_t count, unsigned gpus) noexcept {
    const bool grids = grid.on_grid() && wanted.segment_nodes < 2;
    if (!grids && (grid.on_grid() || !shares_matter(wanted.talks))) return;
    const scored best = scored_[best_scored()];
    if (late(wanted)) return;
    recount(best, gpus, count);
    if (grids)
        consider_grid(best.from, wanted, count, gpus);
    else if (best.plan.key.level > 0)
        consider_shares(best.from, best.plan, wanted, count, gpus);
}

}  // namespace placement

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
    for (const auto how :
         {grid_plan::kind::box, grid_plan::kind::snake, grid_plan::kind::boxes, grid_plan::kind::grown}) {
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
    std::array<std::uint32_t, 4> over = {least, 0, 0, 0};
    if (net.form() == topo::fabric_form::dragonfly) {
        over[1] = least + 1;
        over[2] = 2 * least;
        over[3] = static_cast<std::uint32_t>(net.children(packed.key.level, packed.key.group).size());
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

// The GPUs that most nodes of the best set have in common, for all of them: then every ring keeps to its rail.
void placer::state::consider_rails(const recipe& from, const request& wanted, std::uint32_t count,
                                   unsigned gpus) noexcept {
    struct choice_of {
        gpu_mask gpus = 0;
        std::uint32_t nodes = 0;
    };
    std::array<choice_of, 8> common;
    std::size_t kinds = 0;
    gpu_mask all = ~gpu_mask{0};
    for (const auto& n : trial_) {
        all &= nodes.free(n.node.value);
        const auto end = common.begin() + static_cast<std::ptrdiff_t>(kinds);
        const auto known = std::find_if(common.begin(), end, [&](const choice_of& c) { return c.gpus == n.gpus; });
        if (known != end)
            ++known->nodes;
        else if (kinds < common.size())
            common[kinds++] = {n.gpus, 1};
    }
    choice_of first, second;  // the most frequent
    for (const choice_of& c : common) {
        if (c.nodes > first.nodes) {
            second = first;
            first = c;
        } else if (c.nodes > second.nodes) {
            second = c;
        }
    }
    const subset_table& t = tables[nodes.hardware(trial_.front().node.value).value];
    std::array<gpu_mask, 4> masks = {0, first.gpus, second.gpus, 0};
    if (const auto here = t.best(all, gpus)) masks[0] = here->gpus;
    if (const auto ideal = t.best(nodes.all(trial_.front().node.value), gpus)) masks[3] = ideal->gpus;
    for (std::size_t i = 0; i < masks.size(); ++i) {
        const auto before = masks.begin() + static_cast<std::ptrdiff_t>(i);
        if (masks[i] == 0 || std::find(masks.begin(), before, masks[i]) != before) continue;
        if (scored_count_ == max_scored || late(wanted)) return;
        recipe aligned = from;
        aligned.all_use = masks[i];
        if (!narrow(aligned, gpus, count)) continue;
        scored& s = scored_[scored_count_];
        s = {};
        s.from = aligned;
        s.plan = choice.find(narrowed_, gpus, count);
        if (!s.plan.found()) continue;
        score(s, wanted, count, gpus);
        ++scored_count_;
    }
}

// For the nodes of the best set so far.
void placer::state::consider_shapes(const request& wanted, std::uint32_t count, unsigned gpus) noexcept {
    const bool grids = grid.on_grid() && wanted.segment_nodes < 2;
    const bool rails = net.form() == topo::fabric_form::rail_optimised && gpus < nodes.max_gpus();
    const bool shares = !grid.on_grid() && shares_matter(wanted.talks);
    if ((!grids && !rails && !shares) || late(wanted)) return;
    scored best = scored_[best_scored()];
    recount(best, gpus, count);
    if (grids) return consider_grid(best.from, wanted, count, gpus);
    if (shares && best.plan.key.level > 0) consider_shares(best.from, best.plan, wanted, count, gpus);
    if (!rails || late(wanted)) return;
    recount(best, gpus, count);
    score(best, wanted, count, gpus);
    if (best.crosses) consider_rails(best.from, wanted, count, gpus);
}

}  // namespace placement

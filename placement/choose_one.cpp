// SPDX-License-Identifier: Apache-2.0
// Jobs of one node: the tightest node whose best free GPUs are good enough.
#include <algorithm>
#include <bit>
#include <tuple>

#include "placement/placer_state.hpp"

namespace placement {

bool placer::state::before(const lone& a, const lone& b) const noexcept {
    return std::tuple(a.breaks_node, a.free_gpus, a.choice.damage, a.breaks_leaf, a.whole_in_leaf, a.node) <
           std::tuple(b.breaks_node, b.free_gpus, b.choice.damage, b.breaks_leaf, b.whole_in_leaf, b.node);
}

// The first max_lone of `bits` by (breaks a whole node, free GPUs, breaks an untouched leaf, whole nodes of the leaf,
// id).
std::size_t placer::state::gather(node_index::words bits, unsigned gpus, std::array<lone, max_lone>& out) noexcept {
    const node_index::words whole = nodes.whole();
    const node_index::words exact = nodes.of_size(gpus);
    std::size_t n = 0;
    for (const bool breaking : {false, true})
        for (unsigned f = gpus; f <= nodes.max_gpus() && n < max_lone; ++f) {
            const node_index::words from = nodes.at_least(f);
            const node_index::words beyond = nodes.at_least(f + 1);
            const auto pick = [&](std::uint32_t w) {
                const std::uint64_t breaks = whole[w] & ~exact[w];
                return bits[w] & from[w] & ~beyond[w] & (breaking ? breaks : ~breaks);
            };
            bool any = false;
            for (std::uint32_t w = 0; w < bits.size() && !any; ++w) any = pick(w) != 0;
            const std::size_t begin = n;
            for (std::uint32_t leaf = 0; any && leaf < net.groups(0); ++leaf) {
                lone found;
                found.breaks_node = breaking;
                found.free_gpus = f;
                found.whole_in_leaf = nodes.whole_in(leaf);
                found.breaks_leaf = nodes.untouched(0, leaf);
                const auto rank = [](const lone& l) { return std::tuple(l.breaks_leaf, l.whole_in_leaf); };
                if (n == max_lone && rank(found) >= rank(out[n - 1])) continue;
                for (const auto& run : net.runs(leaf))
                    for (std::uint64_t b = pick(run.word) & run.mask; b != 0; b &= b - 1) {
                        found.node = run.word * 64u + static_cast<std::uint32_t>(std::countr_zero(b));
                        std::size_t at = n;
                        while (at > begin && rank(found) < rank(out[at - 1])) --at;
                        if (at == max_lone) break;
                        n = std::min(n + 1, max_lone);
                        std::move_backward(out.begin() + static_cast<std::ptrdiff_t>(at),
                                           out.begin() + static_cast<std::ptrdiff_t>(n) - 1,
                                           out.begin() + static_cast<std::ptrdiff_t>(n));
                        out[at] = found;
                    }
            }
        }
    return n;
}

double placer::state::time_of_one(const lone& l, unsigned gpus, const request& wanted) noexcept {
    if (wanted.talks == pattern::ring_allreduce)
        return tables[nodes.hardware(l.node).value].ring(l.choice.gpus).time_us(gpus, wanted.message_bytes);
    const node_share alone{node_id(l.node), l.choice.gpus};
    return time_of(wanted, {&alone, 1}).step_us;
}

void placer::state::judge(lone& l, unsigned gpus, const request& wanted) noexcept {
    const subset_table& t = tables[nodes.hardware(l.node).value];
    l.choice = *t.best(nodes.free(l.node), gpus);
    l.step_us = time_of_one(l, gpus, wanted);
}

outcome placer::state::choose_one(const request& wanted, unsigned gpus, answer& out) noexcept {
    if (gpus > nodes.max_gpus()) return outcome::too_few_gpus;
    const node_index::words enough = nodes.at_least(gpus);
    bool any = false;
    for (std::size_t w = 0; w < enough.size(); ++w) any |= (eligible_[w] = enough[w] & allowed_[w]) != 0;
    if (!any) return outcome::too_few_gpus;
    if (net.spare_nodes() > 0) {
        keep_spares();
        any = false;
        for (std::size_t w = 0; w < kept_.size(); ++w) any |= (eligible_[w] & ~kept_[w]) != 0;
        for (std::size_t w = 0; any && w < kept_.size(); ++w) eligible_[w] &= ~kept_[w];
    }
    for (unsigned t = 0; t + 1 < tier_count; ++t) {  // the best tier that has a node
        const node_index::words good = nodes.tier(job_kind::one_node, gpus, t);
        bool here = false;
        for (std::size_t w = 0; w < good.size(); ++w) here |= (narrowed_[w] = eligible_[w] & good[w]) != 0;
        if (here) break;
        if (t + 2 == tier_count) narrowed_ = eligible_;
    }
    std::array<lone, max_lone> found;
    std::size_t n = gather(narrowed_, gpus, found);
    if (n == 1 && wanted.details) {  // none alike: slower ones may still be the runner-up
        const lone alone = found.front();
        eligible_[alone.node / 64] &= ~(std::uint64_t{1} << (alone.node % 64));
        n = std::min(gather(eligible_, gpus, found), max_lone - 1);
        found[n++] = alone;
    }
    double fastest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < n; ++i) {
        judge(found[i], gpus, wanted);
        fastest = std::min(fastest, found[i].step_us);
    }
    const double within = fastest * (1 + std::max(options.damage_weight, options.subsets.equal_within));
    const auto better = [&](const lone& a, const lone& b) {
        if ((a.step_us <= within) != (b.step_us <= within)) return a.step_us <= within;
        return before(a, b);
    };
    std::sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n), better);
    const lone& won = found.front();
    out.nodes.push_back({node_id(won.node), won.choice.gpus});
    if (!wanted.details) return outcome::placed;

    lone second = n > 1 ? found[1] : lone{};
    const subset_table& t = tables[nodes.hardware(won.node).value];
    if (const auto other = t.runner_up(nodes.free(won.node), gpus, won.choice.gpus)) {
        lone same = won;
        same.choice = *other;
        same.step_us = time_of_one(same, gpus, wanted);
        if (second.node == no_group || better(same, second)) second = same;
    }
    if (second.node == no_group) return outcome::placed;
    out.has_runner_up = true;
    out.runner_up_nodes.push_back({node_id(second.node), second.choice.gpus});
    out.runner_up = time_of(wanted, out.runner_up_nodes);
    out.runner_up_damage = damage_of(out.runner_up_nodes);
    return outcome::placed;
}

}  // namespace placement

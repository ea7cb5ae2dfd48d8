// SPDX-License-Identifier: Apache-2.0
#include "placement/node_index.hpp"

#include <algorithm>
#include <limits>

namespace placement {

node_index::node_index(const topo::cluster& c, const fabric_index& net, judge how_slow)
    : net_(&net), how_slow_(std::move(how_slow)), words_((c.nodes().size() + 63) / 64) {
    for (const auto& hardware : c.classes())
        max_gpus_ = std::max(max_gpus_, static_cast<unsigned>(hardware.gpus.size()));
    const std::size_t nodes = c.nodes().size();
    free_.assign(nodes, 0);
    at_least_.assign((max_gpus_ + 2) * words_, 0);
    whole_.assign(words_, 0);
    of_size_.assign((max_gpus_ + 1) * words_, 0);
    of_class_.assign(c.classes().size() * words_, 0);
    tiers_.assign(2 * (max_gpus_ + 1) * (tier_count - 1) * words_, 0);
    for (int level = 0; level < net.levels(); ++level) whole_in_.emplace_back(net.groups(level), 0u);
    for (std::uint32_t n = 0; n < nodes; ++n) {
        const topo::class_id id = c.nodes()[n].hardware;
        const std::size_t gpus = c.classes()[id.value].gpus.size();
        hardware_.push_back(id);
        all_.push_back(topo::first_gpus(gpus));
        put(of_size_, gpus, n, true);
        put(of_class_, id.value, n, true);
        put(at_least_, 0, n, true);
    }
    find_best_times();
    for (std::uint32_t n = 0; n < nodes; ++n) set_free(n, all_[n]);
}

void node_index::find_best_times() {
    for (auto& times : best_time_) times.assign(max_gpus_ + 1, std::numeric_limits<double>::infinity());
    std::vector<bool> seen;
    for (std::size_t n = 0; n < all_.size(); ++n) {
        const std::size_t id = hardware_[n].value;
        if (seen.size() <= id) seen.resize(id + 1, false);
        if (seen[id]) continue;
        seen[id] = true;
        for (unsigned k = 1; k <= topo::count(all_[n]); ++k)
            for (const job_kind kind : {job_kind::one_node, job_kind::several_nodes}) {
                double& best = best_time_[static_cast<std::size_t>(kind)][k];
                best = std::min(best, how_slow_(hardware_[n], all_[n], k, kind));
            }
    }
}

unsigned node_index::tier_of(double time, job_kind kind, unsigned k) const noexcept {
    const double best = best_time_[static_cast<std::size_t>(kind)][k];
    unsigned tier = 0;
    while (tier < tier_count - 1 && time > best * tier_limits[tier]) ++tier;
    return tier;
}

void node_index::change_whole(std::uint32_t node, bool on) {
    const bool was = (whole_[node / 64] >> (node % 64)) & 1;
    if (was == on) return;
    put(whole_, 0, node, on);
    for (int level = 0; level < net_->levels(); ++level) {
        const std::uint32_t group = net_->group_of(node, level);
        if (group == no_group) continue;
        std::uint32_t& count = whole_in_[static_cast<std::size_t>(level)][group];
        count += on ? 1u : ~0u;
    }
}

void node_index::set_free(std::uint32_t node, gpu_mask free) {
    free &= all_[node];
    const unsigned before = topo::count(free_[node]);
    const unsigned now = topo::count(free);
    free_[node] = free;
    for (unsigned k = std::min(before, now) + 1; k <= std::max(before, now); ++k) put(at_least_, k, node, k <= now);
    change_whole(node, free != 0 && free == all_[node]);
    for (const job_kind kind : {job_kind::one_node, job_kind::several_nodes})
        for (unsigned k = 1; k <= std::max(before, now); ++k) {
            const unsigned own = k <= now ? tier_of(how_slow_(hardware_[node], free, k, kind), kind, k) : tier_count;
            for (unsigned t = 0; t + 1 < tier_count; ++t) put(tiers_, tier_row(kind, k, t), node, own <= t);
        }
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "placement/predictor.hpp"

#include <algorithm>

namespace placement {

// The ring as far as it has been walked.
struct predictor::ring_state {
    double alpha_us = 0;
    double gb_per_s = std::numeric_limits<double>::infinity();
    prediction* out;
    cost_quality used;
    bool broken = false;  // two nodes that cannot reach one another

    void add(double alpha, double bw, std::uint32_t from, std::uint32_t to, int level) noexcept {
        alpha_us = std::max(alpha_us, alpha);
        if (bw >= gb_per_s) return;
        gb_per_s = bw;
        out->slowest_from = from;
        out->slowest_to = to;
        out->slowest_level = static_cast<std::uint8_t>(level);
    }
    void add(const cost_quality& more) noexcept { used.add(more); }
};

predictor::predictor(const topo::cluster& c, const fabric_index& net, const node_sides& sides)
    : cluster_(&c), net_(&net), sides_(&sides) {
    for (int level = 0; level < net.levels(); ++level) {
        out_flows_.emplace_back(net.groups(level), 0u);
        in_flows_.emplace_back(net.groups(level), 0u);
    }
}

const node_side& predictor::side_of(const node_share& share) noexcept {
    const topo::class_id hardware = cluster_->nodes()[share.node.value].hardware;
    for (const auto& known : recent_)
        if (known.gpus == share.gpus && known.hardware == hardware) return known;
    node_side& side = recent_[next_recent_];
    next_recent_ ^= 1;
    side = sides_->measure(hardware, share.gpus);
    return side;
}

double predictor::node_to_node_gb_per_s(topo::class_id hardware, gpu_mask gpus) const noexcept {
    node_side side;
    side.hardware = hardware;
    side.gpus = gpus;
    sides_->measure_outside(side);
    return side.rails * std::min({side.out_gb_per_s, side.in_gb_per_s, net_->level_cost(0).gb_per_s});
}

// How many hops of the ring leave and enter each group. add is +1 or −1: the second call leaves zeros behind.
void predictor::count_flows(std::span<const node_share> nodes, int add) noexcept {
    const auto change = static_cast<std::uint32_t>(add);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const std::uint32_t a = nodes[i].node.value;
        const std::uint32_t b = nodes[(i + 1) % nodes.size()].node.value;
        for (int level = 0; level + 1 < net_->levels(); ++level) {
            const std::uint32_t from = net_->group_of(a, level);
            const std::uint32_t to = net_->group_of(b, level);
            if (from == to) break;
            if (from != no_group) out_flows_[static_cast<std::size_t>(level)][from] += change;
            if (to != no_group) in_flows_[static_cast<std::size_t>(level)][to] += change;
        }
    }
}

void predictor::cross(ring_state& ring, const node_share& a, const node_side& from, const node_share& b,
                      const node_side& to, std::uint32_t from_rank, std::uint32_t to_rank) const noexcept {
    const int common = net_->level_of(a.node.value, b.node.value);
    if (common == topo::unreachable_level) {
        ring.broken = true;
        ring.add(0, 0, from_rank, to_rank, topo::unreachable_level);
        return;
    }
    const int apart = net_->hop_level(net_->separation(a.node.value, b.node.value), from.rail_set == to.rail_set);
    const topo::cost& level = net_->level_cost(apart);
    double bw = std::min(from.rails, to.rails) * std::min({from.out_gb_per_s, to.in_gb_per_s, level.gb_per_s});
    for (int l = 0; l < common; ++l) {
        const auto i = static_cast<std::size_t>(l);
        const std::uint32_t up = net_->group_of(a.node.value, l);
        const std::uint32_t down = net_->group_of(b.node.value, l);
        if (up != no_group) bw = std::min(bw, net_->capacity(l, up) / std::max(1u, out_flows_[i][up]));
        if (down != no_group) bw = std::min(bw, net_->capacity(l, down) / std::max(1u, in_flows_[i][down]));
    }
    ring.add(from.out_alpha_us + level.alpha_us + to.in_alpha_us, bw, from_rank, to_rank, 1 + apart);
    ring.used.add(level);
    ring.add(from.outside);
    ring.add(to.outside);
}

prediction predictor::predict(std::span<const node_share> nodes, double bytes) noexcept {
    prediction out;
    if (nodes.empty()) return out;
    const bool several = nodes.size() > 1;
    ring_state ring;
    ring.out = &out;
    if (several) count_flows(nodes, +1);
    std::uint32_t ranks = 0;
    const auto alike = [&](const node_share& a, const node_share& b) {
        return a.gpus == b.gpus && cluster_->nodes()[a.node.value].hardware == cluster_->nodes()[b.node.value].hardware;
    };
    // Equal nodes have equal hops inside, and equal hops to one another under one leaf: one of them is enough for the
    // slowest and the worst.
    bool as_before = false;          // the node before is alike
    bool reached_as_before = false;  // … and under the same leaf
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        const bool last = i + 1 == nodes.size();
        const node_share& next = nodes[last ? 0 : i + 1];
        const bool alike_next = several && alike(nodes[i], next);
        const bool leaf_next = alike_next && net_->level_of(nodes[i].node.value, next.node.value) == 0 &&
                               net_->separation(nodes[i].node.value, next.node.value) == 0;
        if (as_before && reached_as_before && leaf_next) {
            ranks += topo::count(nodes[i].gpus);
            continue;
        }
        const node_side here = side_of(nodes[i]);
        if (here.ranks > 1 && !as_before) {
            ring.add(here.path.alpha_us, here.path.gb_per_s, ranks + here.path.from, ranks + here.path.to, 0);
            ring.add(here.inside);
            if (!several || here.rails > 1) {  // with one rail the ring of several nodes never closes inside
                ring.add(here.close.alpha_us, here.close.gb_per_s, ranks + here.close.from, ranks + here.close.to, 0);
                ring.add(here.closing);
            }
        }
        if (several)
            cross(ring, nodes[i], here, next, side_of(next), ranks + here.ranks - 1, last ? 0 : ranks + here.ranks);
        ranks += here.ranks;
        as_before = alike_next;
        reached_as_before = leaf_next;
    }
    if (several) count_flows(nodes, -1);
    out.simulated = ring.used.simulated;
    out.estimated = ring.used.estimated;
    if (ranks < 2) {
        out.step_us = 0;
        return out;
    }
    out.slowest_gb_per_s = ring.gb_per_s;
    const double p = ranks;
    out.latency_us = 2 * (p - 1) * ring.alpha_us;
    out.transfer_us =
        ring.broken ? std::numeric_limits<double>::infinity() : 2 * (p - 1) / p * bytes / (ring.gb_per_s * 1e3);
    out.step_us = out.latency_us + out.transfer_us;
    term& only = out.terms[out.term_count++];
    only.latency_us = out.latency_us;
    only.transfer_us = out.transfer_us;
    only.slowest_gb_per_s = out.slowest_gb_per_s;
    only.slowest_level = out.slowest_level;
    only.slowest_from = out.slowest_from;
    only.slowest_to = out.slowest_to;
    return out;
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "placement/predictor.hpp"

#include <algorithm>
#include <bit>

namespace placement {

using topo::endpoint;

void predictor::quality::add(const topo::cost& used) noexcept {
    simulated |= used.from == topo::source::simulated || used.alpha_from == topo::source::simulated;
    estimated |= used.from == topo::source::estimated || used.alpha_from == topo::source::estimated;
}

// The ring as far as it has been walked.
struct predictor::ring_state {
    double alpha_us = 0;
    double gb_per_s = std::numeric_limits<double>::infinity();
    prediction* out;
    quality used;
    bool broken = false;  // two nodes that cannot reach one another

    void add(double alpha, double bw, std::uint32_t from, std::uint32_t to, int level) noexcept {
        alpha_us = std::max(alpha_us, alpha);
        if (bw >= gb_per_s) return;
        gb_per_s = bw;
        out->slowest_from = from;
        out->slowest_to = to;
        out->slowest_level = static_cast<std::uint8_t>(level);
    }
    void add(const quality& more) noexcept {
        used.simulated |= more.simulated;
        used.estimated |= more.estimated;
    }
};

predictor::predictor(const topo::cluster& c, const fabric_index& net, std::span<const subset_table> tables)
    : cluster_(&c), net_(&net), tables_(tables) {
    for (const auto& hardware : c.classes()) {
        class_costs costs;
        costs.where = locality::of(hardware);
        costs.gpu = hardware.best_layer(endpoint::gpu, endpoint::gpu);
        costs.to_nic = hardware.best_layer(endpoint::gpu, endpoint::nic);
        costs.from_nic = hardware.best_layer(endpoint::nic, endpoint::gpu);
        costs.port.fill(std::numeric_limits<double>::infinity());
        for (std::size_t i = 0; i < hardware.nics.size() && i < costs.port.size(); ++i)
            if (hardware.nics[i].gb_per_s) costs.port[i] = *hardware.nics[i].gb_per_s;
        classes_.push_back(std::move(costs));
    }
    for (int level = 0; level < net.levels(); ++level) {
        out_flows_.emplace_back(net.groups(level), 0u);
        in_flows_.emplace_back(net.groups(level), 0u);
    }
}

void predictor::measure_inside(node_side& side) const noexcept {
    const class_costs& costs = classes_[side.hardware.value];
    std::array<std::uint8_t, topo::max_gpus_per_node> order;
    const std::size_t p = tables_[side.hardware.value].ring_order(side.gpus, order);
    side.ranks = static_cast<unsigned>(p);
    if (p < 2 || costs.gpu == nullptr) return;
    for (std::size_t i = 0; i < p; ++i) {
        const topo::cost& cell = costs.gpu->cells(order[i], order[(i + 1) % p]);
        hop& into = i + 1 < p ? side.path : side.close;
        into.alpha_us = std::max(into.alpha_us, cell.alpha_us);
        if (cell.gb_per_s < into.gb_per_s) {
            into.gb_per_s = cell.gb_per_s;
            into.from = static_cast<std::uint8_t>(i);
            into.to = static_cast<std::uint8_t>((i + 1) % p);
        }
        (i + 1 < p ? side.inside : side.closing).add(cell);
    }
}

// A NIC is as fast as the best of the GPUs that have it as theirs: the ring enters and leaves there.
void predictor::measure_outside(node_side& side) const noexcept {
    const class_costs& costs = classes_[side.hardware.value];
    std::uint64_t nics = 0;
    for (gpu_mask m = side.gpus; m != 0; m &= m - 1) {
        const auto nic = costs.where.nic[static_cast<std::size_t>(std::countr_zero(m))];
        if (nic >= 0) nics |= std::uint64_t{1} << nic;
    }
    side.rails = std::max(1u, static_cast<std::uint32_t>(std::popcount(nics)));
    for (; nics != 0; nics &= nics - 1) {
        const auto nic = static_cast<std::size_t>(std::countr_zero(nics));
        const topo::cost* out = nullptr;
        const topo::cost* in = nullptr;
        for (gpu_mask m = side.gpus; m != 0; m &= m - 1) {
            const auto g = static_cast<std::size_t>(std::countr_zero(m));
            if (costs.where.nic[g] != static_cast<std::int16_t>(nic)) continue;
            const topo::cost* there = costs.to_nic != nullptr ? &costs.to_nic->cells(g, nic) : nullptr;
            const topo::cost* back = costs.from_nic != nullptr ? &costs.from_nic->cells(nic, g) : there;
            if (there != nullptr && (out == nullptr || there->gb_per_s > out->gb_per_s)) out = there;
            if (back != nullptr && (in == nullptr || back->gb_per_s > in->gb_per_s)) in = back;
        }
        side.out_gb_per_s = std::min(side.out_gb_per_s, costs.port[nic]);
        side.in_gb_per_s = std::min(side.in_gb_per_s, costs.port[nic]);
        if (out != nullptr) {
            side.out_gb_per_s = std::min(side.out_gb_per_s, out->gb_per_s);
            side.out_alpha_us = std::max(side.out_alpha_us, out->alpha_us);
            side.outside.add(*out);
        }
        if (in != nullptr) {
            side.in_gb_per_s = std::min(side.in_gb_per_s, in->gb_per_s);
            side.in_alpha_us = std::max(side.in_alpha_us, in->alpha_us);
            side.outside.add(*in);
        }
    }
}

const predictor::node_side& predictor::side_of(const node_share& share) noexcept {
    const topo::class_id hardware = cluster_->nodes()[share.node.value].hardware;
    for (const auto& known : recent_)
        if (known.gpus == share.gpus && known.hardware == hardware) return known;
    node_side& side = recent_[next_recent_];
    next_recent_ ^= 1;
    side = node_side{};
    side.hardware = hardware;
    side.gpus = share.gpus;
    measure_inside(side);
    measure_outside(side);
    return side;
}

double predictor::node_to_node_gb_per_s(topo::class_id hardware, gpu_mask gpus) noexcept {
    node_side side;
    side.hardware = hardware;
    side.gpus = gpus;
    measure_outside(side);
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
    const topo::cost& level = net_->level_cost(net_->separation(a.node.value, b.node.value));
    double bw = std::min(from.rails, to.rails) * std::min({from.out_gb_per_s, to.in_gb_per_s, level.gb_per_s});
    for (int l = 0; l < common; ++l) {
        const auto i = static_cast<std::size_t>(l);
        const std::uint32_t up = net_->group_of(a.node.value, l);
        const std::uint32_t down = net_->group_of(b.node.value, l);
        if (up != no_group) bw = std::min(bw, net_->capacity(l, up) / std::max(1u, out_flows_[i][up]));
        if (down != no_group) bw = std::min(bw, net_->capacity(l, down) / std::max(1u, in_flows_[i][down]));
    }
    ring.add(from.out_alpha_us + level.alpha_us + to.in_alpha_us, bw, from_rank, to_rank, 1 + common);
    ring.used.simulated |= level.from == topo::source::simulated || level.alpha_from == topo::source::simulated;
    ring.used.estimated |= level.from == topo::source::estimated || level.alpha_from == topo::source::estimated;
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
    return out;
}

}  // namespace placement

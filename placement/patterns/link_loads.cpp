// SPDX-License-Identifier: Apache-2.0
#include "placement/patterns/link_loads.hpp"

#include <algorithm>
#include <bit>

namespace placement {
namespace {

double us(double bytes, double gb_per_s) noexcept { return bytes / (gb_per_s * 1e3); }

}  // namespace

link_loads::link_loads(const topo::cluster& c, const fabric_index& net, const node_sides& sides)
    : cluster_(&c), net_(&net), sides_(&sides) {
    std::uint32_t gpus = 0, nics = 0;
    for (std::size_t n = 0; n < c.nodes().size(); ++n) {
        gpu_begin_.push_back(gpus);
        nic_begin_.push_back(nics);
        const auto& hardware = c.class_of(topo::node_id(n));
        gpus += static_cast<std::uint32_t>(hardware.gpus.size());
        nics += static_cast<std::uint32_t>(hardware.nics.size());
    }
    rank_of_.assign(gpus, 0);
    gpu_out_.resize(gpus);
    gpu_in_.resize(gpus);
    nic_out_.resize(nics);
    nic_in_.resize(nics);
    std::size_t shared = 2 * (std::size_t{gpus} + nics);
    for (int level = 0; level < net.levels(); ++level) {
        up_.emplace_back(net.groups(level));
        down_.emplace_back(net.groups(level));
        inside_.emplace_back(net.groups(level), 0u);
        shared += 2 * std::size_t{net.groups(level)};
    }
    touched_.reserve(shared);
    find_farthest();
}

// In trees a group's members are at most its own level apart; in grids the way through a box grows with it.
void link_loads::find_farthest() {
    farthest_.assign(static_cast<std::size_t>(net_->levels()), 0);
    for (int level = 0; level < net_->levels(); ++level) {
        std::vector<std::uint32_t> first(net_->groups(level), no_group);
        int& most = farthest_[static_cast<std::size_t>(level)];
        most = level > 0 ? farthest_[static_cast<std::size_t>(level) - 1] : 0;
        for (std::uint32_t n = 0; n < cluster_->nodes().size(); ++n) {
            const std::uint32_t group = net_->group_of(n, level);
            if (group == no_group) continue;
            if (first[group] == no_group) first[group] = n;
            const int apart = net_->separation(first[group], n);
            if (apart != topo::unreachable_level) most = std::max(most, apart);
        }
    }
}

void link_loads::number(std::span<const rank_place> ranks) noexcept {
    for (std::uint32_t r = 0; r < ranks.size(); ++r) rank_of_[gpu_begin_[ranks[r].node.value] + ranks[r].gpu] = r;
}

void link_loads::start() noexcept { now_ = phase{}; }

const node_side& link_loads::side_of(const node_share& share) noexcept {
    const topo::class_id id = hardware(share.node.value);
    for (const auto& known : recent_)
        if (known.gpus == share.gpus && known.hardware == id) return known;
    node_side& side = recent_[next_recent_];
    next_recent_ = (next_recent_ + 1) % recent_.size();
    side = sides_->measure(id, share.gpus);
    return side;
}

std::uint32_t link_loads::rank_at(const node_share& share, std::size_t position) const noexcept {
    std::array<std::uint8_t, topo::max_gpus_per_node> order;
    sides_->table(hardware(share.node.value)).ring_order(share.gpus, order);
    return rank_of(share.node.value, order[position]);
}

void link_loads::hop(double alpha, double bytes, double gb_per_s, int level, std::uint32_t from,
                     std::uint32_t to) noexcept {
    now_.alpha_us = std::max(now_.alpha_us, alpha);
    double& its = level == 0 ? now_.inside_alpha_us : now_.across_alpha_us;
    its = std::max(its, alpha);
    const double time = us(bytes, gb_per_s);
    if (time <= now_.transfer_us) return;
    now_.transfer_us = time;
    now_.gb_per_s = gb_per_s;
    now_.level = static_cast<std::uint8_t>(level);
    now_.from = from;
    now_.to = to;
}

void link_loads::share_link(load& l, double gb_per_s, double bytes, int level, std::uint32_t from,
                            std::uint32_t to) noexcept {
    if (gb_per_s == std::numeric_limits<double>::infinity() || bytes <= 0) return;
    if (l.bytes == 0) touched_.push_back({&l, gb_per_s});
    l.bytes += bytes;
    l.level = static_cast<std::uint8_t>(level);
    l.from = from;
    l.to = to;
}

// Each NIC carries an equal share, as one ring a NIC does.
void link_loads::share_nics(std::uint32_t node, const node_side& side, bool out, double bytes, int level,
                            std::uint32_t from, std::uint32_t to) noexcept {
    const auto& costs = sides_->costs(side.hardware);
    for (std::uint64_t m = side.nics; m != 0; m &= m - 1) {
        const auto nic = static_cast<std::size_t>(std::countr_zero(m));
        load& l = (out ? nic_out_ : nic_in_)[nic_begin_[node] + nic];
        share_link(l, out ? costs.nic_out[nic] : costs.nic_in[nic], bytes / side.rails, level, from, to);
    }
}

void link_loads::share_uplinks(std::uint32_t a, std::uint32_t b, double bytes, int level, std::uint32_t from,
                               std::uint32_t to) noexcept {
    for (int l = 0; l + 1 < net_->levels(); ++l) {
        const std::uint32_t left = net_->group_of(a, l);
        const std::uint32_t entered = net_->group_of(b, l);
        if (left == entered) break;
        const auto i = static_cast<std::size_t>(l);
        if (left != no_group) share_link(up_[i][left], net_->capacity(l, left), bytes, level, from, to);
        if (entered != no_group) share_link(down_[i][entered], net_->capacity(l, entered), bytes, level, from, to);
    }
}

double link_loads::stream(const node_share& from, const node_share& to, double bytes) noexcept {
    const std::uint32_t a = from.node.value, b = to.node.value;
    const node_side out = side_of(from);
    const node_side& in = side_of(to);
    const std::uint32_t first = rank_at(from, out.ranks - 1), second = rank_at(to, 0);
    const int apart = net_->hop_level(net_->separation(a, b), out.rail_set == in.rail_set);
    if (apart == topo::unreachable_level) {
        now_.broken = true;
        now_.level = topo::unreachable_level;
        return 0;
    }
    const topo::cost& way = net_->level_cost(apart);
    const double gb_per_s = std::min(out.rails, in.rails) * std::min({out.out_gb_per_s, in.in_gb_per_s, way.gb_per_s});
    hop(out.out_alpha_us + way.alpha_us + in.in_alpha_us, bytes, gb_per_s, 1 + apart, first, second);
    now_.used.add(way);
    now_.used.add(out.outside);
    now_.used.add(in.outside);
    share_nics(a, out, true, bytes, 1 + apart, first, second);
    share_nics(b, in, false, bytes, 1 + apart, first, second);
    share_uplinks(a, b, bytes, 1 + apart, first, second);
    return out.out_alpha_us + way.alpha_us + in.in_alpha_us + us(bytes, gb_per_s);
}

void link_loads::chain_inside(const node_share& node, double bytes) noexcept {
    const node_side& side = side_of(node);
    if (side.ranks < 2) return;
    hop(side.path.alpha_us, bytes, side.path.gb_per_s, 0, rank_at(node, side.path.from), rank_at(node, side.path.to));
    now_.used.add(side.inside);
}

void link_loads::rings_inside(std::span<const node_share> nodes, double bytes) noexcept {
    for (const auto& n : nodes) {
        chain_inside(n, bytes);
        const node_side& side = side_of(n);
        if (side.ranks < 2) continue;
        hop(side.close.alpha_us, bytes, side.close.gb_per_s, 0, rank_at(n, side.close.from), rank_at(n, side.close.to));
        now_.used.add(side.closing);
    }
}

void link_loads::ring(std::span<const node_share> nodes, double bytes) noexcept {
    if (nodes.size() == 1) return rings_inside(nodes, bytes);
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        // With one NIC the ring of several nodes never closes inside one.
        if (side_of(nodes[i]).rails > 1)
            rings_inside(nodes.subspan(i, 1), bytes);
        else
            chain_inside(nodes[i], bytes);
        stream(nodes[i], nodes[(i + 1) % nodes.size()], bytes);
    }
}

double link_loads::pair(const rank_place& from, const rank_place& to, double bytes) noexcept {
    const std::uint32_t a = from.node.value, b = to.node.value;
    const std::uint32_t first = rank_of(a, from.gpu), second = rank_of(b, to.gpu);
    if (a != b) return stream({from.node, gpu_mask{1} << from.gpu}, {to.node, gpu_mask{1} << to.gpu}, bytes);
    const auto& costs = sides_->costs(hardware(a));
    if (costs.gpu == nullptr || from.gpu == to.gpu) return 0;
    const topo::cost& cell = costs.gpu->cells(from.gpu, to.gpu);
    hop(cell.alpha_us, bytes, cell.gb_per_s, 0, first, second);
    now_.used.add(cell);
    share_link(gpu_out_[gpu_begin_[a] + from.gpu], costs.ports.out[from.gpu], bytes, 0, first, second);
    share_link(gpu_in_[gpu_begin_[b] + to.gpu], costs.ports.in[to.gpu], bytes, 0, first, second);
    return cell.time_us(bytes);
}

void link_loads::pairs_inside(const node_share& share, double bytes) noexcept {
    const std::uint32_t node = share.node.value;
    const auto& costs = sides_->costs(hardware(node));
    if (costs.gpu == nullptr) return;
    for (gpu_mask m = share.gpus; m != 0; m &= m - 1)
        for (gpu_mask o = share.gpus; o != 0; o &= o - 1) {
            const auto a = static_cast<std::size_t>(std::countr_zero(m));
            const auto b = static_cast<std::size_t>(std::countr_zero(o));
            if (a == b) continue;
            const topo::cost& cell = costs.gpu->cells(a, b);
            const std::uint32_t first = rank_of(node, a), second = rank_of(node, b);
            hop(cell.alpha_us, bytes, cell.gb_per_s, 0, first, second);
            now_.used.add(cell);
            share_link(gpu_out_[gpu_begin_[node] + a], costs.ports.out[a], bytes, 0, first, second);
            share_link(gpu_in_[gpu_begin_[node] + b], costs.ports.in[b], bytes, 0, first, second);
        }
}

void link_loads::count_groups(std::span<const node_share> nodes) noexcept {
    for (const auto& n : nodes)
        for (int level = 0; level < net_->levels(); ++level) {
            const std::uint32_t group = net_->group_of(n.node.value, level);
            if (group == no_group) continue;
            inside_[static_cast<std::size_t>(level)][group] += topo::count(n.gpus);
        }
}

void link_loads::forget_groups(std::span<const node_share> nodes) noexcept {
    for (const auto& n : nodes)
        for (int level = 0; level < net_->levels(); ++level) {
            const std::uint32_t group = net_->group_of(n.node.value, level);
            if (group != no_group) inside_[static_cast<std::size_t>(level)][group] = 0;
        }
}

// What the GPUs of one node exchange with all the others, `ranks` in all. The bytes that have to go to a level or
// beyond are limited by the cost of that level, a NIC at a time.
void link_loads::pairs_across(const node_share& share, std::uint32_t ranks, double bytes) noexcept {
    const std::uint32_t node = share.node.value;
    const node_side& side = side_of(share);
    const auto& costs = sides_->costs(side.hardware);
    const std::uint32_t own = topo::count(share.gpus);
    const std::uint32_t self = rank_at(share, 0);
    const std::uint32_t other = self == 0 ? ranks - 1 : 0;
    std::uint32_t beyond = ranks - own;
    int last = -1;
    for (int level = 0; level < net_->levels() && beyond > 0; ++level) {
        const std::uint32_t group = net_->group_of(node, level);
        if (group == no_group) continue;
        std::uint32_t& counted = inside_[static_cast<std::size_t>(level)][group];
        const std::uint32_t here = counted & ~counted_mark;
        const int apart = farthest_[static_cast<std::size_t>(level)];
        const topo::cost& way = net_->level_cost(apart);
        if (ranks - here < beyond) {  // somebody is at this level
            const double busiest = static_cast<double>(own) / side.rails;
            hop(side.out_alpha_us + way.alpha_us + side.in_alpha_us, busiest * beyond * bytes, way.gb_per_s, 1 + apart,
                self, other);
            now_.used.add(way);
            last = apart;
        }
        beyond = ranks - here;
        if (beyond == 0 || level + 1 == net_->levels()) continue;
        if (counted == here) {  // once a group
            counted |= counted_mark;
            const auto i = static_cast<std::size_t>(level);
            const double crossing = static_cast<double>(here) * beyond * bytes;
            share_link(up_[i][group], net_->capacity(level, group), crossing, 1 + apart, self, other);
            share_link(down_[i][group], net_->capacity(level, group), crossing, 1 + apart, other, self);
        }
    }
    if (beyond > 0) {
        now_.broken = true;
        return;
    }
    now_.used.add(side.outside);
    for (gpu_mask m = share.gpus; m != 0; m &= m - 1) {
        const auto g = static_cast<std::size_t>(std::countr_zero(m));
        const auto nic = costs.where.nic[g];
        if (nic < 0) continue;
        const double each = static_cast<double>(ranks - own) * bytes;
        const std::uint32_t me = rank_of(node, g);
        share_link(nic_out_[nic_begin_[node] + static_cast<std::size_t>(nic)],
                   costs.nic_out[static_cast<std::size_t>(nic)], each, 1 + last, me, other);
        share_link(nic_in_[nic_begin_[node] + static_cast<std::size_t>(nic)],
                   costs.nic_in[static_cast<std::size_t>(nic)], each, 1 + last, other, me);
    }
}

void link_loads::all_pairs(std::span<const node_share> nodes, double bytes) noexcept {
    std::uint32_t ranks = 0;
    for (const auto& n : nodes) {
        ranks += topo::count(n.gpus);
        pairs_inside(n, bytes);
    }
    if (nodes.size() < 2) return;
    count_groups(nodes);
    for (const auto& n : nodes) pairs_across(n, ranks, bytes);
    forget_groups(nodes);
}

bool link_loads::reduce_in_network(std::span<const node_share> nodes, double bytes) noexcept {
    std::uint32_t ranks = 0;
    for (const auto& n : nodes) ranks += topo::count(n.gpus);
    count_groups(nodes);
    bool can = nodes.size() > 1;
    int top = 0;
    for (const auto& n : nodes) {
        bool met = false;
        for (int level = 0; level < net_->levels() && !met; ++level) {
            const std::uint32_t group = net_->group_of(n.node.value, level);
            if (group == no_group || !net_->aggregates(level, group)) break;
            met = inside_[static_cast<std::size_t>(level)][group] == ranks;
            if (met) top = std::max(top, level);
        }
        can = can && met;
        if (!can) break;
    }
    const int apart = farthest_[static_cast<std::size_t>(top)];
    const topo::cost& way = net_->level_cost(apart);
    for (const auto& n : can ? nodes : nodes.first(0)) {
        const std::uint32_t node = n.node.value;
        const node_side side = side_of(n);
        const std::uint32_t self = rank_at(n, 0);
        const double out = side.rails * std::min(side.out_gb_per_s, way.gb_per_s);
        const double in = side.rails * std::min(side.in_gb_per_s, way.gb_per_s);
        hop(side.out_alpha_us + way.alpha_us + side.in_alpha_us, bytes, std::min(out, in), 1 + apart, self, self);
        now_.used.add(way);
        now_.used.add(side.outside);
        share_nics(node, side, true, bytes, 1 + apart, self, self);
        share_nics(node, side, false, bytes, 1 + apart, self, self);
        for (int level = 0; level < top; ++level) {
            const std::uint32_t group = net_->group_of(node, level);
            if (group == no_group) continue;
            std::uint32_t& counted = inside_[static_cast<std::size_t>(level)][group];
            if ((counted & counted_mark) != 0) continue;  // once a group
            counted |= counted_mark;
            const auto i = static_cast<std::size_t>(level);
            share_link(up_[i][group], net_->capacity(level, group), bytes, 1 + apart, self, self);
            share_link(down_[i][group], net_->capacity(level, group), bytes, 1 + apart, self, self);
        }
    }
    forget_groups(nodes);
    return can;
}

link_loads::phase link_loads::finish() noexcept {
    for (const auto& t : touched_) {
        load& l = *t.what;
        const double time = us(l.bytes, t.gb_per_s);
        if (time > now_.transfer_us * (1 + 1e-12)) {
            now_.transfer_us = time;
            now_.gb_per_s = t.gb_per_s;
            now_.level = l.level;
            now_.from = l.from;
            now_.to = l.to;
        }
        l = load{};
    }
    touched_.clear();
    if (now_.broken) now_.transfer_us = std::numeric_limits<double>::infinity();
    return now_;
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "placement/node_side.hpp"

#include <algorithm>
#include <bit>

namespace placement {
namespace {

using topo::endpoint;
constexpr double without_limit = std::numeric_limits<double>::infinity();

void find_nics(const topo::node_class& hardware, node_sides::class_costs& costs) {
    costs.port.fill(without_limit);
    costs.nic_out.fill(without_limit);
    costs.nic_in.fill(without_limit);
    costs.rail.fill(0);
    const bool any_compute =
        std::any_of(hardware.nics.begin(), hardware.nics.end(), [](const auto& n) { return n.compute; });
    std::int16_t rail = 0;
    for (std::size_t i = 0; i < hardware.nics.size() && i < costs.port.size(); ++i) {
        costs.rail[i] = rail;
        if (hardware.nics[i].compute || !any_compute) ++rail;
        if (hardware.nics[i].gb_per_s) costs.port[i] = *hardware.nics[i].gb_per_s;
        double out = 0, in = 0;
        for (std::size_t g = 0; g < hardware.gpus.size() && g < topo::max_gpus_per_node; ++g) {
            if (costs.where.nic[g] != static_cast<std::int16_t>(i)) continue;
            if (costs.to_nic != nullptr) out = std::max(out, costs.to_nic->cells(g, i).gb_per_s);
            if (costs.from_nic != nullptr) in = std::max(in, costs.from_nic->cells(i, g).gb_per_s);
        }
        if (in == 0) in = out;
        costs.nic_out[i] = std::min(costs.port[i], out > 0 ? out : without_limit);
        costs.nic_in[i] = std::min(costs.port[i], in > 0 ? in : without_limit);
    }
}

}  // namespace

node_sides::node_sides(const topo::cluster& c, std::span<const subset_table> tables) : tables_(tables) {
    for (const auto& hardware : c.classes()) {
        class_costs costs;
        costs.where = locality::of(hardware);
        costs.gpu = hardware.best_layer(endpoint::gpu, endpoint::gpu);
        costs.to_nic = hardware.best_layer(endpoint::gpu, endpoint::nic);
        costs.from_nic = hardware.best_layer(endpoint::nic, endpoint::gpu);
        find_nics(hardware, costs);
        costs.ports = ports_of(hardware);
        classes_.push_back(std::move(costs));
    }
}

void node_sides::measure_inside(node_side& side) const noexcept {
    const class_costs& costs = classes_[side.hardware.value];
    std::array<std::uint8_t, topo::max_gpus_per_node> order;
    const std::size_t p = tables_[side.hardware.value].ring_order(side.gpus, order);
    side.ranks = static_cast<unsigned>(p);
    if (p < 2 || costs.gpu == nullptr) return;
    for (std::size_t i = 0; i < p; ++i) {
        const topo::cost& cell = costs.gpu->cells(order[i], order[(i + 1) % p]);
        node_side::hop& into = i + 1 < p ? side.path : side.close;
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
void node_sides::measure_outside(node_side& side) const noexcept {
    const class_costs& costs = classes_[side.hardware.value];
    std::uint64_t nics = 0;
    for (gpu_mask m = side.gpus; m != 0; m &= m - 1) {
        const auto nic = costs.where.nic[static_cast<std::size_t>(std::countr_zero(m))];
        if (nic >= 0) nics |= std::uint64_t{1} << nic;
    }
    side.nics = nics;
    side.rails = std::max(1u, static_cast<std::uint32_t>(std::popcount(nics)));
    for (; nics != 0; nics &= nics - 1) {
        const auto nic = static_cast<std::size_t>(std::countr_zero(nics));
        if (costs.rail[nic] >= 0) side.rail_set |= std::uint64_t{1} << costs.rail[nic];
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

node_side node_sides::measure(topo::class_id hardware, gpu_mask gpus) const noexcept {
    node_side side;
    side.hardware = hardware;
    side.gpus = gpus;
    measure_inside(side);
    measure_outside(side);
    return side;
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
#include "placement/patterns/step_model.hpp"

#include <algorithm>

namespace placement {
namespace {

double or_else(double given, double otherwise) noexcept { return given > 0 ? given : otherwise; }

constexpr double backward_share = 2.0 / 3.0;  // a backward pass costs two forward passes (Narayanan et al. 2021)
constexpr double exchanges_a_layer = 4;       // two forward, two backward (Shoeybi et al. 2019, 3)

}  // namespace

step_model::step_model(const topo::cluster& c, const fabric_index& net, const node_sides& sides)
    : loads_(c, net, sides) {
    std::size_t gpus = 0;
    for (std::size_t n = 0; n < c.nodes().size(); ++n) gpus += c.class_of(topo::node_id(n)).gpus.size();
    members_.reserve(gpus);
    shares_.reserve(c.nodes().size());
    slot_of_.assign(c.nodes().size(), 0);
    stamp_.assign(c.nodes().size(), 0);
}

void step_model::put(prediction& out, term_kind what, const exchange& e, double times,
                     double hidden_us) const noexcept {
    if (out.term_count == out.terms.size()) return;
    term& t = out.terms[out.term_count++];
    t = {};
    t.what = what;
    t.how = e.how;
    t.times = times;
    t.latency_us = times * e.latency_us;
    t.transfer_us = times * e.transfer_us;
    t.hidden_us = hidden_us;
    if (e.slowest.gb_per_s < std::numeric_limits<double>::infinity()) t.slowest_gb_per_s = e.slowest.gb_per_s;
    t.slowest_level = e.slowest.level;
    t.slowest_from = e.slowest.from;
    t.slowest_to = e.slowest.to;
    out.simulated |= e.used.simulated;
    out.estimated |= e.used.estimated;
}

void step_model::composite(prediction& out, const request& wanted) noexcept {
    const auto p = static_cast<std::uint32_t>(ranks_.size());
    const parallel_plan& plan = wanted.parallel;
    const std::uint32_t dp = plan.dp > 0 ? plan.dp : p / (plan.tp * plan.pp);
    const double bytes = wanted.message_bytes;
    // A pipeline is full for `microbatches` slots and fills and drains for pp − 1 more (Huang et al. 2019).
    const double slots = plan.microbatches + plan.pp - 1.0;
    const double layers = static_cast<double>(plan.layers) / plan.pp;
    if (plan.compute_us > 0) {
        exchange none;
        none.latency_us = plan.compute_us * slots / plan.microbatches;
        put(out, term_kind::compute, none, 1, 0);
    }
    if (plan.tp > 1) {
        group_along(plan.tp, 1);
        put(out, term_kind::tensor, allreduce(pattern::allreduce, or_else(plan.tp_bytes, bytes)),
            exchanges_a_layer * layers * slots, 0);
    }
    if (plan.ep > 1) {
        group_along(plan.ep, plan.tp);
        put(out, term_kind::expert, all_to_all(or_else(plan.ep_bytes, bytes)), exchanges_a_layer * layers * slots, 0);
    }
    if (plan.pp > 1) {
        group_along(plan.pp, plan.tp * dp);
        put(out, term_kind::pipeline, stage_edges(or_else(plan.pp_bytes, bytes)), 2 * slots, 0);
    }
    if (dp > 1) {
        group_along(dp, plan.tp);
        const exchange e = allreduce(pattern::allreduce, or_else(plan.dp_bytes, bytes));
        const double can_hide = plan.overlap * backward_share * plan.compute_us;
        put(out, term_kind::data, e, 1, std::min(e.us(), can_hide));
    }
}

void step_model::sum_up(prediction& out) noexcept {
    out.step_us = out.latency_us = out.transfer_us = 0;
    double greatest = 0;
    for (std::size_t i = 0; i < out.term_count; ++i) {
        const term& t = out.terms[i];
        out.step_us += t.shown_us();
        if (t.what == term_kind::compute) continue;
        const double whole = t.latency_us + t.transfer_us;
        const double shown = whole > 0 && t.hidden_us > 0 ? t.shown_us() / whole : 1;
        out.latency_us += shown * t.latency_us;
        out.transfer_us += shown * t.transfer_us;
        if (t.slowest_gb_per_s <= 0 && t.slowest_level != topo::unreachable_level) continue;
        if (whole <= greatest) continue;
        greatest = whole;
        out.slowest_gb_per_s = t.slowest_gb_per_s;
        out.slowest_level = t.slowest_level;
        out.slowest_from = t.slowest_from;
        out.slowest_to = t.slowest_to;
    }
}

prediction step_model::predict(const request& wanted, std::span<const rank_place> ranks) noexcept {
    prediction out;
    if (ranks.empty()) return out;
    ranks_ = ranks;
    loads_.number(ranks);
    const auto p = static_cast<std::uint32_t>(ranks.size());
    const double bytes = wanted.message_bytes;
    request as = wanted;
    switch (wanted.talks) {
        case pattern::ring_allreduce:
        case pattern::tree_allreduce:
        case pattern::hierarchical_allreduce:
        case pattern::in_network_allreduce:
        case pattern::allreduce:
            group_along(p, 1);
            put(out, term_kind::exchange, allreduce(wanted.talks, bytes), 1, 0);
            break;
        case pattern::reduce_scatter_all_gather:
            group_along(p, 1);
            put(out, term_kind::exchange, half_ring(bytes), 2, 0);
            break;
        case pattern::all_to_all:
            group_along(p, 1);
            put(out, term_kind::exchange, all_to_all(bytes), 1, 0);
            break;
        case pattern::point_to_point: put(out, term_kind::exchange, neighbours(bytes), 1, 0); break;
        case pattern::halo_exchange: put(out, term_kind::exchange, halo(grid_of(wanted.halo, p), bytes), 1, 0); break;
        case pattern::traffic_matrix: put(out, term_kind::exchange, matrix(*wanted.traffic), 1, 0); break;
        case pattern::pipeline:
            as.parallel.tp = as.parallel.ep = 1;
            as.parallel.pp = p;
            as.parallel.dp = 1;
            composite(out, as);
            break;
        case pattern::tensor_parallel:
            as.parallel.tp = p;
            as.parallel.pp = as.parallel.ep = as.parallel.dp = 1;
            composite(out, as);
            break;
        case pattern::data_parallel:
            as.parallel.tp = as.parallel.pp = as.parallel.ep = 1;
            as.parallel.dp = p;
            composite(out, as);
            break;
        case pattern::expert_parallel:
            group_along(p, 1);
            if (p > 1)
                put(out, term_kind::expert, all_to_all(or_else(wanted.parallel.ep_bytes, bytes)),
                    exchanges_a_layer * wanted.parallel.layers * wanted.parallel.microbatches, 0);
            break;
        case pattern::composite: composite(out, wanted); break;
    }
    sum_up(out);
    return out;
}

}  // namespace placement

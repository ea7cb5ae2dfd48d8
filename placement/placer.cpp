// SPDX-License-Identifier: Apache-2.0
#include "placement/placer.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

#include "placement/placer_state.hpp"

namespace placement {

std::string_view text_of(outcome o) noexcept {
    switch (o) {
        case outcome::placed: return "placed";
        case outcome::too_few_gpus:
            return "the allowed nodes do not have that many free GPUs; ask for fewer, allow more nodes or wait";
        case outcome::unreachable:
            return "enough GPUs are free, but only on nodes of fabrics that do not meet; ask for fewer nodes or wait";
        case outcome::no_segments:
            return "enough GPUs are free, but not in whole segments inside NVLink domains, blocks or leaves; ask for "
                   "smaller segments or fewer nodes, or wait";
        case outcome::bad_request:
            return "a job needs 1 or more nodes, 1 to 64 GPUs on each, a message size ≥ 0 and a layout that makes so "
                   "many "
                   "ranks; correct the request";
    }
    return "unknown outcome";
}

placer::state::state(const topo::cluster& c, const placer_options& chosen, std::vector<subset_table> built)
    : cluster(&c),
      options(chosen),
      tables(std::move(built)),
      net(c),
      sides(c, tables),
      predictions(c, net, sides),
      steps(c, net, sides),
      nodes(
          c, net,
          [this](topo::class_id id, gpu_mask free, unsigned k, job_kind kind) { return slowness(id, free, k, kind); }),
      choice(net, nodes),
      grid(net, nodes.node_count()) {
    allowed_.resize(nodes.word_count());
    eligible_.resize(nodes.word_count());
    narrowed_.resize(nodes.word_count());
    kept_.resize(nodes.word_count());
    trial_.reserve(nodes.node_count());
    std::size_t gpus = 0;
    for (std::size_t n = 0; n < nodes.node_count(); ++n) gpus += topo::count(nodes.all(static_cast<std::uint32_t>(n)));
    ranks_.reserve(gpus);
    if (chosen.mapped_ranks > 0) {
        mapped_.reserve(gpus);
        mapper_ = std::make_unique<rank_mapper>(
            c, net, sides, static_cast<std::uint32_t>(std::min<std::size_t>(gpus, chosen.mapped_ranks)));
    }
    spare_.nodes.reserve(nodes.node_count());
    spare_.runner_up_nodes.reserve(nodes.node_count());
    leaf_take_.emplace_back(net.groups(0), 0u);
    for (int level = 0; level < net.levels(); ++level)
        histogram_.emplace_back(net.groups(level) * (nodes.max_gpus() + 2), 0u);
}

// Above the size of the tables a search for every change would cost milliseconds: the class's first GPUs stand for all.
double placer::state::slowness(topo::class_id c, gpu_mask free, unsigned k, job_kind kind) noexcept {
    const subset_table& t = tables[c.value];
    const double bytes = options.subsets.message_bytes;
    const gpu_mask gpus = t.exact() ? t.best(free, k)->gpus : topo::first_gpus(k);
    const ring_cost inside = t.ring(gpus);
    if (kind == job_kind::one_node) return inside.time_us(k, bytes);
    return 1 / std::min(inside.gb_per_s, predictions.node_to_node_gb_per_s(c, gpus));
}

void placer::state::allow(node_filter allowed) noexcept {
    if (allowed.empty()) {
        std::fill(allowed_.begin(), allowed_.end(), ~std::uint64_t{0});
        return;
    }
    const std::size_t given = std::min(allowed.size(), allowed_.size());
    std::copy_n(allowed.begin(), given, allowed_.begin());
    std::fill(allowed_.begin() + static_cast<std::ptrdiff_t>(given), allowed_.end(), 0);
}

bool placer::state::late(const request& wanted) const noexcept {
    return wanted.deadline_us > 0 && options.now_us != nullptr && options.now_us() - started_us_ >= wanted.deadline_us;
}

outcome placer::state::choose(const request& wanted, node_filter allowed, answer& out) noexcept {
    out.nodes.clear();
    out.ranks.clear();
    out.runner_up_nodes.clear();
    out.has_runner_up = out.mapped_ranks = false;
    out.predicted = out.runner_up = {};
    out.damage = out.runner_up_damage = 0;
    const std::uint64_t ranks =
        wanted.gpus_total > 0 ? wanted.gpus_total : std::uint64_t{wanted.nodes} * wanted.gpus_per_node;
    const bool range = wanted.gpus_total == 0 && wanted.max_nodes > 0;
    if (range && wanted.max_nodes < wanted.nodes) return outcome::bad_request;
    if (!range && !fault_of(wanted, ranks).empty()) return outcome::bad_request;
    if (wanted.deadline_us > 0 && options.now_us != nullptr) started_us_ = options.now_us();
    filter_ = allowed;
    allow(allowed);
    outcome how = outcome::bad_request;
    if (wanted.gpus_total > 0) {
        how = choose_total(wanted, out);
    } else if (wanted.nodes > 0 && wanted.gpus_per_node > 0 && wanted.gpus_per_node <= topo::max_gpus_per_node) {
        how = range ? choose_range(wanted, out) : choose_exactly(wanted, wanted.nodes, wanted.gpus_per_node, out);
    }
    if (how == outcome::placed) {
        // choose_several has predicted its own answer; the parts of a job by total are put together after it.
        if (wanted.gpus_total > 0 || out.nodes.size() < 2) out.predicted = time_of(wanted, out.nodes);
        out.damage = damage_of(out.nodes);
        if (wanted.details) arrange_both(wanted, out);
    } else {
        out.nodes.clear();
        out.runner_up_nodes.clear();
        out.has_runner_up = false;
        out.predicted = {};
    }
    return how;
}

// Neighbours are mostly alike (one class, all free): what the last one got is remembered, here and in damage_of.
void placer::state::pick_gpus(std::vector<node_share>& shares, unsigned gpus) const noexcept {
    topo::class_id hardware;
    gpu_mask free = 0, taken = 0;
    for (auto& s : shares) {
        const auto its = nodes.hardware(s.node.value);
        const gpu_mask its_free = nodes.free(s.node.value);
        if (its != hardware || its_free != free) {
            const auto best = tables[its.value].best(its_free, gpus);
            hardware = its;
            free = its_free;
            taken = best ? best->gpus : 0;
        }
        s.gpus = taken;
    }
}

double placer::state::damage_of(std::span<const node_share> shares) noexcept {
    if (shares.empty()) return 0;
    auto& take = leaf_take_.front();
    double inside = 0;
    std::uint32_t leaves = 0;
    topo::class_id hardware;
    gpu_mask free = 0, taken = 0;
    double damage = 0;
    for (const auto& s : shares) {
        const std::uint32_t n = s.node.value;
        if (nodes.hardware(n) != hardware || (nodes.free(n) | s.gpus) != free || s.gpus != taken) {
            hardware = nodes.hardware(n);
            free = nodes.free(n) | s.gpus;
            taken = s.gpus;
            damage = tables[hardware.value].score(taken, free).damage;
        }
        inside += damage;
        // A node of which a part stays free leaves its leaf broken, so it does not count as used up.
        const bool used_up = (nodes.free(n) & ~s.gpus) == 0;
        std::uint32_t& here = take[net.group_of(n, 0)];
        leaves += here == 0 ? 1u : 0u;
        here += used_up ? 2u : 1u;
    }
    std::uint32_t broken = 0;
    for (const auto& s : shares) {
        const std::uint32_t leaf = net.group_of(s.node.value, 0);
        if (take[leaf] == 0) continue;
        broken += nodes.untouched(0, leaf) && take[leaf] != 2 * net.nodes_in(0, leaf) ? 1u : 0u;
        take[leaf] = 0;
    }
    return 0.5 * inside / static_cast<double>(shares.size()) + 0.5 * broken / leaves;
}

prediction placer::state::time_of(const request& wanted, std::span<const node_share> shares) noexcept {
    if (wanted.talks == pattern::ring_allreduce) return predictions.predict(shares, wanted.message_bytes);
    place_ranks(shares, ranks_);
    return steps.predict(wanted, ranks_);
}

void placer::state::place_ranks(std::span<const node_share> shares, std::vector<rank_place>& ranks) const noexcept {
    ranks.clear();
    std::array<std::uint8_t, topo::max_gpus_per_node> order;
    for (const auto& s : shares) {
        const topo::class_id id = nodes.hardware(s.node.value);
        const auto& gpus = cluster->classes()[id.value].gpus;
        const std::size_t p = tables[id.value].ring_order(s.gpus, order);
        for (std::size_t i = 0; i < p; ++i) {
            const std::uint8_t g = order[i];
            ranks.push_back(
                {s.node, g, sides.costs(id).where.nic[g],
                 sides.costs(id).where.numa[g] < 0 ? std::int16_t{-1} : static_cast<std::int16_t>(gpus[g].numa)});
        }
    }
}

void placer::state::complete(const request& wanted, answer& out) noexcept {
    out.predicted = time_of(wanted, out.nodes);
    out.damage = damage_of(out.nodes);
    place_ranks(out.nodes, out.ranks);
    out.mapped_ranks = arrange(wanted, out.ranks, out.predicted);
}

// Mapped ranks are taken only where the step gets faster.
bool placer::state::arrange(const request& wanted, std::vector<rank_place>& ranks, prediction& time) noexcept {
    if (mapper_ == nullptr || !wanted.map_ranks) return false;
    bool better = false;
    const std::size_t candidates = mapper_->prepare(wanted, ranks);
    for (std::size_t i = 0; i < candidates; ++i) {
        if (!mapper_->candidate(i, mapped_)) continue;
        const prediction trial = steps.predict(wanted, mapped_);
        if (trial.step_us >= time.step_us * (1 - 1e-9)) continue;
        time = trial;
        ranks.assign(mapped_.begin(), mapped_.end());
        better = true;
    }
    return better;
}

// The sets of nodes were compared with ranks in order: the second may be the better one when ranks are mapped.
void placer::state::arrange_both(const request& wanted, answer& out) noexcept {
    place_ranks(out.nodes, out.ranks);
    out.mapped_ranks = arrange(wanted, out.ranks, out.predicted);
    if (!out.has_runner_up || !rank_mapper::helps(wanted)) return;
    place_ranks(out.runner_up_nodes, ranks_);
    const bool mapped = arrange(wanted, ranks_, out.runner_up);
    if (out.runner_up.step_us * (1 + options.damage_weight) >= out.predicted.step_us) return;
    std::swap(out.nodes, out.runner_up_nodes);
    std::swap(out.predicted, out.runner_up);
    std::swap(out.damage, out.runner_up_damage);
    out.ranks.assign(ranks_.begin(), ranks_.end());
    out.mapped_ranks = mapped;
}

placer::placer(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
placer::~placer() = default;
placer::placer(placer&&) noexcept = default;
placer& placer::operator=(placer&&) noexcept = default;

topo::result<placer> placer::make(const topo::cluster& c, const placer_options& options) {
    if (!std::isfinite(options.damage_weight) || options.damage_weight < 0)
        return topo::error{topo::errc::bad_input, "damage_weight", "must be finite and not negative",
                           "use a small share such as 0.02"};
    std::vector<subset_table> tables;
    for (const auto& hardware : c.classes()) {
        auto built = subset_table::build(hardware, options.subsets);
        if (!built) return built.failure();
        tables.push_back(std::move(*built));
    }
    return placer(std::make_unique<state>(c, options, std::move(tables)));
}

void placer::set_free(node_id node, gpu_mask free) noexcept {
    if (node.value < state_->nodes.node_count()) state_->nodes.set_free(node.value, free);
}

gpu_mask placer::free(node_id node) const noexcept {
    return node.value < state_->nodes.node_count() ? state_->nodes.free(node.value) : 0;
}

outcome placer::choose(const request& wanted, node_filter allowed, answer& out) const noexcept {
    return state_->choose(wanted, allowed, out);
}

void placer::predict(const request& wanted, answer& io) const noexcept { state_->complete(wanted, io); }

prediction placer::predict_ranks(const request& wanted, std::span<const rank_place> ranks) const noexcept {
    if (!fault_of(wanted, ranks.size()).empty()) return {};
    return state_->steps.predict(wanted, ranks);
}

const subset_table& placer::table(topo::class_id c) const noexcept { return state_->tables[c.value]; }

}  // namespace placement

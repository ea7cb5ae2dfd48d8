// SPDX-License-Identifier: Apache-2.0
// Jobs of several nodes with the same number of GPUs each: a few sets of nodes by structure, the best by predicted
// time.
#include <algorithm>
#include <bit>
#include <tuple>

#include "placement/placer_state.hpp"

namespace placement {
namespace {

std::uint32_t population(std::span<const std::uint64_t> words) noexcept {
    std::uint32_t n = 0;
    for (const auto w : words) n += static_cast<std::uint32_t>(std::popcount(w));
    return n;
}

}  // namespace

// narrowed_ = the eligible nodes of a recipe; false when they are too few, or not fewer than without it.
bool placer::state::narrow(unsigned tier, topo::class_id only, unsigned gpus, std::uint32_t wanted) noexcept {
    narrowed_ = eligible_;
    if (tier + 1 < tier_count) {
        const node_index::words good = nodes.tier(job_kind::several_nodes, gpus, tier);
        for (std::size_t w = 0; w < good.size(); ++w) narrowed_[w] &= good[w];
    }
    if (only.valid()) {
        const node_index::words same = nodes.of_class(only);
        for (std::size_t w = 0; w < same.size(); ++w) narrowed_[w] &= same[w];
    }
    return population(narrowed_) >= wanted;
}

// Back to the nodes and counts that a scored plan was made from.
void placer::state::recount(const scored& s, unsigned gpus, std::uint32_t wanted) noexcept {
    narrow(s.tier, s.only, gpus, wanted);
    choice.count(narrowed_, s.plan.key.level);
}

// The plan's nodes and GPUs into trial_, and what they are worth.
void placer::state::score(scored& s, const request& wanted, std::uint32_t count, unsigned gpus) noexcept {
    trial_.clear();
    choice.collect(s.plan, narrowed_, gpus, count, trial_);
    pick_gpus(trial_, gpus);
    s.mixed = std::any_of(trial_.begin(), trial_.end(), [this](const node_share& n) {
        return nodes.hardware(n.node.value) != nodes.hardware(trial_.front().node.value);
    });
    s.time = time_of(wanted, trial_);
}

outcome placer::state::choose_several(const request& wanted, std::uint32_t count, unsigned gpus, answer& out) noexcept {
    if (gpus > nodes.max_gpus()) return outcome::too_few_gpus;
    const node_index::words enough = nodes.at_least(gpus);
    for (std::size_t w = 0; w < enough.size(); ++w) eligible_[w] = enough[w] & allowed_[w];
    const std::uint32_t total = population(eligible_);
    if (total < count) return outcome::too_few_gpus;

    scored_count_ = 0;
    const auto consider = [&](unsigned tier, topo::class_id only) {
        scored s;
        s.tier = tier;
        s.only = only;
        s.plan = choice.find(narrowed_, gpus, count);
        if (!s.plan.found()) return;
        if (scored_count_ > 0 && s.plan.key.level != scored_.front().plan.key.level) return;
        score(s, wanted, count, gpus);
        scored_[scored_count_++] = s;
    };
    narrowed_ = eligible_;
    consider(tier_count - 1, {});
    if (scored_count_ == 0) return outcome::unreachable;
    std::uint32_t seen = total;
    const bool all_alike = narrow(0, {}, gpus, count) && population(narrowed_) == total;
    for (unsigned t = tier_count - 1;
         !all_alike && t-- > 0 && !late(wanted);) {  // from loose to strict: each a subset of the last
        if (!narrow(t, {}, gpus, count)) break;
        const std::uint32_t now = population(narrowed_);
        if (now != seen) consider(t, {});
        seen = now;
    }
    const bool any_mixed = std::any_of(scored_.begin(), scored_.begin() + static_cast<std::ptrdiff_t>(scored_count_),
                                       [](const scored& s) { return s.mixed; });
    for (std::uint32_t c = 0; any_mixed && c < cluster->classes().size() && scored_count_ < max_scored; ++c)
        if (!late(wanted) && narrow(tier_count - 1, topo::class_id(c), gpus, count))
            consider(tier_count - 1, topo::class_id(c));

    double fastest = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < scored_count_; ++i) fastest = std::min(fastest, scored_[i].time.step_us);
    const double within = fastest * (1 + options.damage_weight);
    std::size_t won = scored_count_;
    for (std::size_t i = 0; i < scored_count_; ++i) {
        if (scored_[i].time.step_us > within) continue;
        if (won == scored_count_ ||
            std::tuple(scored_[i].mixed, scored_[i].plan.key, scored_[i].time.step_us) <
                std::tuple(scored_[won].mixed, scored_[won].plan.key, scored_[won].time.step_us))
            won = i;
    }
    if (won + 1 != scored_count_) {  // trial_ still holds the last one
        recount(scored_[won], gpus, count);
        score(scored_[won], wanted, count, gpus);
    }
    out.nodes.assign(trial_.begin(), trial_.end());
    out.predicted = scored_[won].time;
    if (wanted.details && !late(wanted)) find_second(wanted, count, gpus, won, out);
    return outcome::placed;
}

void placer::state::keep_second(const scored& s, answer& out) noexcept {
    if (out.has_runner_up && out.runner_up.step_us <= s.time.step_us) return;
    if (trial_.size() == out.nodes.size() &&
        std::equal(trial_.begin(), trial_.end(), out.nodes.begin(),
                   [](const node_share& a, const node_share& b) { return a.node == b.node && a.gpus == b.gpus; }))
        return;
    out.has_runner_up = true;
    out.runner_up_nodes.assign(trial_.begin(), trial_.end());
    out.runner_up = s.time;
    out.runner_up_damage = damage_of(trial_);
}

// The fastest of: the other scored sets, the best set without any node of the answer, and without its last node.
void placer::state::find_second(const request& wanted, std::uint32_t count, unsigned gpus, std::size_t won,
                                answer& out) noexcept {
    for (std::size_t i = 0; i < scored_count_; ++i) {
        if (i == won) continue;
        recount(scored_[i], gpus, count);
        score(scored_[i], wanted, count, gpus);
        keep_second(scored_[i], out);
    }
    for (const bool all : {true, false}) {
        if (out.has_runner_up && !all) break;
        narrow(scored_[won].tier, scored_[won].only, gpus, count);
        for (const auto& n : all ? std::span<const node_share>(out.nodes) : std::span(&out.nodes.back(), 1))
            narrowed_[n.node.value / 64] &= ~(std::uint64_t{1} << (n.node.value % 64));
        scored other;
        if (population(narrowed_) < count) continue;
        other.plan = choice.find(narrowed_, gpus, count);
        if (!other.plan.found()) continue;
        score(other, wanted, count, gpus);
        keep_second(other, out);
    }
    if (out.has_runner_up) return;
    const node_share& last = out.nodes.back();  // no other nodes: other GPUs of the last one
    const auto other =
        tables[nodes.hardware(last.node.value).value].runner_up(nodes.free(last.node.value), gpus, last.gpus);
    if (!other) return;
    trial_.assign(out.nodes.begin(), out.nodes.end());
    trial_.back().gpus = other->gpus;
    scored same;
    same.time = time_of(wanted, trial_);
    keep_second(same, out);
}

}  // namespace placement

// SPDX-License-Identifier: Apache-2.0
// Jobs of several nodes with the same number of GPUs each: a few sets of nodes by structure, the best by predicted
// time.
#include <algorithm>
#include <bit>
#include <tuple>

#include "placement/placer_state.hpp"

namespace placement {
namespace {

constexpr std::uint32_t most_counts_tried = 1 << 16;  // of a range that does not fit, to tell why

std::uint32_t population(std::span<const std::uint64_t> words) noexcept {
    std::uint32_t n = 0;
    for (const auto w : words) n += static_cast<std::uint32_t>(std::popcount(w));
    return n;
}

}  // namespace

// kept_ = the last wholly free nodes of each leaf that are to be kept back.
void placer::state::keep_spares() noexcept {
    std::fill(kept_.begin(), kept_.end(), 0);
    const node_index::words whole = nodes.whole();
    for (std::uint32_t leaf = 0; leaf < net.groups(0); ++leaf) {
        std::uint32_t left = net.spare_nodes();
        const auto runs = net.runs(leaf);
        for (std::size_t i = runs.size(); i-- > 0 && left > 0;)
            for (std::uint64_t bits = whole[runs[i].word] & allowed_[runs[i].word] & runs[i].mask;
                 bits != 0 && left > 0; --left) {
                const std::uint64_t last = std::uint64_t{1} << (63 - std::countl_zero(bits));
                kept_[runs[i].word] |= last;
                bits &= ~last;
            }
    }
}

// narrowed_ = the eligible nodes of a recipe; false when they are too few.
bool placer::state::narrow(const recipe& from, unsigned gpus, std::uint32_t wanted) noexcept {
    narrowed_ = eligible_;
    const auto keep = [this](auto&& which) {
        for (std::size_t w = 0; w < narrowed_.size(); ++w) narrowed_[w] &= which(w);
    };
    if (!from.spares && net.spare_nodes() > 0) keep([this](std::size_t w) { return ~kept_[w]; });
    if (from.tier + 1 < tier_count)
        keep([good = nodes.tier(job_kind::several_nodes, gpus, from.tier)](std::size_t w) { return good[w]; });
    if (from.only.valid()) keep([same = nodes.of_class(from.only)](std::size_t w) { return same[w]; });
    if (from.all_use != 0)
        for (std::size_t w = 0; w < narrowed_.size(); ++w)
            for (std::uint64_t bits = narrowed_[w]; bits != 0; bits &= bits - 1) {
                const auto n = static_cast<std::uint32_t>(w * 64 + static_cast<std::size_t>(std::countr_zero(bits)));
                if ((nodes.free(n) & from.all_use) != from.all_use) narrowed_[w] &= ~(bits & (~bits + 1));
            }
    return population(narrowed_) >= wanted;
}

// Back to the nodes and counts that a scored plan was made from.
void placer::state::recount(const scored& s, unsigned gpus, std::uint32_t wanted) noexcept {
    narrow(s.from, gpus, wanted);
    if (!s.grid.found()) choice.count(narrowed_, s.plan.key.level);
}

// The plan's nodes and GPUs into trial_, and what they are worth.
void placer::state::score(scored& s, const request& wanted, std::uint32_t count, unsigned gpus) noexcept {
    trial_.clear();
    if (s.grid.found()) {
        grid.collect(s.grid, narrowed_, count, trial_);
    } else {
        choice.collect(s.plan, narrowed_, gpus, count, trial_);
        if (wanted.segment_nodes < 2) grid.arrange(trial_);
    }
    if (s.from.all_use != 0)
        for (auto& n : trial_) n.gpus = s.from.all_use;
    else
        pick_gpus(trial_, gpus);
    s.crosses = net.form() == topo::fabric_form::rail_optimised &&
                std::any_of(trial_.begin(), trial_.end(),
                            [this](const node_share& n) { return n.gpus != trial_.front().gpus; });
    s.mixed = std::any_of(trial_.begin(), trial_.end(), [this](const node_share& n) {
        return nodes.hardware(n.node.value) != nodes.hardware(trial_.front().node.value);
    });
    s.spares = s.from.spares && net.spare_nodes() > 0 &&
               std::any_of(trial_.begin(), trial_.end(), [this](const node_share& n) {
                   return (kept_[n.node.value / 64] >> (n.node.value % 64)) & 1;
               });
    s.time = time_of(wanted, trial_);
}

// Scores the best set of narrowed_, which `from` made; false when there is none.
bool placer::state::consider(const recipe& from, const request& wanted, std::uint32_t count, unsigned gpus) noexcept {
    if (scored_count_ == max_by_quality) return true;
    scored& s = scored_[scored_count_];
    s = {};
    s.from = from;
    s.plan = choice.find(narrowed_, gpus, count);
    if (!s.plan.found()) return false;
    score(s, wanted, count, gpus);
    ++scored_count_;
    return true;
}

// The same once more without the nodes of lower quality, and for each class alone.
void placer::state::consider_better(const recipe& base, const request& wanted, std::uint32_t count,
                                    unsigned gpus) noexcept {
    recipe from = base;
    if (!from.spares) narrow(from, gpus, count);
    const std::uint32_t total = population(from.spares ? eligible_ : narrowed_);
    std::uint32_t seen = total;
    from.tier = 0;
    const bool all_alike = narrow(from, gpus, count) && population(narrowed_) == total;
    for (unsigned t = tier_count - 1; !all_alike && t-- > 0 && !late(wanted);) {  // each a subset of the last
        from.tier = t;
        if (!narrow(from, gpus, count)) break;
        const std::uint32_t now = population(narrowed_);
        if (now != seen) consider(from, wanted, count, gpus);
        seen = now;
    }
    const bool any_mixed = std::any_of(scored_.begin(), scored_.begin() + static_cast<std::ptrdiff_t>(scored_count_),
                                       [](const scored& s) { return s.mixed; });
    from = base;
    for (std::uint32_t c = 0; any_mixed && c < cluster->classes().size() && scored_count_ < max_by_quality; ++c) {
        from.only = topo::class_id(c);
        if (!late(wanted) && narrow(from, gpus, count)) consider(from, wanted, count, gpus);
    }
}

// Of those within λ of the fastest: spares kept, one class, one set of rails, the better structure.
std::size_t placer::state::best_scored() const noexcept {
    double fastest = std::numeric_limits<double>::infinity();
    int lowest = net.levels();
    for (std::size_t i = 0; i < scored_count_; ++i) lowest = std::min(lowest, scored_[i].plan.key.level);
    const auto time = [&](const scored& s) {
        return s.time.step_us * (s.plan.key.level > lowest && !grid.on_grid() ? 1 + level_gain : 1);
    };
    for (std::size_t i = 0; i < scored_count_; ++i) fastest = std::min(fastest, time(scored_[i]));
    const double within = fastest * (1 + options.damage_weight);
    const auto rank = [](const scored& s) {
        return std::tuple(s.spares, s.mixed, s.plan.key.level, s.crosses, s.plan.key, s.time.step_us);
    };
    std::size_t won = scored_count_;
    for (std::size_t i = 0; i < scored_count_; ++i)
        if (time(scored_[i]) <= within && (won == scored_count_ || rank(scored_[i]) < rank(scored_[won]))) won = i;
    return won;
}

outcome placer::state::choose_several(const request& wanted, std::uint32_t count, unsigned gpus, answer& out) noexcept {
    if (gpus > nodes.max_gpus()) return outcome::too_few_gpus;
    const node_index::words enough = nodes.at_least(gpus);
    for (std::size_t w = 0; w < enough.size(); ++w) eligible_[w] = enough[w] & allowed_[w];
    if (population(eligible_) < count) return outcome::too_few_gpus;
    const std::uint32_t segment = std::max(1u, wanted.segment_nodes);
    choice.set_segment(segment);
    scored_count_ = 0;
    recipe base;
    base.spares = net.spare_nodes() == 0;
    if (!base.spares) {
        keep_spares();
        base.spares = !narrow(base, gpus, count) || !consider(base, wanted, count, gpus);
    }
    if (scored_count_ == 0 || !late(wanted)) {
        recipe all;
        all.spares = true;
        narrow(all, gpus, count);
        if (scored_count_ == 0 || net.spare_nodes() > 0) consider(all, wanted, count, gpus);
    }
    if (scored_count_ == 0) {
        if (segment == 1) return outcome::unreachable;
        choice.set_segment(1);
        return choice.find(eligible_, gpus, count).found() ? outcome::no_segments : outcome::unreachable;
    }
    consider_better(base, wanted, count, gpus);
    consider_shapes(wanted, count, gpus);
    const std::size_t won = best_scored();
    if (won + 1 != scored_count_) {  // trial_ still holds the last one
        recount(scored_[won], gpus, count);
        score(scored_[won], wanted, count, gpus);
    }
    out.nodes.assign(trial_.begin(), trial_.end());
    out.predicted = scored_[won].time;
    if (wanted.details && !late(wanted)) find_second(wanted, count, gpus, won, out);
    return outcome::placed;
}

outcome placer::state::choose_exactly(const request& wanted, std::uint32_t count, unsigned gpus, answer& out) noexcept {
    if (wanted.segment_nodes > 0 && count % wanted.segment_nodes != 0) return outcome::bad_request;
    return count == 1 ? choose_one(wanted, gpus, out) : choose_several(wanted, count, gpus, out);
}

// The most nodes that fit and that the pattern has a use for.
outcome placer::state::choose_range(const request& wanted, answer& out) noexcept {
    const unsigned gpus = wanted.gpus_per_node;
    const std::uint32_t segment = std::max(1u, wanted.segment_nodes);
    std::uint32_t most = 0;
    if (gpus <= nodes.max_gpus()) {
        const node_index::words enough = nodes.at_least(gpus);
        for (std::size_t w = 0; w < enough.size(); ++w) eligible_[w] = enough[w] & allowed_[w];
        choice.set_segment(segment);
        most = choice.most(eligible_);
    }
    const auto usable = [&](std::uint32_t n) {
        return n % segment == 0 && fault_of(wanted, std::uint64_t{n} * gpus).empty();
    };
    for (std::uint32_t n = std::min(most, wanted.max_nodes); n >= wanted.nodes; --n)
        if (usable(n)) return choose_exactly(wanted, n, gpus, out);
    for (std::uint32_t n = wanted.nodes, tried = 0; n <= wanted.max_nodes && tried < most_counts_tried; ++n, ++tried)
        if (usable(n)) return choose_exactly(wanted, n, gpus, out);  // says why it does not fit
    return outcome::bad_request;
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
        narrow(scored_[won].from, gpus, count);
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

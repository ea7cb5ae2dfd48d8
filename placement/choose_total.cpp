// SPDX-License-Identifier: Apache-2.0
// Jobs that name only how many GPUs they want in all: the fewest nodes that hold them, under the lowest level.
#include <algorithm>
#include <bit>

#include "placement/placer_state.hpp"

namespace placement {

void placer::state::fill_histogram() noexcept {
    const std::size_t columns = nodes.max_gpus() + 2;
    for (std::uint32_t leaf = 0; leaf < net.groups(0); ++leaf)
        for (unsigned k = 1; k < columns; ++k) {
            std::uint32_t n = 0;
            const node_index::words bits = nodes.at_least(k);
            for (const auto& run : net.runs(leaf))
                n += static_cast<std::uint32_t>(std::popcount(bits[run.word] & allowed_[run.word] & run.mask));
            histogram_[0][leaf * columns + k] = n;
        }
    for (int level = 1; level < net.levels(); ++level)
        for (std::uint32_t g = 0; g < net.groups(level); ++g)
            for (unsigned k = 1; k < columns; ++k) {
                std::uint32_t n = 0;
                for (const auto c : net.children(level, g))
                    n += histogram_[static_cast<std::size_t>(level) - 1][c * columns + k];
                histogram_[static_cast<std::size_t>(level)][g * columns + k] = n;
            }
}

// The fewest nodes of the group that have `gpus` free together; no_group when all of them do not.
std::uint32_t placer::state::fewest_nodes(int level, std::uint32_t group, std::uint32_t gpus) const noexcept {
    const std::size_t columns = nodes.max_gpus() + 2;
    const std::uint32_t* at_least = histogram_[static_cast<std::size_t>(level)].data() + group * columns;
    std::uint32_t used = 0;
    for (unsigned k = nodes.max_gpus(); k > 0; --k) {
        const std::uint32_t here = at_least[k] - at_least[k + 1];
        if (std::uint64_t{here} * k >= gpus) return used + (gpus + k - 1) / k;
        used += here;
        gpus -= here * k;
    }
    return no_group;
}

// How many nodes the job gets, and allowed_ cut down to the group they come from.
outcome placer::state::find_group(std::uint32_t gpus, std::uint32_t min, std::uint32_t max,
                                  std::uint32_t& count) noexcept {
    fill_histogram();
    const std::size_t columns = nodes.max_gpus() + 2;
    std::uint64_t all = 0;
    for (std::uint32_t leaf = 0; leaf < net.groups(0); ++leaf)
        for (unsigned k = 1; k < columns; ++k) all += histogram_[0][leaf * columns + k];
    if (all < gpus) return outcome::too_few_gpus;

    const auto needs = [&](int level, std::uint32_t g) {
        const std::uint32_t fewest = fewest_nodes(level, g, gpus);
        const std::uint32_t usable = histogram_[static_cast<std::size_t>(level)][g * columns + 1];
        return fewest == no_group || usable < min ? no_group : std::max(fewest, min);
    };
    count = no_group;
    for (int level = 0; level < net.levels(); ++level)
        for (std::uint32_t g = 0; g < net.groups(level); ++g) count = std::min(count, needs(level, g));
    if (count == no_group) return outcome::unreachable;
    if (count > max) return outcome::too_few_gpus;
    for (int level = 0; level < net.levels(); ++level) {
        std::uint32_t best = no_group;
        const auto& histogram = histogram_[static_cast<std::size_t>(level)];
        for (std::uint32_t g = 0; g < net.groups(level); ++g)
            if (needs(level, g) == count &&
                (best == no_group || histogram[g * columns + 1] < histogram[best * columns + 1]))
                best = g;
        if (best == no_group) continue;
        for (std::uint32_t n = 0; n < nodes.node_count(); ++n)
            if (net.group_of(n, level) != best) allowed_[n / 64] &= ~(std::uint64_t{1} << (n % 64));
        return outcome::placed;
    }
    return outcome::unreachable;
}

void placer::state::sort_by_fabric(std::vector<node_share>& shares) noexcept {
    if (grid.on_grid()) return grid.arrange(shares);
    std::sort(shares.begin(), shares.end(), [this](const node_share& a, const node_share& b) {
        for (int level = net.levels(); level-- > 0;) {
            const std::uint32_t left = net.group_of(a.node.value, level);
            const std::uint32_t right = net.group_of(b.node.value, level);
            if (left != right) return left < right;
        }
        return a.node < b.node;
    });
}

// All nodes but the last give the same number and the last the rest, from the tightest node that has it.
bool placer::state::place_fully(const request& wanted, std::uint32_t count, answer& out) noexcept {
    std::uint32_t each = nodes.max_gpus();
    std::uint32_t with = 0;
    for (; each > 0; --each) {
        with = 0;
        const node_index::words bits = nodes.at_least(each);
        for (std::size_t w = 0; w < bits.size(); ++w)
            with += static_cast<std::uint32_t>(std::popcount(bits[w] & allowed_[w]));
        if (with > 0) break;
    }
    const std::uint32_t full = (wanted.gpus_total - 1) / each;  // the last node has 1 … each
    if (full + 1 != count || full == 0) return false;
    const std::uint32_t rest = wanted.gpus_total - full * each;
    request part = wanted;
    part.gpus_total = 0;
    if (rest == each) return with >= count && choose_several(part, count, each, out) == outcome::placed;
    if (with < full) return false;
    part.details = false;
    if ((full == 1 ? choose_one(part, each, out) : choose_several(part, full, each, out)) != outcome::placed)
        return false;
    for (const auto& s : out.nodes) allowed_[s.node.value / 64] &= ~(std::uint64_t{1} << (s.node.value % 64));
    const bool placed = choose_one(part, rest, out) == outcome::placed;
    for (const auto& s : out.nodes) allowed_[s.node.value / 64] |= std::uint64_t{1} << (s.node.value % 64);
    if (!placed) return false;
    sort_by_fabric(out.nodes);
    return true;
}

// When more nodes are asked for than needed: equal shares, the first few one more.
bool placer::state::place_evenly(const request& wanted, std::uint32_t count, answer& out) noexcept {
    const std::uint32_t each = wanted.gpus_total / count;
    const std::uint32_t more = wanted.gpus_total % count;
    request part = wanted;
    part.gpus_total = 0;
    part.details = more == 0 && wanted.details;
    const std::uint32_t most = each + (more > 0 ? 1u : 0u);
    if (most > topo::max_gpus_per_node) return false;
    if ((count == 1 ? choose_one(part, most, out) : choose_several(part, count, most, out)) != outcome::placed)
        return false;
    for (std::size_t i = more; more > 0 && i < out.nodes.size(); ++i) {
        node_share& s = out.nodes[i];
        s.gpus = tables[nodes.hardware(s.node.value).value].best(nodes.free(s.node.value), each)->gpus;
    }
    return true;
}

// Unequal nodes: one GPU on each of those with the most free, the rest as far as each goes, in that order.
void placer::state::place_anyhow(std::uint32_t gpus, std::uint32_t count, answer& out) noexcept {
    out.nodes.clear();
    for (unsigned k = nodes.max_gpus(); k > 0 && out.nodes.size() < count; --k)
        for (std::uint32_t w = 0; w < allowed_.size(); ++w)
            for (std::uint64_t b = nodes.at_least(k)[w] & ~nodes.at_least(k + 1)[w] & allowed_[w];
                 b != 0 && out.nodes.size() < count; b &= b - 1)
                out.nodes.push_back({node_id(w * 64u + static_cast<std::uint32_t>(std::countr_zero(b))), 0});
    std::uint32_t left = gpus;
    for (std::size_t i = 0; i < out.nodes.size(); ++i) {
        node_share& s = out.nodes[i];
        const auto after = static_cast<std::uint32_t>(out.nodes.size() - i - 1);
        const std::uint32_t here = std::min(topo::count(nodes.free(s.node.value)), left - after);
        s.gpus = tables[nodes.hardware(s.node.value).value].best(nodes.free(s.node.value), here)->gpus;
        left -= here;
    }
    sort_by_fabric(out.nodes);
}

// Equal shares on the fewest nodes that come in whole segments. False without segments.
bool placer::state::place_in_segments(const request& wanted, answer& out, outcome& how) noexcept {
    const std::uint32_t segment = wanted.segment_nodes;
    if (segment == 0 || nodes.max_gpus() == 0) return false;
    const std::uint32_t least =
        std::max(std::max(1u, wanted.min_nodes), (wanted.gpus_total - 1) / nodes.max_gpus() + 1);
    const std::uint32_t most = std::min<std::uint32_t>(wanted.max_nodes > 0 ? wanted.max_nodes : no_group - 1,
                                                       static_cast<std::uint32_t>(nodes.node_count()));
    request part = wanted;
    part.gpus_total = 0;
    how = outcome::too_few_gpus;
    for (std::uint64_t n = (std::uint64_t{least} + segment - 1) / segment * segment; n <= most; n += segment) {
        const auto count = static_cast<std::uint32_t>(n);
        if (wanted.gpus_total % count != 0) continue;
        const outcome now = choose_exactly(part, count, wanted.gpus_total / count, out);
        if (now == outcome::placed || how == outcome::too_few_gpus) how = now;
        if (now == outcome::placed) break;
    }
    return true;
}

void placer::state::other_gpus(const request& wanted, answer& out) noexcept {
    for (std::size_t i = out.nodes.size(); i-- > 0 && !out.has_runner_up;) {
        const node_share& s = out.nodes[i];
        const auto other =
            tables[nodes.hardware(s.node.value).value].runner_up(nodes.free(s.node.value), topo::count(s.gpus), s.gpus);
        if (!other) continue;
        out.has_runner_up = true;
        out.runner_up_nodes.assign(out.nodes.begin(), out.nodes.end());
        out.runner_up_nodes[i].gpus = other->gpus;
        out.runner_up = time_of(wanted, out.runner_up_nodes);
        out.runner_up_damage = damage_of(out.runner_up_nodes);
    }
}

// The job once more without its first or its last node.
void placer::state::other_nodes(const request& wanted, answer& out) noexcept {
    request quiet = wanted;
    quiet.details = false;
    for (const node_id without : {out.nodes.front().node, out.nodes.back().node}) {
        allow(filter_);
        allowed_[without.value / 64] &= ~(std::uint64_t{1} << (without.value % 64));
        spare_.nodes.clear();
        if (place_total(quiet, spare_) != outcome::placed) continue;
        const prediction time = time_of(wanted, spare_.nodes);
        if (out.has_runner_up && out.runner_up.step_us <= time.step_us) continue;
        out.has_runner_up = true;
        out.runner_up_nodes.assign(spare_.nodes.begin(), spare_.nodes.end());
        out.runner_up = time;
        out.runner_up_damage = damage_of(spare_.nodes);
    }
}

outcome placer::state::place_total(const request& wanted, answer& out) noexcept {
    const std::uint32_t min = std::max(1u, wanted.min_nodes);
    const std::uint32_t max = wanted.max_nodes > 0 ? wanted.max_nodes : no_group - 1;
    if (outcome segmented = outcome::placed; place_in_segments(wanted, out, segmented)) return segmented;
    if (min == 1 && wanted.gpus_total <= nodes.max_gpus()) {
        const outcome how = choose_one(wanted, wanted.gpus_total, out);
        if (how == outcome::placed) return how;
    }
    std::uint32_t count = 0;
    const outcome how = find_group(wanted.gpus_total, min, max, count);
    if (how != outcome::placed || place_fully(wanted, count, out)) return how;
    out.nodes.clear();
    if (count != min || !place_evenly(wanted, count, out)) place_anyhow(wanted.gpus_total, count, out);
    return outcome::placed;
}

outcome placer::state::choose_total(const request& wanted, answer& out) noexcept {
    const std::uint32_t min = std::max(1u, wanted.min_nodes);
    if (wanted.nodes > 0 || (wanted.max_nodes > 0 && min > wanted.max_nodes) || wanted.gpus_total < min)
        return outcome::bad_request;
    const outcome how = place_total(wanted, out);
    if (how != outcome::placed || !wanted.details) return how;
    if (!out.has_runner_up && !late(wanted)) other_nodes(wanted, out);
    if (!out.has_runner_up) other_gpus(wanted, out);
    return how;
}

}  // namespace placement

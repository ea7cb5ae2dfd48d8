// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/session.hpp"

#include <algorithm>
#include <bit>

namespace slurm_plugin {

void node_set::resize(std::uint32_t nodes) {
    words_.assign((nodes + 63) / 64, 0);
    nodes_ = nodes;
    first_ = words_.size();
}

void node_set::add(std::uint32_t node) noexcept {
    if (node >= nodes_) return;
    words_[node / 64] |= std::uint64_t{1} << (node % 64);
    first_ = std::min<std::size_t>(first_, node / 64);
}

void node_set::add_words(const std::uint64_t* words, std::uint32_t bits) noexcept {
    if (words == nullptr) return;
    const std::uint32_t usable = std::min(bits, nodes_);
    for (std::size_t w = 0; w < (usable + 63) / 64; ++w) {
        std::uint64_t word = words[w];
        if (usable - w * 64 < 64) word &= topo::first_gpus(usable - w * 64);
        words_[w] |= word;
        if (word != 0) first_ = std::min(first_, w);
    }
}

void node_set::add_all() noexcept {
    for (std::uint32_t w = 0; w < words_.size(); ++w) words_[w] = topo::first_gpus(nodes_ - w * 64);
    first_ = 0;
}

bool node_set::take(std::uint32_t& node) noexcept {
    for (; first_ < words_.size(); ++first_) {
        std::uint64_t& word = words_[first_];
        if (word == 0) continue;
        node = static_cast<std::uint32_t>(first_ * 64) + static_cast<std::uint32_t>(std::countr_zero(word));
        word &= word - 1;
        return true;
    }
    return false;
}

session::session(arranged a, const config& c, topo::cluster_description file)
    : arranged_(std::move(a)), config_(c), file_(std::move(file)) {
    const std::size_t count = arranged_.known.size();
    free_gpus_.assign(count, 0);
    free_memory_.assign(count, 0);
    weight_.assign(count, 0);
    type_.assign(count, 0);
    free_cpus_.assign(count, 0);
    flags_.assign(count, 0);
    socket_cpus_.assign(count, {});
    differs_.assign(count, 0);
    blocks_.assign((count + 63) / 64, block{});
    filter_.assign((count + 63) / 64, 0);
    shares_.reserve(count);
    first_shares_.reserve(count);
    answer_.reserve(static_cast<std::uint32_t>(count), arranged_.limits.gpus);
    dirty_.resize(static_cast<std::uint32_t>(count));
    dirty_.add_all();
}

bool session::next_audit(std::uint32_t& node) noexcept {
    if (nodes() == 0) return false;
    if (audit_ >= nodes()) audit_ = 0;
    node = audit_++;
    return true;
}

bool session::set_node(std::uint32_t node, const atoll_node_state& s) noexcept {
    if (node >= nodes()) return false;
    const bool known = arranged_.known[node] != 0;
    const bool differs = known && s.gpus != arranged_.gpus[node];
    const std::uint64_t free = known && !differs && (s.flags & ATOLL_NODE_OPEN) != 0
                                   ? s.free_gpus & topo::first_gpus(arranged_.gpus[node])
                                   : 0;
    bool changed = false;
    const auto put = [&changed](auto& slot, auto value) {
        changed = changed || slot != value;
        slot = value;
    };
    if (free != free_gpus_[node]) arranged_.placer->set_free(topo::node_id{node}, free);
    put(free_gpus_[node], free);
    put(free_memory_[node], s.free_memory);
    put(weight_[node], s.weight);
    put(type_[node], s.type);
    put(free_cpus_[node], s.free_cpus);
    put(flags_[node], s.flags);
    put(socket_cpus_[node], std::to_array(s.socket_cpus));
    if (changed) blocks_[node / 64].stale = true;
    differing_ += (differs ? 1 : 0);
    differing_ -= differs_[node];
    differs_[node] = differs ? 1 : 0;
    return changed;
}

bool session::fits(std::uint32_t node, const needs& n) const noexcept {
    return free_cpus_[node] >= n.cpus && free_memory_[node] >= n.memory && (flags_[node] & n.flags) == n.flags &&
           (n.type == ATOLL_ANY_TYPE || type_[node] == n.type);
}

void session::sum_up(std::uint32_t word) noexcept {
    block b;
    b.stale = false;
    b.least_memory = UINT64_MAX;
    b.least_cpus = b.common_flags = UINT32_MAX;
    const std::uint32_t end = std::min(nodes(), (word + 1) * 64);
    for (std::uint32_t node = word * 64; node < end; ++node) {
        if (free_gpus_[node] == 0) continue;
        if (b.with_gpus == 0) {
            b.type = type_[node];
            b.weight = weight_[node];
        }
        b.with_gpus |= std::uint64_t{1} << (node % 64);
        b.least_memory = std::min(b.least_memory, free_memory_[node]);
        b.least_cpus = std::min(b.least_cpus, free_cpus_[node]);
        b.common_flags &= flags_[node];
        b.same_type = b.same_type && b.type == type_[node];
        b.same_weight = b.same_weight && b.weight == weight_[node];
    }
    blocks_[word] = b;
}

bool session::all_fit(const block& b, const needs& n) noexcept {
    return b.same_weight && b.least_cpus >= n.cpus && b.least_memory >= n.memory &&
           (b.common_flags & n.flags) == n.flags && (n.type == ATOLL_ANY_TYPE || (b.same_type && b.type == n.type));
}

// Takes one node into filter_, unless it is too heavy; starts anew when only the lightest count and it is lighter.
void session::keep_node(std::uint32_t node, bool only_lightest, std::uint32_t& limit, std::uint32_t& kept,
                        std::uint32_t& heavier) noexcept {
    const auto leave_out = [&heavier](std::uint32_t weight) {
        heavier = heavier == 0 ? weight : std::min(heavier, weight);
    };
    if (weight_[node] > limit) {
        leave_out(weight_[node]);
        return;
    }
    if (only_lightest && weight_[node] < limit) {
        if (kept > 0) {
            leave_out(limit);
            std::fill_n(filter_.begin(), node / 64 + 1, 0);
            kept = 0;
        }
        limit = weight_[node];
    }
    filter_[node / 64] |= std::uint64_t{1} << (node % 64);
    ++kept;
}

std::uint32_t session::filter(const atoll_wish& wish, const needs& n, std::uint32_t most_weight,
                              std::uint32_t& heavier) noexcept {
    std::uint32_t kept = 0;
    std::uint32_t limit = most_weight == lightest ? UINT32_MAX : most_weight;
    heavier = 0;
    for (std::uint32_t w = 0; w < filter_.size(); ++w) {
        filter_[w] = 0;
        if (blocks_[w].stale) sum_up(w);
        const block& b = blocks_[w];
        std::uint64_t left = wish.allowed[w] & b.with_gpus;
        if (left == 0) continue;
        if (all_fit(b, n) && b.weight <= limit) {  // one node decides for all of them
            const auto first = static_cast<std::uint32_t>(std::countr_zero(left));
            keep_node(w * 64 + first, most_weight == lightest, limit, kept, heavier);
            filter_[w] = left;
            kept += static_cast<std::uint32_t>(std::popcount(left)) - 1;
            continue;
        }
        for (; left != 0; left &= left - 1) {
            const std::uint32_t node = w * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
            if (fits(node, n)) keep_node(node, most_weight == lightest, limit, kept, heavier);
        }
    }
    return kept;
}

void session::take_answer(atoll_choice& out) noexcept {
    shares_.clear();  // room for every node was made at load
    unsigned most = 0;
    for (const placement::node_share& share : answer_.nodes) {
        shares_.push_back({share.node.value, share.gpus});
        most = std::max(most, topo::count(share.gpus));
    }
    std::sort(shares_.begin(), shares_.end(),
              [](const atoll_share& a, const atoll_share& b) { return a.node < b.node; });
    out = {shares_.data(), static_cast<std::uint32_t>(shares_.size()), most, answer_.predicted.step_us, answer_.damage};
}

std::uint64_t session::near_gpus(std::uint32_t node, std::uint64_t cpus) const noexcept {
    const std::uint32_t of_class = arranged_.cluster->nodes()[node].hardware.value;
    const std::vector<std::int8_t>& sockets = arranged_.socket[of_class];
    if (arranged_.slurm_sockets[node] != arranged_.numa_nodes[of_class]) return ~std::uint64_t{0};
    std::uint64_t out = ~std::uint64_t{0};
    for (std::size_t g = 0; g < sockets.size(); ++g)
        if (sockets[g] >= 0 && sockets[g] < ATOLL_MOST_SOCKETS && socket_cpus_[node][sockets[g]] < cpus)
            out &= ~(std::uint64_t{1} << g);
    return out;
}

bool session::starved(const atoll_share& share, std::uint64_t cpus) const noexcept {
    const std::uint32_t of_class = arranged_.cluster->nodes()[share.node].hardware.value;
    const std::vector<std::int8_t>& sockets = arranged_.socket[of_class];
    if (arranged_.slurm_sockets[share.node] != arranged_.numa_nodes[of_class]) return false;
    std::uint32_t seen = 0;
    std::uint64_t near = 0;
    for (std::size_t g = 0; g < sockets.size(); ++g) {
        if ((share.gpus >> g & 1) == 0) continue;
        if (sockets[g] < 0 || sockets[g] >= ATOLL_MOST_SOCKETS) return false;
        if ((seen >> sockets[g] & 1) == 0) near += socket_cpus_[share.node][sockets[g]];
        seen |= 1u << sockets[g];
    }
    return near < cpus;
}

bool session::ask_placer(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept {
    placement::request asked{.nodes = s.nodes, .gpus_per_node = s.gpus_per_node};
    asked.message_bytes = config_.message_bytes;
    asked.gpus_total = s.gpus_total;
    asked.min_nodes = s.min_nodes;
    asked.max_nodes = s.max_nodes;
    asked.details = false;
    apply_hint(hint_, s.gpus_total > 0 ? s.gpus_total : std::uint64_t{s.nodes} * s.gpus_per_node, asked);
    const auto ask = [&] { return arranged_.placer->choose(asked, filter_, answer_) == placement::outcome::placed; };
    if (!ask()) return false;
    take_answer(out);
    const std::uint64_t cpus = std::max<std::uint64_t>(cpus_needed(wish, s), 1);
    const auto is_starved = [&](const atoll_share& share) { return starved(share, cpus); };
    if ((wish.flags & ATOLL_NODE_IDLE) != 0 || std::none_of(shares_.begin(), shares_.end(), is_starved)) return true;

    // Once more without the GPUs whose sockets are out of CPUs; what is found then is better, else the first stands.
    first_shares_ = shares_;
    const atoll_choice first{first_shares_.data(), out.nodes, out.gpus_per_node, out.step_us, out.damage};
    for (const atoll_share& share : first_shares_)
        arranged_.placer->set_free(topo::node_id{share.node}, free_gpus_[share.node] & near_gpus(share.node, cpus));
    const bool again = ask();
    if (again) take_answer(out);
    for (const atoll_share& share : first_shares_)
        arranged_.placer->set_free(topo::node_id{share.node}, free_gpus_[share.node]);
    if (!again || out.nodes > first.nodes || std::any_of(shares_.begin(), shares_.end(), is_starved)) out = first;
    return true;
}

bool session::choose_shape(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept {
    const needs n{cpus_needed(wish, s), memory_needed(wish, s), wish.type, wish.flags};
    // Lightest nodes first, as Slurm does: widen by one weight at a time, a few times, then to all.
    constexpr int most_widenings = 6;
    std::uint32_t weight = lightest;
    for (int i = 0;; ++i) {
        std::uint32_t heavier = 0;
        const std::uint32_t kept = filter(wish, n, weight, heavier);
        if (kept > 0 && kept >= s.nodes && ask_placer(wish, s, out)) return true;
        if (heavier == 0) return false;
        weight = i < most_widenings ? heavier : UINT32_MAX;
    }
}

bool session::any_nodes(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept {
    const std::uint64_t cpus = cpus_needed(wish, s);
    if (s.nodes == 0) return false;
    shares_.clear();
    for (std::uint32_t w = 0; w < filter_.size() && shares_.size() < s.nodes; ++w) {
        for (std::uint64_t left = wish.allowed[w]; left != 0 && shares_.size() < s.nodes; left &= left - 1) {
            const std::uint32_t node = w * 64 + static_cast<std::uint32_t>(std::countr_zero(left));
            if (node >= nodes() || arranged_.gpus[node] < s.gpus_per_node || differs_[node] != 0) continue;
            if (arranged_.cpus[node] < cpus || (wish.type != ATOLL_ANY_TYPE && type_[node] != wish.type)) continue;
            shares_.push_back({node, 0});
        }
    }
    out = {shares_.data(), static_cast<std::uint32_t>(shares_.size()), s.gpus_per_node, 0, 0};
    return shares_.size() == s.nodes;
}

// On as many nodes as are allowed and have room, halving a few times.
bool session::choose_spread(const atoll_wish& wish, const shape& s, atoll_choice& out) noexcept {
    shape wide = s;
    wide.min_nodes = std::min(s.max_nodes, nodes());
    for (int i = 0; i < 6 && wide.min_nodes > s.min_nodes; ++i, wide.min_nodes /= 2)
        if (choose_shape(wish, wide, out)) return true;
    return false;
}

atoll_verdict session::choose(const atoll_wish& wish, atoll_choice& out) noexcept {
    out = {};
    hint_fault ignored;
    if (wish.hint == nullptr || !parse_hint(wish.hint, hint_, ignored)) hint_ = {};
    if (wish.allowed == nullptr) return ATOLL_SKIPPED;
    const shape_list shapes = shapes_of(wish, arranged_.limits);
    if (shapes.count == 0) return ATOLL_SKIPPED;
    for (std::size_t i = 0; i < shapes.count; ++i) {
        const shape& s = shapes.items[i];
        if (hint_.how == job_hint::policy::spread && s.gpus_total > 0 && wish.ignore_state == 0 &&
            choose_spread(wish, s, out))
            return ATOLL_CHOSEN;
        if (wish.ignore_state != 0 ? any_nodes(wish, s, out) : choose_shape(wish, s, out)) return ATOLL_CHOSEN;
    }
    out = {};
    return ATOLL_NO_FIT;
}

}  // namespace slurm_plugin

// SPDX-License-Identifier: Apache-2.0
#include "placement/explain.hpp"

#include <algorithm>
#include <bit>
#include <set>
#include <utility>

#include "placement/fabric_index.hpp"

namespace placement {
namespace {

constexpr double as_fast = 1.001;  // steps that differ by less are told as equal

class explainer {
public:
    explainer(placer& chooser, const topo::cluster& c, const request& wanted, node_filter allowed)
        : chooser_(chooser), cluster_(c), wanted_(wanted), allowed_(allowed), net_(c) {
        wanted_.details = true;
    }

    explanation run() {
        count_supply();
        out_.how = chooser_.choose(wanted_, allowed_, out_.got);
        if (out_.how != outcome::placed) {
            out_.share = wanted_.gpus_total > 0 ? 1 : wanted_.gpus_per_node;
            count_enough();
            out_.held_back_by = out_.how == outcome::too_few_gpus  ? bound::no_room
                                : out_.how == outcome::unreachable ? bound::no_connection
                                : out_.how == outcome::no_segments ? bound::no_segments
                                                                   : bound::request_fault;
            return std::move(out_);
        }
        if (wanted_.gpus_total == 0 && wanted_.max_nodes > 0) {  // compare with as many nodes as it got
            wanted_.nodes = static_cast<std::uint32_t>(out_.got.nodes.size());
            wanted_.max_nodes = 0;
        }
        for (const auto& s : out_.got.nodes) out_.share = std::max(out_.share, topo::count(s.gpus));
        count_enough();
        add(option_kind::taken, out_.got.nodes, out_.got.predicted, out_.got.damage);
        if (out_.got.has_runner_up)
            add(option_kind::runner_up, out_.got.runner_up_nodes, out_.got.runner_up, out_.got.runner_up_damage);
        if (out_.got.mapped_ranks) add_in_order();
        add_by_index();
        add_all_free();
        find_levels();
        account();
        find_bound();
        return std::move(out_);
    }

private:
    [[nodiscard]] bool is_allowed(std::uint32_t n) const {
        return allowed_.empty() || (n / 64 < allowed_.size() && (allowed_[n / 64] >> (n % 64) & 1) != 0);
    }
    [[nodiscard]] std::uint32_t nodes() const { return static_cast<std::uint32_t>(cluster_.nodes().size()); }

    void count_supply() {
        for (std::uint32_t n = 0; n < nodes(); ++n) {
            if (!is_allowed(n)) continue;
            const auto free = topo::count(chooser_.free(topo::node_id(n)));
            ++out_.nodes_allowed;
            out_.gpus += cluster_.class_of(topo::node_id(n)).gpus.size();
            out_.gpus_free += free;
            out_.most_free = std::max(out_.most_free, free);
        }
    }

    void count_enough() {
        for (std::uint32_t n = 0; n < nodes(); ++n)
            out_.nodes_enough += is_allowed(n) && topo::count(chooser_.free(topo::node_id(n))) >= out_.share ? 1u : 0u;
    }

    void add(option_kind kind, const std::vector<node_share>& shares, const prediction& time, double damage) {
        explained_option o{kind, shares, time, damage, -1, 1};
        std::set<std::uint32_t> leaves;
        for (const auto& s : shares) {
            leaves.insert(net_.group_of(s.node.value, 0));
            if (s.node != shares[0].node)
                o.level = std::max(o.level, net_.level_of(shares[0].node.value, s.node.value));
        }
        o.groups = static_cast<std::uint32_t>(leaves.size());
        out_.options.push_back(std::move(o));
    }

    void add_in_order() {
        answer same;
        same.nodes = out_.got.nodes;
        request plain = wanted_;
        plain.map_ranks = false;
        chooser_.predict(plain, same);
        add(option_kind::in_order, same.nodes, same.predicted, same.damage);
    }

    // Nodes in order of index that have enough, the first GPUs of each; for a total as many as it takes.
    void add_by_index() {
        answer first;
        std::uint32_t left = wanted_.gpus_total;
        for (std::uint32_t n = 0; n < nodes(); ++n) {
            const bool done = wanted_.gpus_total > 0 ? left == 0 : first.nodes.size() == wanted_.nodes;
            if (done) break;
            gpu_mask free = is_allowed(n) ? chooser_.free(topo::node_id(n)) : 0;
            std::uint32_t take = wanted_.gpus_total > 0 ? std::min(left, topo::count(free)) : wanted_.gpus_per_node;
            if (take == 0 || topo::count(free) < take) continue;
            node_share s{topo::node_id(n), 0};
            left -= std::min(left, take);
            for (; take > 0; --take, free &= free - 1) s.gpus |= free & (~free + 1);
            first.nodes.push_back(s);
        }
        const bool complete = wanted_.gpus_total > 0 ? left == 0 : first.nodes.size() == wanted_.nodes;
        if (!complete) return;
        request plain = wanted_;
        plain.map_ranks = false;
        chooser_.predict(plain, first);
        add(option_kind::by_index, first.nodes, first.predicted, first.damage);
    }

    void add_all_free() {
        std::vector<gpu_mask> before(nodes());
        for (std::uint32_t n = 0; n < nodes(); ++n) {
            before[n] = chooser_.free(topo::node_id(n));
            chooser_.set_free(topo::node_id(n), ~gpu_mask{0});
        }
        answer best;
        const outcome how = chooser_.choose(wanted_, allowed_, best);
        for (std::uint32_t n = 0; n < nodes(); ++n) chooser_.set_free(topo::node_id(n), before[n]);
        if (how == outcome::placed) add(option_kind::all_free, best.nodes, best.predicted, best.damage);
    }

    void find_levels() {
        if (out_.got.nodes.size() < 2) return;
        for (int level = 0; level < net_.levels(); ++level) {
            level_supply supply;
            supply.level = level;
            std::vector<std::uint32_t> enough(net_.groups(level), 0);
            for (std::uint32_t n = 0; n < nodes(); ++n) {
                const std::uint32_t group = net_.group_of(n, level);
                if (group == no_group || !is_allowed(n)) continue;
                if (topo::count(chooser_.free(topo::node_id(n))) >= out_.share) ++enough[group];
            }
            for (std::uint32_t g = 0; g < enough.size(); ++g)
                if (enough[g] > supply.most_nodes) {
                    supply.most_nodes = enough[g];
                    supply.group = g;
                }
            std::set<std::uint32_t> touched;
            for (const auto& s : out_.got.nodes) touched.insert(net_.group_of(s.node.value, level));
            supply.taken = static_cast<std::uint32_t>(touched.size());
            out_.levels.push_back(supply);
        }
    }

    void account() {
        for (const auto& s : out_.got.nodes) {
            if (out_.accounts.size() == explanation::max_accounts) return;
            const topo::class_id id = cluster_.nodes()[s.node.value].hardware;
            const subset_table& table = chooser_.table(id);
            node_account a;
            a.taken = s;
            a.free = chooser_.free(s.node) | s.gpus;
            a.ring = table.ring(s.gpus);
            const unsigned k = topo::count(s.gpus);
            if (const auto other = table.runner_up(a.free, k, s.gpus)) {
                a.instead = other->gpus;
                a.instead_ring = table.ring(other->gpus);
            }
            if (const auto best = table.best(topo::first_gpus(cluster_.classes()[id.value].gpus.size()), k)) {
                a.best_if_free = best->gpus;
                a.best_ring = table.ring(best->gpus);
            }
            out_.accounts.push_back(a);
        }
    }

    void find_bound() {
        const explained_option& taken = out_.options.front();
        const auto best = std::find_if(out_.options.begin(), out_.options.end(),
                                       [](const auto& o) { return o.kind == option_kind::all_free; });
        if (best == out_.options.end() || taken.predicted.step_us <= best->predicted.step_us * as_fast) return;
        if (taken.level > best->level || taken.groups > best->groups) {
            out_.held_back_by = bound::busy_groups;
            return;
        }
        const double bytes = wanted_.message_bytes;
        const bool worse_inside = std::any_of(out_.accounts.begin(), out_.accounts.end(), [&](const node_account& a) {
            const unsigned k = topo::count(a.taken.gpus);
            return a.ring.time_us(k, bytes) > a.best_ring.time_us(k, bytes) * as_fast;
        });
        out_.held_back_by = worse_inside ? bound::busy_gpus : bound::slow_nodes;
    }

    placer& chooser_;
    const topo::cluster& cluster_;
    request wanted_;
    node_filter allowed_;
    fabric_index net_;
    explanation out_;
};

}  // namespace

std::string_view name_of(option_kind k) noexcept {
    switch (k) {
        case option_kind::taken: return "taken";
        case option_kind::runner_up: return "runner_up";
        case option_kind::in_order: return "in_order";
        case option_kind::by_index: return "by_index";
        case option_kind::all_free: return "all_free";
    }
    return "unknown";
}

std::string_view name_of(bound b) noexcept {
    switch (b) {
        case bound::nothing: return "nothing";
        case bound::busy_groups: return "busy_groups";
        case bound::busy_gpus: return "busy_gpus";
        case bound::slow_nodes: return "slow_nodes";
        case bound::no_room: return "no_room";
        case bound::no_connection: return "no_connection";
        case bound::no_segments: return "no_segments";
        case bound::request_fault: return "request_fault";
    }
    return "unknown";
}

explanation explain(placer& chooser, const topo::cluster& c, const request& wanted, node_filter allowed) {
    return explainer(chooser, c, wanted, allowed).run();
}

}  // namespace placement

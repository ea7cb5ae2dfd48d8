// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/policy.hpp"

#include <algorithm>
#include <bit>

namespace placement::simulate {

std::optional<part> part_named(std::string_view text) noexcept {
    if (text == "subset") return part::subset;
    if (text == "nodes") return part::nodes;
    if (text == "ranks") return part::ranks;
    return std::nullopt;
}

std::optional<policy> policy_named(std::string_view text) {
    if (text == "atoll") return policy{"atoll", std::nullopt, true, true, false};
    if (text == "atoll-blind") return policy{"atoll-blind", std::nullopt, true, true, true};
    if (const auto r = rule_named(text)) return policy{std::string(text), r, false, false, false};
    return std::nullopt;
}

policy only(part p, rule base) {
    const std::string start(name_of(base));
    switch (p) {
        case part::subset: return {start + "+subset", base, true, false, false};
        case part::nodes: return {start + "+nodes", std::nullopt, false, false, false};
        case part::ranks: break;
    }
    return {start + "+ranks", base, false, true, false};
}

request request_of(const shape& s, double message_bytes) noexcept {
    request r;
    r.message_bytes = message_bytes;
    r.details = false;
    if (s.last == 0) {
        r.nodes = s.nodes;
        r.gpus_per_node = s.per_node;
    } else {
        r.nodes = 0;
        r.gpus_total = s.gpus();
        r.min_nodes = r.max_nodes = s.all_nodes();
    }
    return r;
}

struct decider::state {
    policy by;
    double message_bytes;
    const topo::cluster* believed;
    fabric_index net;
    node_rules rules;
    placer deciding;  // on what the policy believes
    placer scoring;   // on the truth, ranks in the order the policy gives them
    std::vector<std::uint32_t> chosen{};

    void pick(gpu_mask free, topo::class_id hardware, unsigned k, gpu_mask& out) const noexcept {
        if (by.gpus_by_cost) {
            const auto best = deciding.table(hardware).best(free, k);
            out = best ? best->gpus : 0;
            return;
        }
        out = 0;
        for (; k > 0 && free != 0; --k, free &= free - 1) out |= free & (~free + 1);
    }
    // Leaf by leaf, as Atoll orders nodes.
    void sort_by_fabric(std::vector<node_share>& shares) const {
        std::stable_sort(shares.begin(), shares.end(), [this](const node_share& a, const node_share& b) {
            for (int level = net.levels() - 1; level >= 0; --level) {
                const auto in_a = net.group_of(a.node.value, level);
                const auto in_b = net.group_of(b.node.value, level);
                if (in_a != in_b) return in_a < in_b;
            }
            return a.node < b.node;
        });
    }
};

decider::decider(std::unique_ptr<state> s) noexcept : state_(std::move(s)) {}
decider::decider(decider&&) noexcept = default;
decider& decider::operator=(decider&&) noexcept = default;
decider::~decider() = default;

const policy& decider::by() const noexcept { return state_->by; }
const fabric_index& decider::net() const noexcept { return state_->net; }
double decider::message_bytes() const noexcept { return state_->message_bytes; }

topo::result<decider> decider::make(const topo::cluster& truth, const topo::cluster& believed, const policy& by,
                                    double message_bytes) {
    placer_options how;
    how.mapped_ranks = 0;
    how.subsets.message_bytes = message_bytes;
    auto deciding = placer::make(by.blind ? believed : truth, how);
    if (!deciding) return deciding.failure();
    // Ranks that nobody ordered, and those of a policy that does not know the slow links, stay in order of index.
    if (!by.ranks_by_cost || by.blind) how.subsets.order_within = 1e9;
    auto scoring = placer::make(truth, how);
    if (!scoring) return scoring.failure();
    fabric_index net(truth);
    auto s = std::unique_ptr<state>(new state{by, message_bytes, by.blind ? &believed : &truth, std::move(net),
                                              node_rules(fabric_index(truth), {}), std::move(*deciding),
                                              std::move(*scoring)});
    s->rules = node_rules(s->net, truth.description().fabric.block_sizes);
    return decider(std::move(s));
}

bool decider::place(const shape& s, const pool& free, answer& out) {
    state& me = *state_;
    if (!me.by.nodes) {
        if (me.deciding.choose(request_of(s, me.message_bytes), {}, out) != outcome::placed) return false;
        if (!me.by.gpus_by_cost)
            for (auto& share : out.nodes) {
                const unsigned k = topo::count(share.gpus);
                me.pick(free.free(share.node.value), {}, k, share.gpus);
            }
    } else {
        out.nodes.clear();
        if (!me.rules.choose(*me.by.nodes, s, free, me.chosen)) return false;
        for (std::size_t i = 0; i < me.chosen.size(); ++i) {
            const std::uint32_t n = me.chosen[i];
            node_share share{node_id(n), 0};
            me.pick(free.free(n), me.believed->nodes()[n].hardware, i < s.nodes ? s.per_node : s.last, share.gpus);
            out.nodes.push_back(share);
        }
        if (me.by.ranks_by_cost) me.sort_by_fabric(out.nodes);
    }
    if (!me.by.ranks_by_cost)
        std::sort(out.nodes.begin(), out.nodes.end(),
                  [](const node_share& a, const node_share& b) { return a.node < b.node; });
    return true;
}

void decider::set_free(std::uint32_t node, gpu_mask free) noexcept {
    if (!state_->by.nodes) state_->deciding.set_free(node_id(node), free);
}

void decider::score(const shape& s, answer& io) const noexcept {
    state_->scoring.predict(request_of(s, state_->message_bytes), io);
}

}  // namespace placement::simulate

// SPDX-License-Identifier: Apache-2.0
#include "cli/placement_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/describe.hpp"
#include "cli/render/facts.hpp"
#include "cli/render/table.hpp"
#include "cli/render/text.hpp"
#include "topo/hostlist.hpp"
#include "topo/id_set.hpp"

namespace cli {
namespace {

constexpr std::size_t nodes_shown = 64;

json part_json(const placement::term& t, const topo::fabric& f) {
    json part = {{"what", placement::name_of(t.what)},
                 {"latency_us", t.latency_us},
                 {"transfer_us", t.transfer_us},
                 {"hidden_us", t.hidden_us},
                 {"step_us", t.shown_us()}};
    if (t.what == placement::term_kind::compute) return part;
    part["how"] = placement::name_of(t.how);
    part["times"] = t.times;
    if (t.slowest_gb_per_s > 0)
        part["slowest"] = {{"gb_per_s", t.slowest_gb_per_s},
                           {"where", hop_name(t.slowest_level, f)},
                           {"from_rank", t.slowest_from},
                           {"to_rank", t.slowest_to}};
    return part;
}

json plan_json(const placement::parallel_plan& p) {
    return {{"tp", p.tp},
            {"pp", p.pp},
            {"dp", p.dp > 0 ? json(p.dp) : json()},
            {"ep", p.ep},
            {"layers", p.layers},
            {"microbatches", p.microbatches},
            {"tp_bytes", p.tp_bytes},
            {"pp_bytes", p.pp_bytes},
            {"ep_bytes", p.ep_bytes},
            {"dp_bytes", p.dp_bytes},
            {"compute_us", p.compute_us},
            {"overlap", p.overlap}};
}

std::string leaf_of(const topo::cluster& c, topo::node_id node) {
    const topo::fabric& f = c.network();
    if (f.form() == topo::fabric_form::unknown || f.levels() == 0) return {};
    const topo::group_id leaf = f.group_of(node, 0);
    return leaf.valid() ? std::string(f.name(0, leaf)) : std::string();
}

std::string joined(const std::vector<int>& numbers) {
    std::string out;
    for (const int n : numbers) out += (out.empty() ? "" : ",") + std::to_string(n);
    return out;
}

std::string marks(const placement::prediction& p, const render::style& s) {
    std::string out;
    if (p.simulated) out += "  " + s.loud(" SIMULATED ");
    if (p.estimated) out += "  " + s.yellow("estimated");
    return out;
}

std::string leaf_title(const topo::fabric& f) {
    std::string word = render::level_name(0, f);
    for (char& c : word)
        if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
    return word;
}

std::string node_table(const placed_job& job, const render::style& s) {
    render::table t{{"RANKS", "NODE", leaf_title(job.on.network()), "GPUs in rank order", "NICs", "CPU NUMA"}, {}, {}};
    std::map<std::uint32_t, std::vector<std::uint32_t>> ranks_on;
    for (std::uint32_t r = 0; r < job.got.ranks.size(); ++r) ranks_on[job.got.ranks[r].node.value].push_back(r);
    for (std::size_t i = 0; i < job.got.nodes.size() && i < nodes_shown; ++i) {
        const placement::node_share& share = job.got.nodes[i];
        const topo::node_class& h = job.on.class_of(share.node);
        topo::id_set here;
        std::string order;
        for (const std::uint32_t r : ranks_on[share.node.value]) {
            here.insert(r);
            order += (order.empty() ? "" : ",") + std::to_string(job.got.ranks[r].gpu);
        }
        std::string nics;
        for (const int n : nics_of(job, share.node))
            nics += (nics.empty() ? "" : ",") + h.nics[static_cast<std::size_t>(n)].name;
        const std::string numa = joined(h.numa_of(share.gpus));
        const std::string leaf = leaf_of(job.on, share.node);
        t.add({here.text(), job.on.nodes()[share.node.value].name, leaf.empty() ? "-" : leaf, order,
               nics.empty() ? "-" : nics, numa.empty() ? "unknown" : numa});
    }
    std::string out = t.text(s);
    if (job.got.mapped_ranks)
        out +=
            "Ranks are spread over the nodes as the pattern talks: faster than node by node. " +
            s.dim("Start them with a rank file (--json has the order), or keep them in order with --ranks in-order.") +
            "\n";
    if (job.got.nodes.size() > nodes_shown)
        out += fmt::format("… and {}; --json lists all\n",
                           render::counted(job.got.nodes.size() - nodes_shown, "more node"));
    return out;
}

}  // namespace

json prediction_json(const placement::prediction& p, const topo::fabric& f) {
    const bool alone = p.slowest_gb_per_s <= 0;
    json parts = json::array();
    for (std::size_t i = 0; i < p.term_count; ++i) parts.push_back(part_json(p.terms[i], f));
    return {{"step_us", p.step_us},
            {"terms", {{"latency_us", p.latency_us}, {"transfer_us", p.transfer_us}}},
            {"parts", std::move(parts)},
            {"slowest", alone ? json()
                              : json{{"gb_per_s", p.slowest_gb_per_s},
                                     {"where", hop_name(p, f)},
                                     {"from_rank", p.slowest_from},
                                     {"to_rank", p.slowest_to}}},
            {"simulated", p.simulated},
            {"estimated", p.estimated}};
}

std::string what_is_predicted(const placement::request& r, std::size_t ranks) {
    const std::string name(placement::name_of(r.talks));
    switch (r.talks) {
        case placement::pattern::traffic_matrix: return name;
        case placement::pattern::composite:
            return fmt::format("{} tp {} pp {}{}{}", name, r.parallel.tp, r.parallel.pp,
                               r.parallel.ep > 1 ? fmt::format(" ep {}", r.parallel.ep) : "",
                               fmt::format(" dp {}", ranks / (std::size_t{r.parallel.tp} * r.parallel.pp)));
        case placement::pattern::halo_exchange: {
            const auto e = placement::grid_of(r.halo, static_cast<std::uint32_t>(ranks)).extent;
            return fmt::format("{} {}x{}x{} of {}", name, e[0], e[1], e[2], render::size(r.message_bytes));
        }
        default: return fmt::format("{} of {}", name, render::size(r.message_bytes));
    }
}

json request_json(const placement::request& r) {
    const bool total = r.gpus_total > 0;
    return {{"nodes", total ? json() : json(r.nodes)},
            {"gpus_per_node", total ? json() : json(r.gpus_per_node)},
            {"gpus", total ? json(r.gpus_total) : json()},
            {"max_nodes", r.max_nodes > 0 ? json(r.max_nodes) : json()},
            {"segment_nodes", r.segment_nodes > 0 ? json(r.segment_nodes) : json()},
            {"pattern", placement::name_of(r.talks)},
            {"message_bytes", static_cast<std::int64_t>(r.message_bytes)},
            {"parallel", r.talks == placement::pattern::composite ? plan_json(r.parallel) : json()}};
}

json share_json(const topo::cluster& c, const placement::node_share& share) {
    return {{"name", c.nodes()[share.node.value].name}, {"gpus", gpus_json(share.gpus)}};
}

std::string shares_text(const topo::cluster& c, const std::vector<placement::node_share>& shares) {
    std::string out;
    std::vector<std::string> names;
    auto flush = [&](topo::gpu_mask gpus) {
        if (names.empty()) return;
        out += fmt::format("{}{} {} {}", out.empty() ? "" : "; ", topo::compress_hostlist(names),
                           std::has_single_bit(gpus) ? "GPU" : "GPUs", render::gpus_text(gpus));
        names.clear();
    };
    for (std::size_t i = 0; i < shares.size(); ++i) {
        if (i > 0 && shares[i].gpus != shares[i - 1].gpus) flush(shares[i - 1].gpus);
        names.push_back(c.nodes()[shares[i].node.value].name);
    }
    if (!shares.empty()) flush(shares.back().gpus);
    return out;
}

std::string parts_table(const placement::prediction& p, const topo::fabric& f, const render::style& s) {
    render::table t{{"TERM", "EXCHANGE", "TIMES", "LATENCY", "TRANSFER", "HIDDEN", "SLOWEST"}, {}, {}};
    for (std::size_t i = 0; i < p.term_count; ++i) {
        const placement::term& x = p.terms[i];
        if (x.what == placement::term_kind::compute) {
            t.add({"compute", "-", "1", render::duration(x.latency_us), "-", "-", "-"});
            continue;
        }
        t.add({std::string(placement::name_of(x.what)), std::string(placement::name_of(x.how)),
               fmt::format("{:g}", x.times), render::duration(x.latency_us), render::duration(x.transfer_us),
               x.hidden_us > 0 ? render::duration(x.hidden_us) : "-",
               x.slowest_gb_per_s > 0
                   ? fmt::format("{} GB/s, {}", render::short_number(x.slowest_gb_per_s), hop_name(x.slowest_level, f))
                   : "-"});
    }
    return t.text(s);
}

std::string hop_name(unsigned level, const topo::fabric& f) {
    if (level == 0) return "inside the node";
    if (f.form() == topo::fabric_form::unknown) return "between nodes";
    return render::separation_name(static_cast<int>(level) - 1, f);
}

std::string hop_name(const placement::prediction& p, const topo::fabric& f) { return hop_name(p.slowest_level, f); }

std::vector<int> nics_of(const placed_job& job, topo::node_id node) {
    std::vector<int> out;
    for (const placement::rank_place& r : job.got.ranks)
        if (r.node == node && r.nic >= 0 && std::find(out.begin(), out.end(), r.nic) == out.end()) out.push_back(r.nic);
    return out;
}

topo::findings placement_notes(const placed_job& job) {
    topo::findings notes;
    if (job.on.nodes().size() > 1) notes = job.on.notes();  // one node needs no fabric
    std::set<const topo::node_class*> seen;
    for (const placement::node_share& share : job.got.nodes) {
        const topo::node_class& h = job.on.class_of(share.node);
        if (!seen.insert(&h).second) continue;
        for (const render::remark& r : render::remarks_on(h))
            notes.push_back(
                {r.how == render::weight::plain ? topo::severity::info : topo::severity::warning, h.name, r.text, {}});
    }
    return notes;
}

json placement_json(const placed_job& job, const topo::findings& notes) {
    json out = {{"outcome", "placed"}, {"request", request_json(job.wanted)}};
    out["nodes"] = json::array();
    std::vector<json> rank_rows;
    for (const placement::node_share& share : job.got.nodes) {
        const topo::node_class& h = job.on.class_of(share.node);
        const std::vector<int> numa = h.numa_of(share.gpus);
        const std::string leaf = leaf_of(job.on, share.node);
        json node = share_json(job.on, share);
        node["nics"] = json::array();
        for (const int n : nics_of(job, share.node)) node["nics"].push_back(h.nics[static_cast<std::size_t>(n)].name);
        node["class"] = h.name;
        node["leaf"] = leaf.empty() ? json() : json(leaf);
        node["cpu_numa"] = numa.empty() ? json() : json(numa.front());
        node["numa"] = numa;
        out["nodes"].push_back(std::move(node));
    }
    out["ranks"] = json::array();
    for (std::size_t i = 0; i < job.got.ranks.size(); ++i) {
        const placement::rank_place& r = job.got.ranks[i];
        const topo::node_class& h = job.on.class_of(r.node);
        out["ranks"].push_back({{"rank", i},
                                {"node", job.on.nodes()[r.node.value].name},
                                {"gpu", r.gpu},
                                {"nic", r.nic < 0 ? json() : json(h.nics[static_cast<std::size_t>(r.nic)].name)},
                                {"numa", known_or_null(r.numa)}});
    }
    const topo::fabric& f = job.on.network();
    out["mapped_ranks"] = job.got.mapped_ranks;
    out["predicted"] = prediction_json(job.got.predicted, f);
    out["damage"] = job.got.damage;
    out["runner_up"] = json();
    if (job.got.has_runner_up) {
        json nodes = json::array();
        for (const placement::node_share& share : job.got.runner_up_nodes) nodes.push_back(share_json(job.on, share));
        out["runner_up"] = {{"nodes", std::move(nodes)},
                            {"predicted", prediction_json(job.got.runner_up, f)},
                            {"damage", job.got.runner_up_damage}};
    }
    out["notes"] = to_json(notes);
    return out;
}

json no_placement_json(const placement::request& wanted, std::string_view outcome, std::string_view message,
                       const topo::findings& notes) {
    return {{"outcome", outcome},     {"message", message},     {"request", request_json(wanted)},
            {"nodes", json::array()}, {"ranks", json::array()}, {"predicted", json()},
            {"damage", json()},       {"runner_up", json()},    {"notes", to_json(notes)}};
}

std::string ranks_text(const placed_job& job, const render::style& s) {
    const placement::prediction& p = job.got.predicted;
    std::string out = s.bold(fmt::format("{} on {}", render::counted(job.got.ranks.size(), "rank"),
                                         render::counted(job.got.nodes.size(), "node"))) +
                      "\n" + node_table(job, s) + "\n";
    if (job.got.ranks.size() < 2) {
        out += "One rank talks to no other: no step time to predict" + marks(p, s) + "\n";
    } else {
        out += s.bold(fmt::format("Predicted {}: {} a step", what_is_predicted(job.wanted, job.got.ranks.size()),
                                  render::duration(p.step_us))) +
               marks(p, s) + "\n";
        const bool plain = p.term_count == 1 && p.terms[0].times <= 1 && p.terms[0].how == job.wanted.talks;
        if (!plain) out += parts_table(p, job.on.network(), s);
        out += fmt::format("  latency   {}\n  transfer  {}\n", render::duration(p.latency_us),
                           render::duration(p.transfer_us));
        out += fmt::format("  slowest   rank {} to rank {}, {}, {} GB/s\n", p.slowest_from, p.slowest_to,
                           hop_name(p, job.on.network()), render::short_number(p.slowest_gb_per_s));
    }
    return out;
}

std::string placement_text(const placed_job& job, const render::style& s) {
    const placement::prediction& p = job.got.predicted;
    std::string out = ranks_text(job, s);
    out += fmt::format("Damage to islands and leaves: {:.1f} %\n", job.got.damage * 100);
    if (!job.got.has_runner_up) return out + "Runner-up: none\n";
    const placement::prediction& second = job.got.runner_up;
    out += fmt::format("Runner-up: {}", render::printable(shares_text(job.on, job.got.runner_up_nodes)));
    if (job.got.ranks.size() > 1) {
        const double more = (second.step_us / p.step_us - 1) * 100;
        out += fmt::format(", {} a step ({}{:.1f} %)", render::duration(second.step_us), more < 0 ? "" : "+",
                           std::fabs(more) < 0.05 ? 0.0 : more);
    }
    return out + fmt::format(", damage {:.1f} %\n", job.got.runner_up_damage * 100);
}

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>

#include "cli/render/facts.hpp"
#include "cli/render/page.hpp"
#include "cli/render/page_parts.hpp"
#include "cli/render/text.hpp"
#include "topo/hostlist.hpp"

namespace cli::render {
namespace {

constexpr std::size_t nodes_pictured = 4;
constexpr std::size_t ranks_listed = 1024;

std::string us(double value) {
    std::string text = duration(value);
    if (text.ends_with(" us")) text.replace(text.size() - 2, 2, "µs");
    return text;
}

std::string share_text(const topo::cluster& c, const std::vector<placement::node_share>& shares) {
    std::string text;
    for (std::size_t i = 0; i < shares.size() && i < 12; ++i)
        text += fmt::format("{}{} {} {}", i == 0 ? "" : "; ", c.nodes()[shares[i].node.value].name,
                            std::has_single_bit(shares[i].gpus) ? "GPU" : "GPUs", gpus_text(shares[i].gpus));
    if (shares.size() > 12) text += " … and " + counted(shares.size() - 12, "more node");
    return text;
}

std::string comparison(const placed_job& job) {
    const placement::prediction& p = job.got.predicted;
    auto row = [&](std::string who, const placement::prediction& x, double damage, std::string where) {
        const std::string slowest =
            x.slowest_gb_per_s > 0
                ? fmt::format("{} GB/s, {}", short_number(x.slowest_gb_per_s), hop_name(x, job.on.network()))
                : "–";
        return std::vector<std::string>{std::move(who),    us(x.step_us), us(x.latency_us),
                                        us(x.transfer_us), slowest,       fmt::format("{:.1f} %", damage * 100),
                                        std::move(where)};
    };
    std::vector<std::vector<std::string>> rows{row("taken", p, job.got.damage, share_text(job.on, job.got.nodes))};
    if (job.got.has_runner_up)
        rows.push_back(
            row("runner-up", job.got.runner_up, job.got.runner_up_damage, share_text(job.on, job.got.runner_up_nodes)));
    return data_table("", {"", "step", "latency", "transfer", "slowest hop", "damage", "where"}, rows);
}

std::string pictures(const placed_job& job, std::span<const topo::gpu_mask> free) {
    std::string out;
    for (std::size_t i = 0; i < job.got.nodes.size() && i < nodes_pictured; ++i) {
        const placement::node_share& share = job.got.nodes[i];
        const topo::node_class& h = job.on.class_of(share.node);
        node_marks marks{
            true, share.gpus, share.node.value < free.size() ? free[share.node.value] : ~topo::gpu_mask{0}, {}};
        marks.labels.resize(h.gpus.size());
        for (std::size_t r = 0; r < job.got.ranks.size(); ++r)
            if (job.got.ranks[r].node == share.node) marks.labels[job.got.ranks[r].gpu] = fmt::format("rank {}", r);
        out += fmt::format("<h3>{}</h3>\n", html(job.on.nodes()[share.node.value].name)) + node_picture(h, marks);
    }
    if (job.got.nodes.size() > nodes_pictured)
        out += fmt::format("<p class=\"sub\">The first {} of {} nodes are drawn.</p>\n", nodes_pictured,
                           job.got.nodes.size());
    return out;
}

std::string rank_rows(const placed_job& job) {
    std::vector<std::vector<std::string>> rows;
    for (std::size_t r = 0; r < job.got.ranks.size() && r < ranks_listed; ++r) {
        const placement::rank_place& place = job.got.ranks[r];
        const topo::node_class& h = job.on.class_of(place.node);
        rows.push_back({std::to_string(r), job.on.nodes()[place.node.value].name, h.gpus[place.gpu].name,
                        place.nic < 0 ? "none" : h.nics[static_cast<std::size_t>(place.nic)].name,
                        numa_text(place.numa)});
    }
    std::string out = data_table("", {"rank", "node", "GPU", "NIC", "NUMA"}, rows);
    if (job.got.ranks.size() > ranks_listed)
        out +=
            fmt::format("<p class=\"sub\">… and {}.</p>\n", counted(job.got.ranks.size() - ranks_listed, "more rank"));
    return out;
}

}  // namespace

std::string placement_page(const placed_job& job, std::span<const topo::gpu_mask> free, const topo::findings& notes) {
    const placement::prediction& p = job.got.predicted;
    std::string body = "<section>\n<h2>Prediction</h2>\n";
    if (p.simulated)
        body +=
            "<p class=\"box loud\" role=\"note\"><b>SIMULATED</b> the prediction rests on costs of a simulated "
            "machine</p>\n";
    if (p.estimated)
        body +=
            "<p class=\"box\" role=\"note\"><b>ESTIMATED</b> some costs come from the link class, not from a "
            "measurement</p>\n";
    body += tiles({{"Nodes", std::to_string(job.got.nodes.size()), ""},
                   {"Ranks", std::to_string(job.got.ranks.size()),
                    job.wanted.gpus_total > 0 ? std::string()
                                              : fmt::format("{} a node", counted(job.wanted.gpus_per_node, "GPU"))},
                   {"Message", size(job.wanted.message_bytes), std::string(placement::name_of(job.wanted.talks))},
                   {"Predicted step", us(p.step_us),
                    p.slowest_gb_per_s > 0 ? fmt::format("slowest hop {} GB/s", short_number(p.slowest_gb_per_s)) : ""},
                   {"Damage", fmt::format("{:.1f} %", job.got.damage * 100), "of islands and leaves"}});
    body += comparison(job) + "</section>\n";
    std::vector<std::string> names;
    for (const topo::node& n : job.on.nodes()) names.push_back(n.name);
    std::vector<topo::node_id> used;
    for (const placement::node_share& s : job.got.nodes) used.push_back(s.node);
    if (const std::string tree = fabric_picture(job.on.network(), names, used); !tree.empty() && names.size() > 1)
        body += "<section>\n<h2>In the fabric</h2>\n" + tree + "</section>\n";
    body += "<section>\n<h2>In the nodes</h2>\n" + pictures(job, free) + "</section>\n";
    body += "<section>\n<h2>Ranks</h2>\n" + rank_rows(job) + "</section>\n";
    body += "<section>\n<h2>Findings</h2>\n" + findings_list(notes) + "</section>\n";
    return page(fmt::format("{} on {}", counted(job.got.ranks.size(), "rank"), counted(job.got.nodes.size(), "node")),
                "placement in " + job.on.name(), body);
}

}  // namespace cli::render

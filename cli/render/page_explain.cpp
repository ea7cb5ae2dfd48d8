// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "cli/job_options.hpp"
#include "cli/placement_view.hpp"
#include "cli/render/facts.hpp"
#include "cli/render/page.hpp"
#include "cli/render/page_parts.hpp"
#include "cli/render/plot.hpp"
#include "cli/render/text.hpp"

namespace cli::render {
namespace {

using placement::term_kind;

constexpr std::size_t nodes_pictured = 4;

std::string us(double value) {
    std::string text = duration(value);
    if (text.ends_with(" us")) text.replace(text.size() - 2, 2, "µs");
    return text;
}

std::string list_of(const std::vector<std::string>& sentences) {
    std::string out = "<ul class=\"findings\">\n";
    for (const auto& s : sentences) out += "<li>" + html(s) + "</li>\n";
    return out + "</ul>\n";
}

// A group of bars a choice, a bar a term, so that one sees where the time goes.
std::string terms_plot(const explained_job& job) {
    std::vector<std::string> groups, names;
    std::vector<plot_bars> bars;
    const auto bar_of = [&](const std::string& name) -> plot_bars& {
        for (auto& b : bars)
            if (b.name == name) return b;
        names.push_back(name);
        return bars.emplace_back(plot_bars{name, std::vector<double>(job.why.options.size(), std::nan(""))});
    };
    for (std::size_t i = 0; i < job.why.options.size(); ++i) {
        const auto& o = job.why.options[i];
        groups.push_back(label_of(o.kind));
        for (std::size_t t = 0; t < o.predicted.term_count; ++t) {
            const auto& term = o.predicted.terms[t];
            const bool alone = o.predicted.term_count == 1 && term.what == term_kind::exchange;
            if (!std::isfinite(o.predicted.step_us)) continue;
            if (alone) {
                bar_of("latency").values[i] = term.latency_us;
                bar_of("transfer").values[i] = term.transfer_us;
            } else {
                bar_of(std::string(placement::name_of(term.what))).values[i] = term.shown_us();
            }
        }
    }
    if (bars.empty()) return {};
    return bar_plot("Step time by term", groups, bars, false, [](double v) { return us(v); }) + plot_legend(names);
}

std::string options_rows(const explained_job& job) {
    std::vector<std::vector<std::string>> rows;
    const double own = job.why.options.front().predicted.step_us;
    for (const auto& o : job.why.options) {
        const auto& p = o.predicted;
        rows.push_back(
            {label_of(o.kind), us(p.step_us),
             own > 0 && o.kind != placement::option_kind::taken ? fmt::format("{:+.1f} %", (p.step_us / own - 1) * 100)
                                                                : "",
             us(p.latency_us), us(p.transfer_us), reach_of(o, job.on.network()),
             p.slowest_gb_per_s > 0
                 ? fmt::format("{} GB/s, {}", short_number(p.slowest_gb_per_s), hop_name(p, job.on.network()))
                 : "–",
             fmt::format("{:.1f} %", o.damage * 100), shorten(shares_text(job.on, o.nodes), 120)});
    }
    return data_table("", {"", "step", "against", "latency", "transfer", "reach", "slowest hop", "damage", "where"},
                      rows);
}

std::string ring_cell(placement::gpu_mask gpus, const placement::ring_cost& ring) {
    if (gpus == 0) return "–";
    return std::isfinite(ring.gb_per_s) ? fmt::format("{} ({} GB/s)", gpus_text(gpus), short_number(ring.gb_per_s))
                                        : gpus_text(gpus);
}

std::string node_rows(const explained_job& job) {
    std::vector<std::vector<std::string>> rows;
    for (const auto& a : job.why.accounts)
        rows.push_back({job.on.nodes()[a.taken.node.value].name, gpus_text(a.free), ring_cell(a.taken.gpus, a.ring),
                        ring_cell(a.instead, a.instead_ring), ring_cell(a.best_if_free, a.best_ring)});
    return data_table("", {"node", "free", "taken", "next best here", "best if all were free"}, rows);
}

std::string pictures(const explained_job& job, std::span<const topo::gpu_mask> free) {
    std::string out;
    const auto& got = job.why.got;
    for (std::size_t i = 0; i < got.nodes.size() && i < nodes_pictured; ++i) {
        const auto& share = got.nodes[i];
        const topo::node_class& h = job.on.class_of(share.node);
        node_marks marks{
            true, share.gpus, share.node.value < free.size() ? free[share.node.value] : ~topo::gpu_mask{0}, {}};
        marks.labels.resize(h.gpus.size());
        for (std::size_t r = 0; r < got.ranks.size(); ++r)
            if (got.ranks[r].node == share.node) marks.labels[got.ranks[r].gpu] = fmt::format("rank {}", r);
        out += fmt::format("<h3>{}</h3>\n", html(job.on.nodes()[share.node.value].name)) + node_picture(h, marks);
    }
    if (got.nodes.size() > nodes_pictured)
        out +=
            fmt::format("<p class=\"sub\">The first {} of {} nodes are drawn.</p>\n", nodes_pictured, got.nodes.size());
    return out;
}

std::string fabric_section(const explained_job& job) {
    const topo::fabric& f = job.on.network();
    if (job.why.got.nodes.size() < 2 || f.form() == topo::fabric_form::unknown) return {};
    std::vector<std::string> names;
    for (const auto& n : job.on.nodes()) names.push_back(n.name);
    std::vector<topo::node_id> used;
    for (const auto& s : job.why.got.nodes) used.push_back(s.node);
    std::vector<std::vector<std::string>> rows;
    for (const auto& l : job.why.levels)
        rows.push_back({level_name(l.level, f), std::to_string(l.taken), std::to_string(l.most_nodes),
                        l.most_nodes > 0 && l.group < f.groups(l.level)
                            ? std::string(f.name(l.level, topo::group_id(l.group)))
                            : "–"});
    return "<section>\n<h2>Fabric</h2>\n" + fabric_picture(f, names, used) +
           data_table("", {"level", "groups taken", "nodes with enough free GPUs in the emptiest", "emptiest"}, rows) +
           "</section>\n";
}

}  // namespace

std::string explanation_page(const explained_job& job, std::span<const topo::gpu_mask> free,
                             const topo::findings& notes) {
    const auto& why = job.why;
    const placement::prediction& p = why.got.predicted;
    std::string body;
    if (p.simulated)
        body +=
            "<p class=\"box loud\" role=\"note\"><b>SIMULATED</b> the prediction rests on costs of a simulated "
            "machine</p>\n";
    if (p.estimated)
        body +=
            "<p class=\"box\" role=\"note\"><b>ESTIMATED</b> some costs come from the link class, not from a "
            "measurement</p>\n";
    body += "<section>\n<h2>Why</h2>\n" + list_of(reasons(job));
    body += tiles({{"GPUs free", fmt::format("{} of {}", why.gpus_free, why.gpus), ""},
                   {"Nodes with enough", fmt::format("{} of {}", why.nodes_enough, why.nodes_allowed),
                    counted(why.share, "GPU") + " or more free"},
                   {"Step", why.options.empty() ? std::string("–") : us(p.step_us),
                    why.options.empty() ? std::string() : what_is_predicted(job.wanted, why.got.ranks.size())}});
    body += "</section>\n";
    if (!why.options.empty()) {
        body += "<section>\n<h2>What it costs</h2>\n" + options_rows(job) + terms_plot(job) + "</section>\n";
        body += fabric_section(job);
        body +=
            "<section>\n<h2>GPUs inside the nodes</h2>\n<p class=\"sub\">GB/s of the slowest hop of their ring</p>\n" +
            node_rows(job) + pictures(job, free) + "</section>\n";
    }
    body += "<section>\n<h2>Findings</h2>\n" + findings_list(notes) + "</section>\n";
    return page("Why " + asked_text(job.wanted), "placement in " + job.on.name(), body);
}

}  // namespace cli::render

// SPDX-License-Identifier: Apache-2.0
#include "cli/explain_view.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "cli/describe.hpp"
#include "cli/job_options.hpp"
#include "cli/placement_view.hpp"
#include "cli/render/facts.hpp"
#include "cli/render/table.hpp"
#include "cli/render/text.hpp"

namespace cli {
namespace {

using placement::bound;
using placement::explained_option;
using placement::option_kind;

constexpr std::size_t accounts_shown = 8;

const explained_option* find(const explained_job& job, option_kind k) {
    for (const auto& o : job.why.options)
        if (o.kind == k) return &o;
    return nullptr;
}

std::string level_word(const topo::fabric& f, int level, std::uint32_t n) {
    const std::string word = f.form() == topo::fabric_form::unknown ? "network" : render::level_name(level, f);
    if (n == 1) return word;
    return word == "leaf"              ? "leaves"
           : word.starts_with("level") ? "groups of " + word
           : word.starts_with("box")   ? "boxes" + word.substr(3)
                                       : word + "s";
}

// "+12.3 %" of the step taken; "the same" within the rounding.
std::string against(double step_us, double taken_us) {
    if (!std::isfinite(step_us)) return "never";
    if (taken_us <= 0) return "-";
    const double more = (step_us / taken_us - 1) * 100;
    return std::fabs(more) < 0.05 ? "the same" : fmt::format("{:+.1f} %", more);
}

// The term in which two predictions differ most.
std::string differs_in(const placement::prediction& a, const placement::prediction& b) {
    if (a.term_count != b.term_count || a.term_count < 2) return {};
    std::size_t most = 0;
    double by = -1;
    for (std::size_t i = 0; i < a.term_count; ++i) {
        const double d = std::fabs(a.terms[i].shown_us() - b.terms[i].shown_us());
        if (d > by) {
            by = d;
            most = i;
        }
    }
    return fmt::format(", most of it in the {} part ({} against {})", placement::name_of(a.terms[most].what),
                       render::duration(b.terms[most].shown_us()), render::duration(a.terms[most].shown_us()));
}

std::string bound_sentence(const explained_job& job) {
    const auto& why = job.why;
    const topo::fabric& f = job.on.network();
    const explained_option* best = find(job, option_kind::all_free);
    const explained_option* taken = find(job, option_kind::taken);
    switch (why.held_back_by) {
        case bound::nothing: return "Nothing held it back: it would be no faster with every GPU of the cluster free.";
        case bound::busy_groups: {
            for (const auto& level : why.levels) {
                if (level.taken < 2 || level.most_nodes == 0) continue;
                return fmt::format(
                    "Busy {} held it back: the emptiest, {}, has {} with {} free, the job takes {}. With every GPU "
                    "free "
                    "a step would take {} instead of {}.",
                    level_word(f, level.level, 2), std::string(f.name(level.level, topo::group_id(level.group))),
                    render::counted(level.most_nodes, "node"), render::counted(why.share, "GPU"), why.got.nodes.size(),
                    render::duration(best->predicted.step_us), render::duration(taken->predicted.step_us));
            }
            return fmt::format("Busy nodes held it back: with every GPU free it would need {} instead of {}.",
                               reach_of(*best, f), reach_of(*taken, f));
        }
        case bound::busy_gpus: {
            for (const auto& a : why.accounts) {
                if (a.best_if_free == a.taken.gpus) continue;
                return fmt::format(
                    "Busy GPUs held it back: on {} GPUs {} would be best, of them {} {} taken by others. With every "
                    "GPU "
                    "free a step would take {} instead of {}.",
                    job.on.nodes()[a.taken.node.value].name, render::gpus_text(a.best_if_free),
                    render::gpus_text(a.best_if_free & ~a.free),
                    std::popcount(a.best_if_free & ~a.free) == 1 ? "is" : "are",
                    render::duration(best->predicted.step_us), render::duration(taken->predicted.step_us));
            }
            return "Busy GPUs held it back.";
        }
        case bound::slow_nodes:
            return fmt::format(
                "The faster nodes are busy: with every GPU free it would run on {}, a step in {} instead of {}.",
                shares_text(job.on, best->nodes), render::duration(best->predicted.step_us),
                render::duration(taken->predicted.step_us));
        case bound::no_room:
            return fmt::format(
                "It does not fit now: {} of {} are free, and the emptiest of {} has {}; nodes with {} or "
                "more free: {}. Wait for jobs to end, or ask for less.",
                why.gpus_free, render::counted(why.gpus, "GPU"), render::counted(why.nodes_allowed, "node"),
                why.most_free, render::counted(why.share, "GPU"), why.nodes_enough);
        case bound::no_connection:
        case bound::no_segments: return std::string(placement::text_of(why.how)) + ".";
        case bound::request_fault: return std::string(placement::text_of(why.how)) + ".";
    }
    return {};
}

std::string runner_up_sentence(const explained_job& job) {
    const explained_option* second = find(job, option_kind::runner_up);
    const explained_option& taken = job.why.options.front();
    if (second == nullptr) return "There is no other choice.";
    const double step = second->predicted.step_us, own = taken.predicted.step_us;
    const std::string where = shares_text(job.on, second->nodes);
    if (own > 0 && step > own * 1.0005)
        return fmt::format("The runner-up, {}, is slower: {} a step ({}){}.", where, render::duration(step),
                           against(step, own), differs_in(taken.predicted, second->predicted));
    const bool harms = second->damage > taken.damage + 5e-4;
    const std::string harm = harms ? fmt::format(" but damages more of what others need: {:.1f} % against {:.1f} %",
                                                 second->damage * 100, taken.damage * 100)
                                   : std::string();
    if (own > 0 && step < own * 0.9995)
        return fmt::format(
            "The runner-up, {}, is {:.1f} % faster{}; a placement may cost that little to save an island "
            "or leaf.",
            where, (1 - step / own) * 100, harm);
    return fmt::format("The runner-up, {}, is as fast{}.", where,
                       harms ? harm : std::string(", and as harmless; the lower numbers decide"));
}

std::string index_sentence(const explained_job& job) {
    const explained_option* plain = find(job, option_kind::by_index);
    const explained_option& taken = job.why.options.front();
    if (plain == nullptr || taken.predicted.step_us <= 0) return {};
    const std::string where = shares_text(job.on, plain->nodes);
    if (!std::isfinite(plain->predicted.step_us))
        return fmt::format("The first free GPUs by index, {}, do not reach one another.", where);
    if (plain->predicted.step_us <= taken.predicted.step_us * 1.0005)
        return "The first free GPUs by index are no slower: here measuring gains nothing.";
    return fmt::format("The first free GPUs by index, {}, would take {} a step ({}){}.", where,
                       render::duration(plain->predicted.step_us),
                       against(plain->predicted.step_us, taken.predicted.step_us),
                       differs_in(taken.predicted, plain->predicted));
}

std::string limit_sentence(const explained_job& job) {
    const placement::prediction& p = job.why.got.predicted;
    if (p.slowest_gb_per_s <= 0) return {};
    const auto& ranks = job.why.got.ranks;
    const auto place = [&](std::uint32_t r) {
        if (r >= ranks.size()) return fmt::format("rank {}", r);
        const topo::node_class& h = job.on.class_of(ranks[r].node);
        return fmt::format("rank {} ({} {})", r, job.on.nodes()[ranks[r].node.value].name, h.gpus[ranks[r].gpu].name);
    };
    return fmt::format("What limits it now: {} to {}, {}, at {} GB/s.", place(p.slowest_from), place(p.slowest_to),
                       hop_name(p, job.on.network()), render::short_number(p.slowest_gb_per_s));
}

json option_json(const explained_job& job, const explained_option& o) {
    json nodes = json::array();
    for (const auto& s : o.nodes) nodes.push_back(share_json(job.on, s));
    return {{"kind", placement::name_of(o.kind)},
            {"nodes", std::move(nodes)},
            {"predicted", prediction_json(o.predicted, job.on.network())},
            {"damage", o.damage},
            {"leaves", o.groups},
            {"level", o.level < 0 ? json() : json(render::level_name(o.level, job.on.network()))}};
}

json ring_json(placement::gpu_mask gpus, const placement::ring_cost& ring) {
    if (gpus == 0) return {};
    const bool alone = !std::isfinite(ring.gb_per_s);
    return {{"gpus", gpus_json(gpus)},
            {"ring_gb_per_s", alone ? json() : json(ring.gb_per_s)},
            {"ring_alpha_us", alone ? json() : json(ring.alpha_us)}};
}

std::string ring_text(placement::gpu_mask gpus, const placement::ring_cost& ring) {
    if (gpus == 0) return "-";
    if (!std::isfinite(ring.gb_per_s)) return render::gpus_text(gpus);
    return fmt::format("{} ({} GB/s)", render::gpus_text(gpus), render::short_number(ring.gb_per_s));
}

std::string options_table(const explained_job& job, const render::style& s) {
    render::table t{{"", "STEP", "AGAINST", "REACH", "SLOWEST", "DAMAGE", "WHERE"}, {}, {}};
    const double own = job.why.options.front().predicted.step_us;
    for (const auto& o : job.why.options)
        t.add({label_of(o.kind), render::duration(o.predicted.step_us),
               o.kind == option_kind::taken ? "" : against(o.predicted.step_us, own), reach_of(o, job.on.network()),
               o.predicted.slowest_gb_per_s > 0
                   ? fmt::format("{} GB/s, {}", render::short_number(o.predicted.slowest_gb_per_s),
                                 hop_name(o.predicted, job.on.network()))
                   : "-",
               fmt::format("{:.1f} %", o.damage * 100), render::shorten(shares_text(job.on, o.nodes), 48)});
    return t.text(s);
}

std::string accounts_table(const explained_job& job, const render::style& s) {
    render::table t{{"NODE", "FREE", "TAKEN", "NEXT BEST HERE", "BEST IF ALL WERE FREE"}, {}, {}};
    const auto& all = job.why.accounts;
    for (std::size_t i = 0; i < all.size() && i < accounts_shown; ++i)
        t.add({job.on.nodes()[all[i].taken.node.value].name, render::gpus_text(all[i].free),
               ring_text(all[i].taken.gpus, all[i].ring), ring_text(all[i].instead, all[i].instead_ring),
               ring_text(all[i].best_if_free, all[i].best_ring)});
    std::string out = t.text(s);
    if (job.why.got.nodes.size() > accounts_shown)
        out += fmt::format("… and {}\n", render::counted(job.why.got.nodes.size() - accounts_shown, "more node"));
    return out;
}

}  // namespace

std::string label_of(option_kind k) {
    switch (k) {
        case option_kind::taken: return "taken";
        case option_kind::runner_up: return "runner-up";
        case option_kind::in_order: return "ranks in order";
        case option_kind::by_index: return "first free by index";
        case option_kind::all_free: return "if all were free";
    }
    return {};
}

std::string reach_of(const explained_option& o, const topo::fabric& f) {
    if (o.nodes.size() < 2) return "one node";
    if (f.form() == topo::fabric_form::unknown) return render::counted(o.nodes.size(), "node");
    if (o.level == topo::unreachable_level) return "no way";
    const std::string leaves = fmt::format("{} {}", o.groups, level_word(f, 0, o.groups));
    if (o.level <= 0 || f.levels() < 3) return leaves;
    return fmt::format("{} of one {}", leaves, level_word(f, o.level, 1));
}

std::vector<std::string> reasons(const explained_job& job) {
    std::vector<std::string> out{bound_sentence(job)};
    if (job.why.options.empty()) return out;
    for (auto text : {runner_up_sentence(job), index_sentence(job), limit_sentence(job)})
        if (!text.empty()) out.push_back(std::move(text));
    if (const explained_option* plain = find(job, option_kind::in_order))
        out.push_back(fmt::format("Ranks are mapped to where they talk: node by node a step would take {} ({}).",
                                  render::duration(plain->predicted.step_us),
                                  against(plain->predicted.step_us, job.why.options.front().predicted.step_us)));
    return out;
}

json explanation_json(const explained_job& job, const topo::findings& notes) {
    const auto& why = job.why;
    json out = {{"outcome", word_of(why.how)},
                {"held_back_by", placement::name_of(why.held_back_by)},
                {"reasons", reasons(job)},
                {"request", request_json(job.wanted)},
                {"supply",
                 {{"gpus", why.gpus},
                  {"gpus_free", why.gpus_free},
                  {"nodes", why.nodes_allowed},
                  {"nodes_with_enough", why.nodes_enough},
                  {"gpus_of_a_node", why.share},
                  {"most_free_of_a_node", why.most_free}}},
                {"options", json::array()},
                {"levels", json::array()},
                {"nodes", json::array()}};
    for (const auto& o : why.options) out["options"].push_back(option_json(job, o));
    const topo::fabric& f = job.on.network();
    for (const auto& l : why.levels)
        out["levels"].push_back({{"level", render::level_name(l.level, f)},
                                 {"groups_taken", l.taken},
                                 {"nodes_of_emptiest", l.most_nodes},
                                 {"emptiest", l.most_nodes > 0 && l.group < f.groups(l.level)
                                                  ? json(f.name(l.level, topo::group_id(l.group)))
                                                  : json()}});
    for (const auto& a : why.accounts)
        out["nodes"].push_back({{"name", job.on.nodes()[a.taken.node.value].name},
                                {"free", gpus_json(a.free)},
                                {"taken", ring_json(a.taken.gpus, a.ring)},
                                {"next_best", ring_json(a.instead, a.instead_ring)},
                                {"best_if_all_free", ring_json(a.best_if_free, a.best_ring)}});
    out["notes"] = to_json(notes);
    return out;
}

std::string explanation_text(const explained_job& job, const render::style& s) {
    const auto& why = job.why;
    std::string out;
    if (!why.options.empty())
        out = s.bold(fmt::format("{} on {}: {}, {} a step", asked_text(job.wanted),
                                 render::printable(shares_text(job.on, why.got.nodes)),
                                 what_is_predicted(job.wanted, why.got.ranks.size()),
                                 render::duration(why.got.predicted.step_us))) +
              "\n";
    for (const auto& sentence : reasons(job)) out += "- " + render::printable(sentence) + "\n";
    if (why.options.empty()) return out;
    out += "\n" + s.bold("What it costs") + "\n" + options_table(job, s);
    if (why.got.predicted.term_count > 1)
        out += "\n" + s.bold("Terms of the step") + "\n" + parts_table(why.got.predicted, job.on.network(), s);
    out +=
        "\n" + s.bold("GPUs inside the nodes") + s.dim("  (slowest hop of their ring)") + "\n" + accounts_table(job, s);
    out += fmt::format("\n{} of {} free; nodes with {} or more free: {} of {}\n", why.gpus_free,
                       render::counted(why.gpus, "GPU"), render::counted(why.share, "GPU"), why.nodes_enough,
                       why.nodes_allowed);
    return out;
}

}  // namespace cli

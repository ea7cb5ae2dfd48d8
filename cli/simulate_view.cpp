// SPDX-License-Identifier: Apache-2.0
#include "cli/simulate_view.hpp"

#include <fmt/format.h>

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/render/table.hpp"
#include "cli/render/text.hpp"

namespace cli {
namespace {

namespace sim = placement::simulate;

json number(double value) { return std::isfinite(value) ? json(value) : json(); }

json steps_json(const sim::step_times& s) {
    return {{"jobs", s.jobs},
            {"gpus", s.gpus},
            {"step_mean_us", number(s.mean_us)},
            {"step_p99_us", number(s.p99_us)},
            {"leaves_mean", s.leaves_mean}};
}

json policy_json(const simulation& s, const simulated_policy& p) {
    const sim::summary& f = p.figures;
    json by_size = json::array();
    for (const auto& c : f.classes) {
        json row = {{"up_to_gpus", c.up_to}};
        row.update(steps_json(c.steps));
        by_size.push_back(std::move(row));
    }
    json bytes = json::array();
    for (std::size_t i = 0; i < f.level_bytes.size(); ++i)
        bytes.push_back({{"links", link_level_name(s, i)}, {"bytes", f.level_bytes[i]}});
    json fragmentation = json::object();
    for (std::size_t i = 0; i < f.fragmentation.size(); ++i)
        fragmentation[std::to_string(sim::fragment_sizes[i])] = f.fragmentation[i];
    return {{"policy", f.policy},
            {"complete", f.complete},
            {"started", f.started},
            {"never_fits", f.never_fits},
            {"not_placed", f.not_placed},
            {"all", steps_json(f.all)},
            {"by_size", by_size},
            {"link_bytes", bytes},
            {"fragmentation", fragmentation},
            {"utilisation", f.utilisation},
            {"wait_mean_s", f.wait_mean_s},
            {"wait_p95_s", f.wait_p95_s},
            {"makespan_s", f.makespan_s},
            {"decisions", f.decisions},
            {"decision_p50_us", f.decision_p50_us},
            {"decision_p99_us", f.decision_p99_us},
            {"decision_max_us", f.decision_max_us},
            {"decisions_per_s", f.decisions_per_s},
            {"replay_s", p.seconds},
            {"simulated", f.simulated},
            {"estimated", f.estimated}};
}

std::string share(double part) { return fmt::format("{:.1f} %", part * 100); }

template <class Text>
figure_row row_of(const simulation& s, std::string name, const Text& text) {
    figure_row row{std::move(name), {}};
    for (const auto& p : s.policies) row.values.push_back(text(p.figures));
    return row;
}

std::string table_of(const simulation& s, const std::string& corner, const std::vector<figure_row>& rows,
                     const render::style& how) {
    render::table t;
    t.headers.push_back(corner);
    t.right.push_back(false);
    for (const auto& p : s.policies) {
        t.headers.push_back(p.figures.policy);
        t.right.push_back(true);
    }
    for (const auto& row : rows) {
        std::vector<std::string> cells{row.name};
        cells.insert(cells.end(), row.values.begin(), row.values.end());
        t.add(std::move(cells));
    }
    return t.text(how);
}

}  // namespace

std::string seconds_text(double seconds) {
    if (seconds <= 0) return "0 s";
    if (seconds < 300) return render::short_number(seconds) + " s";
    if (seconds < 7200) return render::short_number(seconds / 60) + " min";
    if (seconds < 172'800) return render::short_number(seconds / 3600) + " h";
    return render::short_number(seconds / 86'400) + " d";
}

std::string link_level_name(const simulation& s, std::size_t level) {
    const auto name = [&](std::size_t i) { return i < s.levels.size() ? s.levels[i] : fmt::format("level {}", i + 1); };
    return (level == 0 ? "node" : name(level - 1)) + " to " + name(level);
}

std::vector<std::string> simulation_caveats(const simulation& s) {
    std::vector<std::string> out;
    out.push_back("Replayed, not run: step times are predicted, the same predictor scores every policy.");
    if (s.cluster_simulated) out.push_back("The cluster's costs are simulated.");
    if (s.slow) out.push_back("The slow links are made up from a seed.");
    for (const auto& p : s.policies)
        if (p.figures.estimated) {
            out.push_back("Some costs are estimated from the link class.");
            break;
        }
    if (!s.complete) out.push_back("Stopped before the end: figures are of the jobs replayed so far.");
    return out;
}

std::vector<std::pair<std::string, std::string>> simulation_facts(const simulation& s) {
    std::vector<std::pair<std::string, std::string>> out;
    out.emplace_back("cluster", fmt::format("{}, {}, {}", s.cluster, render::counted(s.nodes, "node"),
                                            render::counted(s.gpus, "GPU")));
    std::string left_out;
    const auto add = [&](std::uint64_t n, const char* what) {
        if (n > 0) left_out += fmt::format("; {} {}", n, what);
    };
    add(s.jobs.without_gpus, "without GPUs left out");
    add(s.jobs.not_ended, "without start or end left out");
    add(s.jobs.other_rows, "job steps left out");
    if (!s.policies.empty()) add(s.policies.front().figures.never_fits, "larger than the cluster left out");
    out.emplace_back("jobs", fmt::format("{} of {}{}", s.jobs.jobs.size(), s.jobs.form, left_out));
    out.emplace_back("load", std::isfinite(s.load) ? fmt::format("{:.1f} % of the GPUs", s.load * 100)
                                                   : std::string("all jobs arrive at once"));
    out.emplace_back("queue", s.queue == "easy" ? "EASY backfill" : "FIFO");
    out.emplace_back("message", fmt::format("{} a step, ring all-reduce", render::size(s.message_bytes)));
    if (s.slow)
        out.emplace_back("slow links",
                         fmt::format("{} of {} links at {:.0f} % of their bandwidth, on {}; seed {}, simulated",
                                     s.slow->slow_links, s.slow->links, s.slow_how.bandwidth * 100,
                                     render::counted(s.slow->slow_nodes, "node"), s.slow_how.seed));
    return out;
}

std::vector<figure_row> simulation_figures(const simulation& s) {
    std::vector<figure_row> rows;
    const auto add = [&](std::string name, const auto& text) { rows.push_back(row_of(s, std::move(name), text)); };
    add("jobs started", [](const sim::summary& f) { return std::to_string(f.started); });
    add("step, mean", [](const sim::summary& f) { return render::duration(f.all.mean_us); });
    add("step, p99", [](const sim::summary& f) { return render::duration(f.all.p99_us); });
    const double first = s.policies.empty() ? 0 : s.policies.front().figures.all.mean_us;
    add("step against the first", [&](const sim::summary& f) {
        return first > 0 ? fmt::format("{:.2f}x", f.all.mean_us / first) : std::string("-");
    });
    add("leaves a job, mean", [](const sim::summary& f) { return fmt::format("{:.2f}", f.all.leaves_mean); });
    const std::size_t levels = s.policies.empty() ? 0 : s.policies.front().figures.level_bytes.size();
    for (std::size_t i = 0; i < levels; ++i)
        add("bytes " + link_level_name(s, i), [&](const sim::summary& f) { return render::size(f.level_bytes[i]); });
    for (std::size_t i = 0; i < sim::fragment_sizes.size(); ++i)
        add(fmt::format("unusable for {} GPUs", sim::fragment_sizes[i]),
            [&](const sim::summary& f) { return share(f.fragmentation[i]); });
    add("utilisation", [](const sim::summary& f) { return share(f.utilisation); });
    add("wait, mean", [](const sim::summary& f) { return seconds_text(f.wait_mean_s); });
    add("wait, p95", [](const sim::summary& f) { return seconds_text(f.wait_p95_s); });
    add("decisions", [](const sim::summary& f) { return std::to_string(f.decisions); });
    add("decision, p50 us", [](const sim::summary& f) { return render::short_number(f.decision_p50_us); });
    add("decision, p99 us", [](const sim::summary& f) { return render::short_number(f.decision_p99_us); });
    add("decision, max us", [](const sim::summary& f) { return render::short_number(f.decision_max_us); });
    add("decisions a second", [](const sim::summary& f) { return fmt::format("{:.0f}", f.decisions_per_s); });
    figure_row took{"replay took", {}};
    for (const auto& p : s.policies) took.values.push_back(seconds_text(p.seconds));
    rows.push_back(std::move(took));
    return rows;
}

std::vector<figure_row> simulation_steps(const simulation& s) {
    std::map<std::uint32_t, std::vector<std::string>> rows;
    for (std::size_t i = 0; i < s.policies.size(); ++i)
        for (const auto& c : s.policies[i].figures.classes) {
            auto& row = rows[c.up_to];
            row.resize(s.policies.size());
            row[i] = fmt::format("{} ({})", render::duration(c.steps.mean_us), render::duration(c.steps.p99_us));
        }
    std::vector<figure_row> out;
    for (auto& [up_to, values] : rows) {
        std::string name = fmt::format("{} to {}", up_to / 2 + 1, up_to);
        if (up_to <= 2) name = std::to_string(up_to);
        out.push_back({std::move(name), std::move(values)});
    }
    return out;
}

json simulation_json(const simulation& s) {
    json policies = json::array();
    for (const auto& p : s.policies) policies.push_back(policy_json(s, p));
    json slow;
    if (s.slow)
        slow = {{"links", s.slow->links},    {"slow_links", s.slow->slow_links},  {"slow_nodes", s.slow->slow_nodes},
                {"share", s.slow_how.share}, {"bandwidth", s.slow_how.bandwidth}, {"seed", s.slow_how.seed},
                {"simulated", true}};
    json caveats = json::array();
    for (const auto& c : simulation_caveats(s)) caveats.push_back(c);
    return {
        {"complete", s.complete},
        {"cluster", {{"name", s.cluster}, {"nodes", s.nodes}, {"gpus", s.gpus}, {"simulated", s.cluster_simulated}}},
        {"degraded", slow},
        {"trace",
         {{"form", s.jobs.form},
          {"jobs", s.jobs.jobs.size()},
          {"without_gpus", s.jobs.without_gpus},
          {"not_ended", s.jobs.not_ended},
          {"job_steps", s.jobs.other_rows},
          {"load", number(s.load)}}},
        {"queue", s.queue},
        {"message_bytes", s.message_bytes},
        {"caveats", caveats},
        {"policies", policies}};
}

std::string simulation_text(const simulation& s, const render::style& how) {
    std::string out;
    for (const auto& [name, text] : simulation_facts(s))
        out += fmt::format("{}  {}\n", how.bold(render::pad_right(name, 10)), render::printable(text));
    out += "\n" + table_of(s, "FIGURE", simulation_figures(s), how);
    out += "\nPredicted step, GPU-weighted mean (p99), by GPUs of the job\n";
    out += table_of(s, "GPUS", simulation_steps(s), how);
    out +=
        "\nBytes: one step of every job. Unusable: of the free GPUs, from a tenth of the arrivals to the last one.\n";
    return out;
}

}  // namespace cli

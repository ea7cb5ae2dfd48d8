// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/render/page.hpp"
#include "cli/render/page_parts.hpp"
#include "cli/render/plot.hpp"
#include "cli/render/text.hpp"
#include "cli/simulate_view.hpp"

namespace cli::render {
namespace {

namespace sim = placement::simulate;

std::string percent(double share) { return fmt::format("{:.3g} %", share * 100); }
std::string step_text(double us) { return us <= 0 ? "0" : duration(us); }
std::string number_text(double value) { return fmt::format("{:.0f}", value); }

std::string figures_table(const simulation& s, const std::string& corner, const std::vector<figure_row>& figures) {
    std::vector<std::string> headers{corner};
    for (const auto& p : s.policies) headers.push_back(p.figures.policy);
    std::vector<std::vector<std::string>> rows;
    for (const auto& f : figures) {
        rows.push_back({f.name});
        rows.back().insert(rows.back().end(), f.values.begin(), f.values.end());
    }
    return data_table("", headers, rows);
}

template <class Value>
std::vector<plot_line> lines_of(const simulation& s, const Value& value) {
    std::vector<plot_line> out;
    for (const auto& p : s.policies) {
        plot_line line{p.figures.policy, {}, p.over_time.width_s()};
        for (const auto& point : p.over_time.points()) line.values.push_back(point.seconds > 0 ? value(point) : NAN);
        out.push_back(std::move(line));
    }
    return out;
}

std::string steps_plot(const simulation& s, bool p99) {
    std::vector<std::string> groups;
    std::vector<std::uint32_t> sizes;
    for (const auto& p : s.policies)
        for (const auto& c : p.figures.classes)
            if (c.up_to > 1 && std::find(sizes.begin(), sizes.end(), c.up_to) == sizes.end()) sizes.push_back(c.up_to);
    std::sort(sizes.begin(), sizes.end());
    for (const auto n : sizes) groups.push_back(fmt::format("≤ {} GPUs", n));
    std::vector<plot_bars> bars;
    for (const auto& p : s.policies) {
        plot_bars b{p.figures.policy, std::vector<double>(sizes.size(), NAN)};
        for (const auto& c : p.figures.classes) {
            const auto at = std::find(sizes.begin(), sizes.end(), c.up_to);
            if (at != sizes.end())
                b.values[static_cast<std::size_t>(at - sizes.begin())] = p99 ? c.steps.p99_us : c.steps.mean_us;
        }
        bars.push_back(std::move(b));
    }
    return bar_plot(p99 ? "p99 predicted step time by size of job" : "Mean predicted step time by size of job", groups,
                    bars, true, step_text);
}

std::string fragmentation_plot(const simulation& s) {
    std::vector<std::string> groups;
    for (const auto k : sim::fragment_sizes) groups.push_back(fmt::format("for {} GPUs", k));
    std::vector<plot_bars> bars;
    for (const auto& p : s.policies)
        bars.push_back({p.figures.policy, {p.figures.fragmentation.begin(), p.figures.fragmentation.end()}});
    return bar_plot("Free GPUs that jobs of this size cannot use", groups, bars, false, percent);
}

}  // namespace

std::string simulation_page(const simulation& s) {
    std::vector<std::string> names;
    for (const auto& p : s.policies) names.push_back(p.figures.policy);
    const std::string legend = plot_legend(names);
    std::string body = "<section>\n<h2>What was replayed</h2>\n";
    std::string caveats;
    for (const auto& c : simulation_caveats(s)) caveats += (caveats.empty() ? "" : " ") + c;
    body += fmt::format("<p class=\"box loud\" role=\"note\"><b>SIMULATED</b> {}</p>\n", html(caveats));
    std::vector<std::vector<std::string>> facts;
    for (const auto& [name, text] : simulation_facts(s)) facts.push_back({name, text});
    body += data_table("", {"", ""}, facts) + "</section>\n";
    body +=
        "<section>\n<h2>Figures</h2>\n" + figures_table(s, "", simulation_figures(s)) +
        "<p class=\"sub\">Steps are weighted by GPUs. Bytes: one step of every job. Unusable: of the free GPUs, from a "
        "tenth of the arrivals to the last one.</p></section>\n";
    body += "<section>\n<h2>Predicted step time by size of job</h2>\n" + legend + "<h3>Mean</h3>\n" +
            steps_plot(s, false) + "<h3>p99</h3>\n" + steps_plot(s, true) + "<h3>Mean (p99)</h3>\n" +
            figures_table(s, "GPUs", simulation_steps(s)) + "</section>\n";
    body += "<section>\n<h2>Over time</h2>\n" + legend + "<h3>Busy GPUs</h3>\n" +
            line_plot("Busy GPUs over time", lines_of(s, [](const sim::time_shares& t) { return t.utilisation(); }), 1,
                      percent, seconds_text) +
            "<h3>Waiting jobs</h3>\n" +
            line_plot("Waiting jobs over time",
                      lines_of(s, [](const sim::time_shares& t) { return t.waiting / t.seconds; }), 0, number_text,
                      seconds_text) +
            fmt::format("<h3>Free GPUs that a job of {} cannot use</h3>\n", sim::fragment_sizes[0]) +
            line_plot("Fragmentation over time",
                      lines_of(s, [](const sim::time_shares& t) { return t.free > 0 ? t.fragmentation(0) : NAN; }), 0,
                      percent, seconds_text) +
            "</section>\n";
    body += "<section>\n<h2>Fragmentation</h2>\n" + legend + fragmentation_plot(s) + "</section>\n";
    return page(fmt::format("{} replayed", counted(s.jobs.jobs.size(), "job")), "on " + s.cluster + ", simulated",
                body);
}

}  // namespace cli::render

// SPDX-License-Identifier: Apache-2.0
#include "cli/stats_view.hpp"

#include <fmt/format.h>

#include <array>
#include <ctime>
#include <iterator>

#include "cli/render/table.hpp"
#include "cli/render/text.hpp"

namespace cli {
namespace {

using topo::stats::counters;
using topo::stats::histogram;
using topo::stats::state;

// As atoll_step of plugin/slurm/glue.h: what it is called in a key, and in words.
struct step_name {
    const char* key;
    const char* words;
};
constexpr std::array<step_name, topo::stats::steps> step_names = {{{"placed", "placed as chosen"},
                                                                   {"placed_far_cores", "placed, far cores allowed"},
                                                                   {"placed_any_gpus", "placed, GPUs left to Slurm"},
                                                                   {"refused", "chosen nodes refused, left to Slurm"},
                                                                   {"no_fit", "nothing fits now, left to Slurm"},
                                                                   {"passed", "left to Slurm from the start"}}};

struct timed {
    const char* key;
    const char* words;
    const histogram& times;
};

std::array<timed, 3> histograms_of(const counters& c) {
    return {{{"decision", "decision", c.total},
             {"own", "Atoll's own part", c.own},
             {"bookkeeping", "bookkeeping", c.books}}};
}

const char* name_of(state s) {
    switch (s) {
        case state::off: return "off";
        case state::on: return "on";
        case state::simulated: return "on, SIMULATED costs";
        case state::stopped: break;
    }
    return "stopped";
}

std::string when(std::int64_t seconds) {
    const std::time_t t = seconds;
    struct tm parts {};
    std::array<char, 64> text{};
    if (seconds <= 0 || ::gmtime_r(&t, &parts) == nullptr ||
        std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts) == 0)
        return "never";
    return text.data();
}

double us(std::uint64_t ns) { return static_cast<double>(ns) / 1e3; }

double mean_us(const histogram& h) {
    const std::uint64_t n = h.count();
    return n == 0 ? 0 : static_cast<double>(h.sum_ns) / static_cast<double>(n) / 1e3;
}

double share(std::uint64_t part, std::uint64_t all) {
    return all == 0 ? 0 : 100 * static_cast<double>(part) / static_cast<double>(all);
}

json known_time(std::int64_t seconds) { return seconds > 0 ? json(seconds) : json(); }

std::string label(const std::string& text) {
    std::string out;
    for (const char ch : text) {
        if (ch == '"' || ch == '\\') out += '\\';
        out += ch;
    }
    return out;
}

void metric(std::string& out, const char* name, const char* kind, const char* help) {
    out += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, kind);
}

}  // namespace

std::string stats_text(const counters& c, const render::style& s) {
    std::string out = s.bold(fmt::format("Atoll in slurmctld: {}", name_of(c.now))) + "\n";
    out += fmt::format("  pid {}, counting since {}, files loaded {}, last decision {}\n", c.pid, when(c.started),
                       when(c.loaded), when(c.decided));
    out += fmt::format("  {} of Slurm's nodes are in the cluster file, {} are not, {} have other GPUs than there\n\n",
                       c.nodes_known, c.nodes_unknown, c.nodes_differing);
    const std::uint64_t all = c.decisions();
    render::table ends{{"DECISIONS", "%", "ENDED AS"}, {true, true}, {}};
    for (std::size_t i = 0; i < step_names.size(); ++i)
        ends.add({std::to_string(c.by_step[i]), fmt::format("{:.1f}", share(c.by_step[i], all)), step_names[i].words});
    ends.add({std::to_string(all), "", "all"});
    out += ends.text(s) + "\n";
    if (!c.left.empty()) {
        render::table left{{"LEFT TO SLURM", "BECAUSE THE JOB"}, {true}, {}};
        for (const auto& [reason, count] : c.left) left.add({std::to_string(count), reason});
        out += left.text(s) + "\n";
    }
    render::table times{{"MICROSECONDS", "COUNT", "MEAN", "P50", "P90", "P99", "P99.9"},
                        {false, true, true, true, true, true, true},
                        {}};
    for (const timed& t : histograms_of(c)) {
        std::vector<std::string> row = {t.words, std::to_string(t.times.count()),
                                        fmt::format("{:.1f}", mean_us(t.times))};
        for (const double q : {0.5, 0.9, 0.99, 0.999}) row.push_back(fmt::format("{:.1f}", us(t.times.quantile(q))));
        times.add(std::move(row));
    }
    return out + times.text(s);
}

json stats_json(const counters& c) {
    json ends = {{"all", c.decisions()}};
    for (std::size_t i = 0; i < step_names.size(); ++i) ends[step_names[i].key] = c.by_step[i];
    json left = json::array();
    for (const auto& [reason, count] : c.left) left.push_back({{"reason", reason}, {"count", count}});
    json times = json::object();
    for (const timed& t : histograms_of(c))
        times[t.key] = {{"count", t.times.count()},          {"mean", mean_us(t.times)},
                        {"p50", us(t.times.quantile(0.5))},  {"p90", us(t.times.quantile(0.9))},
                        {"p99", us(t.times.quantile(0.99))}, {"p999", us(t.times.quantile(0.999))}};
    return {{"state", c.now == state::simulated ? "simulated" : name_of(c.now)},
            {"pid", c.pid},
            {"started", known_time(c.started)},
            {"loaded", known_time(c.loaded)},
            {"last_decision", known_time(c.decided)},
            {"nodes", {{"known", c.nodes_known}, {"unknown", c.nodes_unknown}, {"differing", c.nodes_differing}}},
            {"decisions", std::move(ends)},
            {"left_to_slurm", std::move(left)},
            {"times_us", std::move(times)}};
}

std::string stats_prometheus(const counters& c) {
    std::string out;
    metric(out, "atoll_slurm_up", "gauge", "1 while Atoll decides in slurmctld, 0 when it is off or stopped.");
    out += fmt::format("atoll_slurm_up {}\n", c.now == state::on || c.now == state::simulated ? 1 : 0);
    metric(out, "atoll_slurm_simulated_costs", "gauge", "1 when the cluster file's costs are simulated.");
    out += fmt::format("atoll_slurm_simulated_costs {}\n", c.now == state::simulated ? 1 : 0);
    metric(out, "atoll_slurm_nodes", "gauge", "Nodes of Slurm by what the cluster file says of them.");
    out += fmt::format(
        "atoll_slurm_nodes{{state=\"known\"}} {}\natoll_slurm_nodes{{state=\"unknown\"}} {}\n"
        "atoll_slurm_nodes{{state=\"differing\"}} {}\n",
        c.nodes_known, c.nodes_unknown, c.nodes_differing);
    metric(out, "atoll_slurm_decisions_total", "counter", "Decisions by where they ended.");
    for (std::size_t i = 0; i < step_names.size(); ++i)
        out += fmt::format("atoll_slurm_decisions_total{{end=\"{}\"}} {}\n", step_names[i].key, c.by_step[i]);
    metric(out, "atoll_slurm_left_total", "counter", "Decisions left to Slurm from the start, by what the job asks.");
    for (const auto& [reason, count] : c.left)
        out += fmt::format("atoll_slurm_left_total{{reason=\"{}\"}} {}\n", label(reason), count);
    for (const timed& t : histograms_of(c)) {
        const std::string name = fmt::format("atoll_slurm_{}_seconds", t.key);
        metric(out, name.c_str(), "summary", "Time in slurmctld since its start.");
        for (const double q : {0.5, 0.9, 0.99, 0.999})
            out += fmt::format("{}{{quantile=\"{}\"}} {}\n", name, q, static_cast<double>(t.times.quantile(q)) / 1e9);
        out += fmt::format("{}_sum {}\n{}_count {}\n", name, static_cast<double>(t.times.sum_ns) / 1e9, name,
                           t.times.count());
    }
    metric(out, "atoll_slurm_last_decision_timestamp_seconds", "gauge", "When the last decision was made; 0: never.");
    return out + fmt::format("atoll_slurm_last_decision_timestamp_seconds {}\n", c.decided);
}

}  // namespace cli

// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/glue.h"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>

#include "plugin/slurm/counters.hpp"
#include "plugin/slurm/job_hint.hpp"
#include "plugin/slurm/regular_file.hpp"
#include "plugin/slurm/session.hpp"
#include "plugin/slurm/stats_file.hpp"
#include "topo/counted.hpp"
#include "topo/file.hpp"
#include "topo/quote.hpp"

using slurm_plugin::config;
using slurm_plugin::session;

struct atoll_glue {
    atoll_log_fn log = nullptr;
    void* context = nullptr;
    std::optional<session> active;
    slurm_plugin::stats_file counts;
    std::uint64_t reported = 0;  // decisions covered by the last summary
    bool failed = false;         // an inner error was logged already
    unsigned bad_hints = 0;      // lines about them
    std::uint32_t bad_hint_job = 0;
};

namespace {

using namespace slurm_plugin;

namespace stats = topo::stats;

constexpr unsigned most_bad_hints = 100;

std::int64_t seconds_now() noexcept {
    struct timespec t {};
    ::clock_gettime(CLOCK_REALTIME_COARSE, &t);
    return t.tv_sec;
}

void say(const atoll_glue& g, atoll_log_level level, const std::string& text) {
    if (g.log != nullptr) g.log(g.context, level, ("atoll: " + text).c_str());
}

// Runs `body`; on an exception logs once and gives `otherwise`. Nothing leaves it.
template <class T, class Body>
T guarded(atoll_glue* g, T otherwise, Body&& body) noexcept {
    if (g == nullptr) return otherwise;
    const char* what = "unknown exception";
    try {
        return body();
    } catch (const std::exception& e) {
        what = e.what();
        try {
            if (!std::exchange(g->failed, true))
                say(*g, ATOLL_LOG_ERROR,
                    fmt::format("inner error: {}; Slurm decides alone where this happens, please report it with "
                                "slurmctld.log (said once)",
                                what));
        } catch (...) {  // the log itself failed: nothing is left to tell
        }
    } catch (...) {
        g->failed = true;
    }
    return otherwise;
}

std::string config_path_or_default(const char* given) {
    if (given != nullptr) return given;
    const char* from_env = std::getenv("ATOLL_CONF");
    return from_env != nullptr && *from_env != '\0' ? from_env : ATOLL_DEFAULT_CONFIG;
}

std::string place_and_text(const topo::error& e, const std::string& path) {
    topo::error placed = e;
    if (placed.where.find(path) == std::string::npos)
        placed.where = placed.where.empty() ? path : path + ": " + placed.where;
    return placed.message();
}

struct loaded_files {
    config settings;
    topo::cluster_description file;
};

enum class load_end { loaded, off, bad };

// Reads both files. `bad` leaves the reason in `why`, `off` the info line.
load_end read_files(const std::string& path, loaded_files& out, std::string& why) {
    const auto text = read_regular(path, 1u << 20);
    if (!text) {
        why = text.failure().code == topo::errc::missing
                  ? fmt::format(
                        "no configuration at {}: passing all calls to select/cons_tres; see docs/slurm.md "
                        "to switch placement on",
                        path)
                  : place_and_text(text.failure(), path);
        return text.failure().code == topo::errc::missing ? load_end::off : load_end::bad;
    }
    auto settings = parse_config(*text, path);
    if (!settings) {
        why = settings.failure().message();
        return load_end::bad;
    }
    out.settings = *settings;
    if (!out.settings.on) {
        why = fmt::format("mode: off in {}: passing all calls to select/cons_tres", path);
        return load_end::off;
    }
    const auto cluster_text = read_regular(out.settings.cluster_file, topo::max_file_bytes);
    if (!cluster_text) {
        topo::error e = cluster_text.failure();
        if (e.remedy.empty()) e.remedy = fmt::format("correct cluster_file in {}, or run atoll merge", path);
        why = place_and_text(e, out.settings.cluster_file);
        return load_end::bad;
    }
    auto parsed = topo::parse_cluster(*cluster_text, out.settings.cluster_file);
    if (!parsed) {
        why = place_and_text(parsed.failure(), out.settings.cluster_file);
        return load_end::bad;
    }
    out.file = std::move(*parsed);
    return load_end::loaded;
}

topo::result<session> make_session(const config& settings, const topo::cluster_description& file,
                                   const atoll_node_info* nodes, std::uint32_t count) {
    placement::placer_options options;
    options.damage_weight = settings.damage_weight;
    options.mapped_ranks = 0;  // the step launcher's business
    options.subsets.message_bytes = settings.message_bytes;
    auto a = arrange(file, nodes, count, options);
    if (!a) return a.failure();
    if (a->cluster->simulated() && !settings.allow_simulated)
        return topo::error{topo::errc::refused, "", "its costs are simulated, not measured",
                           "calibrate the nodes (atoll calibrate), or write allow_simulated: true to take them anyway"};
    return session(std::move(*a), settings, file);
}

void tell_loaded(const atoll_glue& g, const session& s) {
    const arranged& a = s.cluster();
    say(g, ATOLL_LOG_INFO,
        fmt::format("{} loaded: {} of Slurm's nodes, {}{}", s.settings().cluster_file, a.nodes_known,
                    topo::counted(a.cluster->classes().size(), "class", "classes"),
                    a.cluster->simulated() ? ", SIMULATED costs" : ""));
    if (a.nodes_unknown > 0)
        say(g, ATOLL_LOG_INFO,
            a.nodes_unknown == 1
                ? fmt::format("1 of Slurm's nodes is not in {}: it is left to Slurm; add it with atoll merge",
                              s.settings().cluster_file)
                : fmt::format("{} of Slurm's nodes are not in {}: they are left to Slurm; add them with atoll merge",
                              a.nodes_unknown, s.settings().cluster_file));
    if (a.unslurmed_count > 0)
        say(g, ATOLL_LOG_INFO,
            fmt::format("{} of {} {} not in slurm.conf ({}{}): ignored", topo::counted(a.unslurmed_count, "node"),
                        s.settings().cluster_file, a.unslurmed_count == 1 ? "is" : "are", fmt::join(a.unslurmed, ", "),
                        a.unslurmed_count > a.unslurmed.size() ? ", …" : ""));
}

// A bad new file: the old one stays, arranged anew because Slurm's table may have changed.
void keep_old(atoll_glue& g, const std::string& why, const atoll_node_info* nodes, std::uint32_t count) {
    if (!g.active) {
        say(g, ATOLL_LOG_ERROR, why + "; until then all calls are passed to select/cons_tres");
        return;
    }
    auto again = make_session(g.active->settings(), g.active->file(), nodes, count);
    if (again) {
        g.active.emplace(std::move(*again));
        say(g, ATOLL_LOG_ERROR, why + "; the cluster file loaded before stays in force");
    } else {
        g.active.reset();
        say(g, ATOLL_LOG_ERROR,
            why +
                "; the one loaded before no longer fits slurm.conf, so all calls are passed to "
                "select/cons_tres");
    }
}

// The file of the counters, at its default place only where that folder was made. A file that cannot be used costs a
// line.
void open_stats(atoll_glue& g, const config& settings) {
    std::string path = settings.stats_file;
    if (path == "off" || (path.empty() && ::access("/run/atoll", W_OK) != 0))
        path.clear();
    else if (path.empty())
        path = ATOLL_DEFAULT_STATS;
    const auto opened = g.counts.open(path);
    if (!opened)
        say(g, ATOLL_LOG_ERROR, opened.failure().message() + "; decisions go on without counters for atoll status");
}

// What the file says beside the counters of decisions.
void describe_load(atoll_glue& g) {
    g.counts.set(stats::at_loaded, static_cast<std::uint64_t>(seconds_now()));
    const bool on = g.active.has_value();
    const bool simulated = on && g.active->cluster().cluster->simulated();
    g.counts.set(stats::at_state, static_cast<std::uint64_t>(!on         ? stats::state::off
                                                             : simulated ? stats::state::simulated
                                                                         : stats::state::on));
    g.counts.set(stats::at_known, on ? g.active->cluster().nodes_known : 0);
    g.counts.set(stats::at_unknown, on ? g.active->cluster().nodes_unknown : 0);
    g.counts.set(stats::at_differing, on ? g.active->differing() : 0);
}

int load(atoll_glue& g, const char* given, const atoll_node_info* nodes, std::uint32_t count) {
    const std::string path = config_path_or_default(given);
    loaded_files files;
    std::string why;
    const load_end end = nodes == nullptr || count == 0 ? load_end::off : read_files(path, files, why);
    if (end != load_end::bad) open_stats(g, files.settings);
    if (end == load_end::off) {
        g.active.reset();
        if (!why.empty()) say(g, ATOLL_LOG_INFO, why);
        return 0;
    }
    if (end == load_end::loaded) {
        auto made = make_session(files.settings, files.file, nodes, count);
        if (made) {
            g.active.emplace(std::move(*made));
            tell_loaded(g, *g.active);
            return 1;
        }
        why = place_and_text(made.failure(), files.settings.cluster_file);
    }
    keep_old(g, why, nodes, count);
    return g.active ? 1 : 0;
}

void log_decision(const atoll_glue& g, const atoll_decision& d) {
    const bool as_info = g.active && g.active->settings().log_decisions;
    say(g, as_info ? ATOLL_LOG_INFO : ATOLL_LOG_DEBUG,
        fmt::format("JobId={} {}{}{}{}{}: {}, {:.1f} us, {:.1f} us of them Atoll's own", d.job_id, name_of(d.step),
                    d.reason != nullptr ? ": " : "", d.reason != nullptr ? d.reason : "",
                    d.nodes != nullptr ? " on " : "", d.nodes != nullptr ? d.nodes : "",
                    d.started != 0 ? "fits" : "refused", static_cast<double>(d.total_ns) / 1e3,
                    static_cast<double>(d.own_ns) / 1e3));
}

}  // namespace

extern "C" {

struct atoll_glue* atoll_glue_new(atoll_log_fn log, void* context) {
    auto* g = new (std::nothrow) atoll_glue;
    if (g != nullptr) {
        g->log = log;
        g->context = context;
        g->counts.set(stats::at_pid, static_cast<std::uint64_t>(::getpid()));
        g->counts.set(stats::at_started, static_cast<std::uint64_t>(seconds_now()));
    }
    return g;
}

void atoll_glue_free(struct atoll_glue* g) { delete g; }

int atoll_glue_load(struct atoll_glue* g, const char* path, const struct atoll_node_info* nodes, uint32_t count) {
    constexpr int thrown = -1;
    const int end = guarded(g, thrown, [&] { return load(*g, path, nodes, count); });
    if (g == nullptr) return 0;
    if (end == thrown) g->active.reset();  // it may be arranged for another node table
    describe_load(*g);
    return end == thrown ? 0 : end;
}

int atoll_glue_active(const struct atoll_glue* g) { return g != nullptr && g->active ? 1 : 0; }

int atoll_glue_logs_decisions(const struct atoll_glue* g) {
    return atoll_glue_active(g) != 0 && g->active->settings().log_decisions ? 1 : 0;
}

int atoll_glue_excludes_far_cores(const struct atoll_glue* g) {
    return atoll_glue_active(g) != 0 && g->active->settings().exclude_far_cores ? 1 : 0;
}

uint32_t atoll_glue_expected_gpus(const struct atoll_glue* g, uint32_t node) {
    return atoll_glue_active(g) != 0 && node < g->active->nodes() ? g->active->cluster().gpus[node] : 0;
}

uint64_t atoll_glue_sockets(const struct atoll_glue* g, uint32_t node, uint64_t gpus) {
    if (atoll_glue_expected_gpus(g, node) == 0) return 0;
    const slurm_plugin::arranged& a = g->active->cluster();
    const std::uint32_t of_class = a.cluster->nodes()[node].hardware.value;
    if (a.slurm_sockets[node] != a.numa_nodes[of_class]) return 0;  // Slurm divides the node in another way
    std::uint64_t sockets = 0;
    for (std::size_t i = 0; i < a.socket[of_class].size(); ++i) {
        if ((gpus >> i & 1) == 0) continue;
        if (a.socket[of_class][i] < 0) return 0;
        sockets |= std::uint64_t{1} << a.socket[of_class][i];
    }
    return sockets;
}

void atoll_glue_mark(struct atoll_glue* g, const uint64_t* words, uint32_t bits) {
    if (atoll_glue_active(g) != 0) g->active->dirty().add_words(words, bits);
}

void atoll_glue_mark_node(struct atoll_glue* g, uint32_t node) {
    if (atoll_glue_active(g) != 0) g->active->dirty().add(node);
}

void atoll_glue_mark_all(struct atoll_glue* g) {
    if (atoll_glue_active(g) != 0) g->active->dirty().add_all();
}

int atoll_glue_next_dirty(struct atoll_glue* g, uint32_t* node) {
    return atoll_glue_active(g) != 0 && node != nullptr && g->active->dirty().take(*node) ? 1 : 0;
}

int atoll_glue_next_audit(struct atoll_glue* g, uint32_t* node) {
    return atoll_glue_active(g) != 0 && node != nullptr && g->active->next_audit(*node) ? 1 : 0;
}

int atoll_glue_set_node(struct atoll_glue* g, uint32_t node, const struct atoll_node_state* state) {
    return atoll_glue_active(g) != 0 && state != nullptr && g->active->set_node(node, *state) ? 1 : 0;
}

int atoll_glue_asks_off(struct atoll_glue* g, const char* hint, uint32_t job_id) {
    if (g == nullptr || hint == nullptr) return 0;
    slurm_plugin::job_hint said;
    slurm_plugin::hint_fault fault;
    if (slurm_plugin::parse_hint(hint, said, fault)) return said.how == slurm_plugin::job_hint::policy::off ? 1 : 0;
    // A waiting job is looked at again and again.
    if (g->bad_hints >= most_bad_hints || g->bad_hint_job == job_id) return 0;
    g->bad_hint_job = job_id;
    ++g->bad_hints;
    return guarded(g, 0, [&] {
        say(*g, ATOLL_LOG_INFO,
            fmt::format("JobId={} --atoll: '{}': {}; ignored{}", job_id, topo::shown(fault.part), fault.why,
                        g->bad_hints == most_bad_hints ? " (further ones are not logged)" : ""));
        return 0;
    });
}

enum atoll_verdict atoll_glue_choose(struct atoll_glue* g, const struct atoll_wish* wish, struct atoll_choice* out) {
    if (out != nullptr) *out = {};
    if (atoll_glue_active(g) == 0 || wish == nullptr || out == nullptr) return ATOLL_SKIPPED;
    return guarded(g, ATOLL_FAILED, [&] { return g->active->choose(*wish, *out); });
}

void atoll_glue_decided(struct atoll_glue* g, const struct atoll_decision* d, int log) {
    if (g == nullptr || d == nullptr || d->step < 0 || d->step >= ATOLL_STEP_COUNT) return;
    slurm_plugin::stats_file& c = g->counts;
    c.check();
    c.add(stats::at_steps + static_cast<std::size_t>(d->step));
    c.set(stats::at_decided, static_cast<std::uint64_t>(seconds_now()));
    if (d->reason != nullptr) c.add_reason(d->reason);
    if (d->step < ATOLL_STEP_NO_FIT) {
        c.add_time(own_times, d->own_ns);
        c.add_time(total_times, d->total_ns);
    }
    if (log != 0) guarded(g, 0, [&] { return log_decision(*g, *d), 0; });
}

void atoll_glue_booked(struct atoll_glue* g, uint64_t ns) {
    if (g == nullptr) return;
    g->counts.check();
    g->counts.add_time(books_times, ns);
    if (g->active) g->counts.set(stats::at_differing, g->active->differing());
}

void atoll_glue_counters(const struct atoll_glue* g, struct atoll_counters* out) {
    if (out == nullptr) return;
    *out = {};
    if (g == nullptr) return;
    for (int i = 0; i < ATOLL_STEP_COUNT; ++i)
        out->steps[i] = g->counts.get(stats::at_steps + static_cast<std::size_t>(i));
    const stats::histogram own = g->counts.times(own_times);
    const stats::histogram total = g->counts.times(total_times);
    const stats::histogram books = g->counts.times(books_times);
    out->own_p50_ns = own.quantile(0.5);
    out->own_p99_ns = own.quantile(0.99);
    out->total_p50_ns = total.quantile(0.5);
    out->total_p99_ns = total.quantile(0.99);
    out->books = books.count();
    out->books_p50_ns = books.quantile(0.5);
    out->books_p99_ns = books.quantile(0.99);
    if (!g->active) return;
    out->nodes_known = g->active->cluster().nodes_known;
    out->nodes_unknown = g->active->cluster().nodes_unknown;
    out->nodes_differing = g->active->differing();
}

void atoll_glue_summary(struct atoll_glue* g) {
    guarded(g, 0, [&] {
        atoll_counters c;
        atoll_glue_counters(g, &c);
        std::uint64_t all = 0;
        std::string by_step;
        for (int i = 0; i < ATOLL_STEP_COUNT; ++i) {
            all += c.steps[i];
            by_step += fmt::format("{}{} {}", i > 0 ? "; " : "", c.steps[i], name_of(static_cast<atoll_step>(i)));
        }
        if (all == std::exchange(g->reported, all)) return 0;
        say(*g, ATOLL_LOG_INFO,
            fmt::format("{} decisions since start: {}. Time p50 {:.0f} us, p99 {:.0f} us; Atoll's own p50 {:.1f} us, "
                        "p99 {:.1f} us; {} changes booked, p50 {:.1f} us, p99 {:.1f} us",
                        all, by_step, static_cast<double>(c.total_p50_ns) / 1e3,
                        static_cast<double>(c.total_p99_ns) / 1e3, static_cast<double>(c.own_p50_ns) / 1e3,
                        static_cast<double>(c.own_p99_ns) / 1e3, c.books, static_cast<double>(c.books_p50_ns) / 1e3,
                        static_cast<double>(c.books_p99_ns) / 1e3));
        if (c.nodes_differing > 0)
            say(*g, ATOLL_LOG_INFO,
                c.nodes_differing == 1
                    ? std::string(
                          "1 node has another GPU count in Slurm than in the cluster file (or has not registered "
                          "yet): left to Slurm; calibrate it again if its hardware changed")
                    : fmt::format("{} nodes have another GPU count in Slurm than in the cluster file (or have not "
                                  "registered yet): left to Slurm; calibrate them again if their hardware changed",
                                  c.nodes_differing));
        return 0;
    });
}

__attribute__((visibility("default"))) const struct atoll_glue_api* atoll_glue_entry(void) {
    static constexpr atoll_glue_api api{ATOLL_GLUE_ABI,
                                        atoll_glue_new,
                                        atoll_glue_free,
                                        atoll_glue_load,
                                        atoll_glue_active,
                                        atoll_glue_logs_decisions,
                                        atoll_glue_excludes_far_cores,
                                        atoll_glue_expected_gpus,
                                        atoll_glue_sockets,
                                        atoll_glue_mark,
                                        atoll_glue_mark_node,
                                        atoll_glue_mark_all,
                                        atoll_glue_next_dirty,
                                        atoll_glue_next_audit,
                                        atoll_glue_set_node,
                                        atoll_glue_asks_off,
                                        atoll_glue_choose,
                                        atoll_glue_decided,
                                        atoll_glue_booked,
                                        atoll_glue_counters,
                                        atoll_glue_summary};
    return &api;
}

}  // extern "C"

// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/mix.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/render/facts.hpp"
#include "cli/render/page.hpp"
#include "cli/render/progress.hpp"
#include "cli/render/text.hpp"
#include "cli/simulate_view.hpp"
#include "cli/size.hpp"
#include "cli/stop_signal.hpp"
#include "cli/verb.hpp"
#include "topo/file.hpp"
#include "topo/quote.hpp"

namespace cli {
namespace {

namespace sim = placement::simulate;

struct options {
    std::string file;
    std::string trace;
    std::vector<std::string> policies;
    std::vector<std::string> only;
    std::string base = "slurm-tree";
    bool blind = false;
    std::string queue = "fifo";
    std::uint32_t jobs = 0;
    std::uint32_t scale = 1;
    double load = 0;
    std::uint64_t seed = 1;
    std::string message = "64M";
    std::string degrade;
    std::string degrade_to = "50%";
    std::string degrade_links = "all";
    std::string html;
    common_options common;
};

topo::error bad(std::string where, std::string what, std::string remedy) {
    return {topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}

// "5%" or "0.05", in (0, 1].
topo::result<double> parse_share(std::string_view text, const std::string& option) {
    std::string_view digits = text;
    const bool percent = digits.ends_with('%');
    if (percent) digits.remove_suffix(1);
    double value = 0;
    const char* end = digits.data() + digits.size();
    const auto [stop, failed] = std::from_chars(digits.data(), end, value);
    if (percent) value /= 100;
    if (digits.empty() || failed != std::errc{} || stop != end || !(value > 0) || value > 1)
        return bad(option, "'" + topo::shown(text) + "' is not a share above 0 and up to 100%",
                   "write a percentage as 5%, or a part of one as 0.05");
    return value;
}

std::uint64_t now_ns() noexcept {
    const auto now = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
}

topo::result<std::vector<sim::policy>> policies_of(const options& o) {
    std::vector<std::string> names = o.policies;
    if (names.empty()) names = {"atoll", "slurm-tree", "linear"};
    std::vector<sim::policy> out;
    for (const auto& name : names) out.push_back(*sim::policy_named(name));
    if (o.blind && std::find(names.begin(), names.end(), "atoll-blind") == names.end())
        out.push_back(*sim::policy_named("atoll-blind"));
    for (const auto& part : o.only) out.push_back(sim::only(*sim::part_named(part), *sim::rule_named(o.base)));
    for (std::size_t a = 0; a < out.size(); ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (out[a].name == out[b].name)
                return bad("--policy", "'" + out[a].name + "' is asked for twice", "name each once");
    return out;
}

topo::result<sim::trace> trace_of(const options& o, double gpus) {
    const auto kind = sim::mix_named(o.trace);
    if (!kind && o.trace.starts_with("mix:"))
        return bad("trace", "'" + topo::shown(o.trace) + "' is no mix", "use mix:llm, mix:lognormal or mix:pow2");
    if (kind) {
        sim::mix_options how;
        how.kind = *kind;
        how.jobs = o.jobs > 0 ? o.jobs : 10'000;
        how.load = o.load > 0 ? o.load : 0.85;
        how.gpus = gpus / o.scale;
        how.seed = o.seed;
        sim::trace made = sim::make_mix(how);
        if (!made.scale_gpus(o.scale))
            return bad("--scale-gpus", "a job would be larger than any trace may have", "use a smaller factor");
        return made;
    }
    auto text = read_input(o.trace);
    if (!text) return text.failure();
    if (const auto fine = check_text(*text, place_of(o.trace)); !fine) return fine.failure();
    auto read = sim::parse_trace(*text, place_of(o.trace));
    if (!read) return read.failure();
    if (o.jobs > 0) read->keep_first(o.jobs);
    if (read->jobs.empty())
        return bad(place_of(o.trace), "holds no job with GPUs that ran", "give a trace with jobs that had GPUs");
    if (!read->scale_gpus(o.scale))
        return bad("--scale-gpus", "a job would be larger than any trace may have", "use a smaller factor");
    if (o.load > 0) read->set_load(o.load, gpus);
    return read;
}

// The cluster that is true, when some links are to be slow.
topo::result<topo::cluster> slow_cluster(const options& o, const topo::cluster& healthy, simulation& s) {
    const auto share = parse_share(o.degrade, "--degrade");
    if (!share) return share.failure();
    const auto to = parse_share(o.degrade_to, "--degrade-to");
    if (!to) return to.failure();
    if (*to < 0.01) return bad("--degrade-to", "less than 1% is as good as no link", "use 1% or more");
    s.slow_how.share = *share;
    s.slow_how.bandwidth = *to;
    s.slow_how.gpu_links = o.degrade_links != "nic";
    s.slow_how.nic_links = o.degrade_links != "gpu";
    s.slow_how.seed = o.seed;
    s.slow = sim::degrade(healthy.description(), s.slow_how);
    if (s.slow->links == 0)
        return bad("--degrade", "the cluster has none of these links",
                   "use --degrade-links all, or a cluster file with NICs and GPU links");
    return topo::cluster::build(std::exchange(s.slow->cluster, {}), true);
}

exit_code replay_all(const console& out, const options& o, const topo::cluster& truth, const topo::cluster& believed,
                     const std::vector<sim::policy>& policies, simulation& s) {
    const stop_signal stop;
    render::progress_bar bar(stderr, out.err());
    const std::size_t total = policies.size() * s.jobs.jobs.size();
    const double began = static_cast<double>(now_ns()) / 1e9;
    std::size_t before = 0;
    for (const auto& by : policies) {
        const double start = static_cast<double>(now_ns()) / 1e9;
        auto decider = sim::decider::make(truth, believed, by, s.message_bytes);
        if (!decider) return out.fail(decider.failure());
        sim::replay_options how;
        how.queue = o.queue == "easy" ? sim::discipline::easy : sim::discipline::fifo;
        how.now_ns = now_ns;
        how.watch = [&](std::uint64_t done) {
            const std::size_t all_done = before + static_cast<std::size_t>(done);
            const double spent = static_cast<double>(now_ns()) / 1e9 - began;
            const double left = all_done > 0 && spent > 1
                                    ? spent * static_cast<double>(total - all_done) / static_cast<double>(all_done)
                                    : -1;
            if (out.err().terminal || spent > 2) bar.update(all_done, total, left, by.name);
            return !stop.asked();
        };
        sim::replayed got = sim::replay(s.jobs, truth, *decider, how);
        s.policies.push_back(
            {sim::summarise(got, s.jobs), std::move(got.over_time), static_cast<double>(now_ns()) / 1e9 - start});
        before += s.jobs.jobs.size();
        if (!got.complete) {
            s.complete = false;
            break;
        }
    }
    return done;
}

exit_code show(const console& out, const options& o, const simulation& s) {
    for (const auto& p : s.policies)
        if (p.figures.not_placed > 0)
            out.say(out.err().yellow("warning:") +
                    fmt::format(" {} left {} waiting that the free GPUs would hold; please report it", p.figures.policy,
                                render::counted(p.figures.not_placed, "job")));
    if (!s.complete)
        out.say(out.err().yellow("stopped:") +
                " the figures are of the jobs replayed so far; policies not named were "
                "not reached");
    if (!o.html.empty()) {
        if (const auto written = topo::write_file(o.html, render::simulation_page(s)); !written)
            return out.fail(written.failure());
        if (o.html != "-") out.say("wrote " + render::printable(o.html));
    }
    const exit_code code = s.complete ? done : failed;
    exit_code printed = done;
    if (o.common.as_json) {
        printed = out.print_object(simulation_json(s));
    } else if (o.html != "-") {
        std::string text;
        for (const auto& c : simulation_caveats(s)) text += c + "\n";
        text += "\n" + simulation_text(s, out.out());
        printed = out.print(out.out().loud(" SIMULATED ") + " " + text);
    }
    return printed == done ? code : printed;
}

int run(const options& o) {
    const console out = o.common.make_console();
    if (o.html == "-" && o.common.as_json)
        return out.fail("--html -", "the page and the --json object cannot both go to standard output", "name a file");
    if (o.file == "-" && o.trace == "-")
        return out.fail("-", "cluster and trace cannot both come from standard input", "name a file for one of them");
    const auto policies = policies_of(o);
    if (!policies) return out.fail(policies.failure());
    simulation s;
    const auto bytes = parse_size(o.message, "--message");
    if (!bytes) return out.fail(bytes.failure());
    s.message_bytes = *bytes;
    s.queue = o.queue;
    if (!o.html.empty() && o.html != "-")
        if (const auto writable = topo::check_writable(o.html); !writable) return out.fail(writable.failure());

    auto got = load(o.file);
    if (!got) return out.fail(got.failure());
    const auto healthy = load_as_cluster(std::move(*got));
    if (!healthy) return out.fail(healthy.failure());
    std::optional<topo::cluster> slow;
    if (!o.degrade.empty()) {
        auto built = slow_cluster(o, *healthy, s);
        if (!built) return out.fail(built.failure());
        slow = std::move(*built);
    } else if (std::any_of(policies->begin(), policies->end(), [](const auto& p) { return p.blind; })) {
        return out.fail("--blind", "without --degrade there is no slow link that a policy could be blind to",
                        "add --degrade 5%, or leave out atoll-blind");
    }
    s.cluster = healthy->name();
    s.nodes = healthy->nodes().size();
    for (const auto& n : healthy->nodes()) s.gpus += healthy->classes()[n.hardware.value].gpus.size();
    if (s.gpus == 0)
        return out.fail(place_of(o.file), "the cluster has no GPU, so no job can run", "give a cluster with GPUs");
    for (int level = 0; level < healthy->network().levels(); ++level)
        s.levels.push_back(render::level_name(level, healthy->network()));
    s.cluster_simulated = healthy->simulated();
    auto jobs = trace_of(o, static_cast<double>(s.gpus));
    if (!jobs) return out.fail(jobs.failure());
    s.jobs = std::move(*jobs);
    s.load = s.jobs.load(static_cast<double>(s.gpus));
    if (const exit_code code = replay_all(out, o, slow ? *slow : *healthy, *healthy, *policies, s); code != done)
        return code;
    return show(out, o, s);
}

}  // namespace

void add_simulate(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("simulate",
             "Replay a job trace on a cluster under several policies\n"
             "Predicted step times, fragmentation, waits and decision times of Atoll beside linear, Slurm's tree and "
             "block rules and Kueue's best fit (own implementations of their published rules). Nothing is run: all "
             "figures are simulated. Exit code 3 when it was stopped.",
             "  atoll simulate cluster.yaml mix:llm\n"
             "  atoll simulate cluster.yaml jobs.csv --scale-gpus 8 --load 0.5 --queue easy --json\n"
             "  atoll simulate cluster.yaml mix:llm --degrade 5% --blind --only subset --only nodes --only ranks\n"
             "Traces: CSV with timestamp, duration and num_gpus; an Alibaba pod list; the output of\n"
             "  sacct --parsable2 --allocations --format=JobID,Submit,Start,End,AllocTRES,NNodes\n"
             "Mixes: mix:llm (1 to 512 GPUs), mix:lognormal (any size), mix:pow2 (every power of two as likely).\n",
             [o] { return run(*o); })
        .text({.names = "cluster",
               .help = "Cluster file, node file, or a file that import reads; - is standard input",
               .type = "CLUSTER|NODE.json",
               .files = true,
               .required = true},
              o->file)
        .text({.names = "trace",
               .help = "Job trace (- is standard input), or a seeded mix of jobs",
               .type = "TRACE|MIX",
               .files = true,
               .values = {"mix:llm", "mix:lognormal", "mix:pow2"},
               .required = true},
              o->trace)
        .texts({.names = "--policy",
                .help = "Who places the jobs; may be repeated (default: atoll, slurm-tree, linear)",
                .values = {"atoll", "atoll-blind", "linear", "slurm-tree", "slurm-block", "kueue-bestfit"},
                .only_values = true},
               o->policies)
        .texts({.names = "--only",
                .help = "Also: only this part by Atoll, the rest as --base does it; may be repeated",
                .values = {"subset", "nodes", "ranks"},
                .only_values = true},
               o->only)
        .text({.names = "--base",
               .help = "What --only starts from (default slurm-tree)",
               .values = {"linear", "slurm-tree", "slurm-block", "kueue-bestfit"},
               .only_values = true},
              o->base)
        .flag({.names = "--blind", .help = "Also: Atoll not knowing the slow links of --degrade"}, o->blind)
        .text({.names = "--queue",
               .help = "Order of start: FIFO, or EASY backfill (default fifo)",
               .values = {"fifo", "easy"},
               .only_values = true},
              o->queue)
        .number(
            {.names = "--jobs", .help = "Jobs of a mix (default 10000), or only the first N of a trace", .type = "N"},
            o->jobs, 1, sim::max_jobs)
        .real(
            {.names = "--load",
             .help =
                 "Offered load, a part of all GPUs: stretches the arrivals (default: 0.85 for a mix, a trace as it is)",
             .type = "X"},
            o->load, 0.001, 100)
        .number({.names = "--scale-gpus", .help = "Multiply the GPUs of every job", .type = "N"}, o->scale, 1, 1024)
        .seed({.names = "--seed", .help = "Seed of a mix and of --degrade (default 1)", .type = "N"}, o->seed)
        .text({.names = "--message", .help = "Bytes that a step all-reduces (default 64M)", .type = "SIZE"}, o->message)
        .text({.names = "--degrade", .help = "Make this share of the links slow, seeded", .type = "SHARE"}, o->degrade)
        .text({.names = "--degrade-to", .help = "Bandwidth that a slow link keeps (default 50%)", .type = "SHARE"},
              o->degrade_to)
        .text({.names = "--degrade-links",
               .help = "Which links: among GPUs, of NICs, or all (default all)",
               .values = {"all", "gpu", "nic"},
               .only_values = true},
              o->degrade_links)
        .text({.names = "--html",
               .help = "Write the report as a self-contained page; - is standard output",
               .type = "FILE",
               .files = true},
              o->html)
        .common(o->common);
}

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibrate/plan.hpp"
#include "calibrate/run.hpp"
#include "calibrate/simulated.hpp"
#include "cli/describe.hpp"
#include "cli/output.hpp"
#include "cli/render/facts.hpp"
#include "cli/render/progress.hpp"
#include "cli/render/summary.hpp"
#include "cli/render/table.hpp"
#include "cli/render/text.hpp"
#include "cli/stop_signal.hpp"
#include "cli/verb.hpp"

namespace cli {
namespace {

struct options {
    std::string model;
    std::uint64_t seed = 1;
    std::vector<std::string> faults;
    std::vector<std::string> only;
    double real_time = 0;
    std::string output;
    std::string log;
    std::string resume;
    bool dry_run = false;
    bool list = false;
    bool force = false;
    common_options common;
};

class bar_observer final : public calibrate::observer {
public:
    explicit bar_observer(const console& out) : bar_(stderr, out.err()) {}
    void on_progress(const calibrate::progress& now) override {
        bar_.update(now.done, now.total, now.seconds_left, now.what);
    }
    void finish() { bar_.finish(); }

private:
    render::progress_bar bar_;
};

exit_code list_models(const console& out, bool as_json) {
    const auto models = calibrate::simulated_models();
    const auto faults = calibrate::simulated_faults();
    if (as_json) {
        json object = {{"models", json::array()}, {"faults", json::array()}};
        for (const auto& m : models) object["models"].push_back({{"name", m.name}, {"description", m.description}});
        for (const auto& f : faults) object["faults"].push_back({{"form", f.form}, {"description", f.description}});
        return out.print_object(object);
    }
    render::table m{{"MODEL", "simulated machine"}, {}, {}};
    for (const auto& model : models) m.add({model.name, model.description});
    render::table f{{"FAULT", "what is wrong with it"}, {}, {}};
    for (const auto& fault : faults) f.add({fault.form, fault.description});
    return out.print(m.text(out.out()) + "\n" + f.text(out.out()));
}

exit_code show_plan(const console& out, const options& o, const calibrate::plan& p) {
    if (o.common.as_json)
        return out.print_object(json{{"model", p.what.model},
                                     {"host", p.what.host},
                                     {"cells", p.cells},
                                     {"rounds", p.rounds.size()},
                                     {"seconds", p.seconds},
                                     {"findings", to_json(p.what.notes)}});
    out.report(p.what.notes);
    return out.print(fmt::format(
        "{}: {}\n{} in {}, about {} (by the link classes)\nNothing was measured.\n", render::printable(p.what.host),
        render::printable(render::hardware_line(p.what.hardware)), render::counted(p.cells, "cost"),
        render::counted(p.rounds.size(), "round"), render::time_left(p.seconds)));
}

exit_code stopped(const console& out, const options& o, const calibrate::run_output& got, const std::string& log) {
    out.report(got.node.notes);
    out.say(out.err().yellow("stopped:") +
            fmt::format(" {} of {} costs were measured; no node file was written", got.done, got.total));
    if (log.empty())
        out.say("what was measured is lost; give --log FILE (or -o) to be able to go on");
    else
        out.say(fmt::format("go on with the same command and --resume {}", render::printable(log)));
    if (o.common.as_json) {
        const json object = {
            {"complete", false}, {"done", got.done}, {"total", got.total}, {"log", log.empty() ? json() : json(log)}};
        if (const exit_code code = out.print_object(object); code != done) return code;
    }
    return failed;
}

exit_code finish(const console& out, const options& o, const calibrate::run_output& got, destination to) {
    out.report(got.node.notes);
    std::fputs(render::remarks_text(got.node.hardware, out.err()).c_str(), stderr);
    const bool summary_only = o.output.empty() && !o.common.as_json && out.out().terminal;
    if (summary_only) {
        const render::class_view view{.title = got.node.host, .hosts = {}, .engine = {}, .only = {}};
        return out.print(render::class_text(got.node.hardware, view, out.out()) +
                         "Nothing was written; -o FILE writes the node file.\n");
    }
    if (const exit_code code = deliver(out, to, o.output, topo::write_node(got.node)); code != done) return code;
    if (!o.common.as_json) return done;
    std::size_t repeated = 0;
    std::size_t noisy = 0;
    for (const calibrate::cell_report& c : got.cells) {
        repeated += c.repeats > 0;
        noisy += c.noisy || c.disturbed;
    }
    return out.print_object(json{{"complete", true},
                                 {"simulated", got.node.hardware.simulated()},
                                 {"host", got.node.host},
                                 {"written", to == destination::file ? json(o.output) : json()},
                                 {"cells", got.total},
                                 {"cells_repeated", repeated},
                                 {"cells_noisy", noisy},
                                 {"seconds", got.seconds},
                                 {"node", node_file_json(got.node)},
                                 {"findings", to_json(got.node.notes)}});
}

calibrate::plan_options parts_of(const options& o) {
    if (o.only.empty()) return {};
    calibrate::plan_options p{false, false, false};
    for (const std::string& part : o.only) {
        p.gpu_gpu |= part == "gpu-gpu";
        p.gpu_nic |= part == "gpu-nic";
        p.host_gpu |= part == "host-gpu";
    }
    return p;
}

exit_code no_backend(const console& out) {
    std::string names;
    for (const auto& m : calibrate::simulated_models()) names += (names.empty() ? "" : ", ") + m.name;
    return out.fail("calibrate", "this build measures no hardware: its only backend is the simulated machine",
                    "use --simulate MODEL (" + names + "), or read costs of another tool with atoll import", failed);
}

// What would fail at the end of a long run fails before it.
exit_code check_files(const console& out, const options& o, destination to, const std::string& log) {
    if (!o.resume.empty() && !o.log.empty() && o.resume != o.log)
        return out.fail("--log", "and --resume name two different logs",
                        "leave out --log: --resume goes on with its log");
    if (!o.resume.empty()) {
        const auto text = topo::read_file(o.resume);
        if (!text && text.failure().code == topo::errc::missing)
            return out.fail("--resume " + o.resume, "there is no such log, so there is nothing to go on with",
                            "name the log of the run that was stopped, or leave out --resume to measure all");
        if (!text) return out.fail(text.failure());
        if (std::count(text->begin(), text->end(), '\n') < 2)  // the first line names the machine
            out.report({{topo::severity::info, o.resume, "the log holds no finished cost: all are measured", ""}});
    }
    if (to != destination::file) return done;
    std::error_code absent;
    if (!log.empty() && (log == o.output || std::filesystem::equivalent(log, o.output, absent)))
        return out.fail("-o " + o.output, "the node file and the log are one file", "name two different files");
    if (const auto writable = topo::check_writable(o.output); !writable) return out.fail(writable.failure());
    return done;
}

int run(const options& o) {
    const console out = o.common.make_console();
    if (o.list) return list_models(out, o.common.as_json);
    if (o.model.empty()) return no_backend(out);
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    auto machine = calibrate::make_simulated(o.model, o.seed, o.faults, o.real_time);
    if (!machine) return out.fail(machine.failure());
    auto plan = calibrate::make_plan(**machine, parts_of(o));
    if (!plan) return out.fail(plan.failure());
    if (o.dry_run) return show_plan(out, o, *plan);

    // With -o there is always a log, so that a stopped run can go on; it goes when the node file stands, unless --log
    // asks for it.
    const bool to_file = *to == destination::file;
    const std::string log = !o.resume.empty() ? o.resume : !o.log.empty() || !to_file ? o.log : o.output + ".log";
    const bool log_goes = to_file && o.log.empty();
    if (const exit_code code = check_files(out, o, *to, log); code != done) return code;
    const stop_signal stop;
    const calibrate::run_options how{.seed = o.seed,
                                     .tool = tool_name("calibrate"),
                                     .log_path = log,
                                     .resume = !o.resume.empty(),
                                     .force = o.force,
                                     .cancel = &stop.asked()};
    out.say(out.err().loud(" SIMULATED ") + " " + render::printable(plan->what.model) + ": no hardware is measured");
    bar_observer watcher(out);
    const auto got = calibrate::run_node(**machine, *plan, how, watcher);
    watcher.finish();
    if (!got) {
        if (log_goes && o.resume.empty() && got.failure().code == topo::errc::refused)
            unlink(log.c_str());  // nothing was measured
        return out.fail(got.failure());
    }
    if (!got->complete) return stopped(out, o, *got, log);
    const exit_code code = finish(out, o, *got, *to);
    if (code == done && log_goes) unlink(log.c_str());
    return code;
}

}  // namespace

void add_calibrate(command_tree& tree) {
    auto o = std::make_shared<options>();
    std::vector<std::string> models;
    for (auto& m : calibrate::simulated_models()) models.push_back(m.name);
    tree.add("calibrate",
             "Measure what moving bytes in a node costs\n"
             "Between every two GPUs, and between GPUs, NICs and host memory. This build measures the simulated "
             "machine only; all it finds is marked simulated.",
             "  atoll calibrate --list                              models and faults\n"
             "  atoll calibrate --simulate dgx-h100 -o h100.json    a node file\n"
             "  atoll calibrate --simulate dgx-h100 --dry-run       what it would measure, and for how long\n"
             "  atoll calibrate --simulate dgx-h100 --seed 7 --fault nvlink-lost:GPU2-GPU5 -o bad.json\n"
             "  atoll calibrate --simulate dgx-h100 -o h100.json --resume h100.json.log   after Ctrl-C\n"
             "Without -o the node file goes to standard output; on a terminal a summary is shown instead.\n"
             "Ctrl-C writes no node file and gives exit code 3; what was measured stands in the log (FILE.log).\n",
             [o] { return run(*o); })
        .text({.names = "--simulate",
               .help = "A simulated machine: a name of --list, or a model file (YAML)",
               .type = "MODEL",
               .files = true,
               .values = models},
              o->model)
        .seed({.names = "--seed", .help = "Seed of the simulated noise (default 1)", .type = "N"}, o->seed)
        .texts({.names = "--fault",
                .help = "Something wrong with the machine, as --list names it; may be repeated",
                .type = "FAULT"},
               o->faults)
        .texts({.names = "--only",
                .help = "Measure this part only; may be repeated",
                .values = {"gpu-gpu", "gpu-nic", "host-gpu"},
                .only_values = true},
               o->only)
        .real({.names = "--real-time",
               .help = "Let the simulated machine take this share of real time (default 0)",
               .type = "SHARE"},
              o->real_time, 0, 1000)
        .text({.names = "-o,--output",
               .help = "Write the node file (JSON) here; - is standard output",
               .type = "FILE",
               .files = true},
              o->output)
        .text({.names = "--log",
               .help = "Keep finished costs here, a JSON line each (default FILE.log with -o)",
               .type = "FILE",
               .files = true},
              o->log)
        .text({.names = "--resume",
               .help =
                   "Take the finished costs of this log and go on (it goes when -o FILE stands, unless --log names it)",
               .type = "LOG",
               .files = true},
              o->resume)
        .flag({.names = "--dry-run", .help = "Say what would be measured and for how long"}, o->dry_run)
        .flag({.names = "--list", .help = "List the simulated models and their faults"}, o->list)
        .flag({.names = "--force", .help = "Measure although other processes use a GPU"}, o->force)
        .common(o->common);
}

}  // namespace cli

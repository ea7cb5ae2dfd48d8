// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "calibrate/drift.hpp"
#include "calibrate/simulated.hpp"
#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/render/progress.hpp"
#include "cli/render/table.hpp"
#include "cli/render/text.hpp"
#include "cli/stop_signal.hpp"
#include "cli/verb.hpp"
#include "topo/quote.hpp"

namespace cli {
namespace {

struct options {
    std::string file;
    std::string tier = "sample";
    std::string cluster;
    std::string model;
    std::uint64_t seed = 1;
    std::vector<std::string> faults;
    double real_time = 0;
    bool accept = false;
    bool brief = false;
    bool force = false;
    common_options common;
};

constexpr std::size_t cells_shown = 12;

class bar_observer final : public calibrate::observer {
public:
    bar_observer(const console& out, bool quiet) : bar_(stderr, out.err()), quiet_(quiet) {}
    void on_progress(const calibrate::progress& now) override {
        if (!quiet_) bar_.update(now.done, now.total, now.seconds_left, now.what);
    }
    void finish() { bar_.finish(); }

private:
    render::progress_bar bar_;
    bool quiet_;
};

calibrate::check_tier tier_of(const std::string& text) {
    return text == "facts"  ? calibrate::check_tier::facts
           : text == "full" ? calibrate::check_tier::full
                            : calibrate::check_tier::sample;
}

topo::result<topo::node_description> stored_node(const std::string& file) {
    auto got = load(file);
    if (!got) return got.failure();
    if (got->kind == content::node && got->nodes.size() == 1) return std::move(got->nodes.front());
    return topo::error{topo::errc::bad_input, place_of(file), "is not a node file",
                       "name what atoll calibrate -o wrote for this node"};
}

// The class that the cluster file gives the node.
topo::result<topo::node_class> class_in(const std::string& file, const std::string& host) {
    auto got = load(file);
    if (!got) return got.failure();
    const auto cluster = load_as_cluster(std::move(*got));
    if (!cluster) return cluster.failure();
    for (std::size_t n = 0; n < cluster->nodes().size(); ++n)
        if (cluster->nodes()[n].name == host) return cluster->class_of(topo::node_id(n));
    return topo::error{topo::errc::bad_input, place_of(file), fmt::format("has no node {}", topo::shown(host)),
                       "name the cluster file that this node is in, or leave out --cluster"};
}

json cell_json(const calibrate::drift_cell& c, const topo::node_class& now) {
    return {{"where", calibrate::text_of(c.where, now)},
            {"before_gb_per_s", c.before.gb_per_s},
            {"now_gb_per_s", c.now.gb_per_s},
            {"limit", c.limit},
            {"changed", c.changed},
            {"noisy", c.noisy}};
}

// The stored file stays beside the new one, as the way back.
topo::result<std::string> take_over(const options& o, const calibrate::drift_report& got) {
    if (o.file == "-")
        return topo::error{topo::errc::bad_input, "--accept", "the stored node came from standard input",
                           "name its file"};
    if (!got.not_acceptable.empty())
        return topo::error{topo::errc::refused, "--accept", "the changes cannot be taken over", got.not_acceptable};
    const auto old = topo::read_file(o.file);
    if (!old) return old.failure();
    const std::string backup = o.file + ".before";
    if (const auto kept = topo::write_file(backup, *old); !kept) return kept.failure();
    if (const auto written = topo::write_file(o.file, topo::write_node(got.accepted)); !written)
        return written.failure();
    return backup;
}

std::string cells_text(const calibrate::drift_report& got, const topo::node_class& now, const render::style& s) {
    std::vector<const calibrate::drift_cell*> changed;
    for (const auto& c : got.cells)
        if (c.changed) changed.push_back(&c);
    if (changed.empty()) return {};
    std::sort(changed.begin(), changed.end(), [](const auto* a, const auto* b) { return a->share() < b->share(); });
    render::table t{{"COST", "BEFORE", "NOW", "CHANGE", "LIMIT"}, {false, true, true, true, true}, {}};
    for (std::size_t i = 0; i < changed.size() && i < cells_shown; ++i)
        t.add({calibrate::text_of(changed[i]->where, now), render::short_number(changed[i]->before.gb_per_s) + " GB/s",
               render::short_number(changed[i]->now.gb_per_s) + " GB/s",
               fmt::format("{:+.1f} %", (changed[i]->share() - 1) * 100),
               fmt::format("{:.1f} %", changed[i]->limit * 100)});
    std::string out = t.text(s);
    if (changed.size() > cells_shown)
        out += fmt::format("… and {}; --json lists all\n", render::counted(changed.size() - cells_shown, "more cost"));
    return out;
}

std::string verdict(const calibrate::drift_report& got) {
    const std::string looked =
        got.tier == calibrate::check_tier::facts
            ? std::string("devices, links, slots and ports")
            : fmt::format("{} of {}", got.cells.size(), render::counted(got.stored_costs, "stored cost"));
    return fmt::format("{}: {} looked at in {}{}", got.changed ? "changed" : "as stored", looked,
                       render::duration(got.seconds * 1e6), got.complete ? "" : ", stopped early");
}

// One line for a scheduler's reason field: the names and places of what is wrong.
std::string brief_text(const calibrate::drift_report& got) {
    std::string out;
    for (const auto& f : got.changes) {
        if (f.level == topo::severity::info) continue;
        out += fmt::format("{}{} {}", out.empty() ? "atoll: " : "; ", f.what.substr(0, f.what.find(':')), f.where);
    }
    if (out.empty() && got.changed) out = "atoll: costs changed";
    return out.empty() ? out : render::shorten(render::printable(out), 200) + "\n";
}

exit_code show(const console& out, const options& o, const calibrate::drift_report& got, const topo::node_class& now,
               const std::string& backup) {
    if (o.common.as_json) {
        json object = {{"changed", got.changed},
                       {"complete", got.complete},
                       {"tier", calibrate::name_of(got.tier)},
                       {"changes", to_json(got.changes)},
                       {"costs_checked", got.cells.size()},
                       {"costs_stored", got.stored_costs},
                       {"seconds", got.seconds},
                       {"accepted", !backup.empty()},
                       {"acceptable", got.not_acceptable.empty()},
                       {"costs", json::array()}};
        for (const auto& c : got.cells) object["costs"].push_back(cell_json(c, now));
        return out.print_object(object);
    }
    if (o.brief) return out.print(brief_text(got));
    out.report(got.changes);
    std::string text = cells_text(got, now, out.out()) + verdict(got) + "\n";
    if (!backup.empty())
        text += fmt::format("taken over into {}; what it held before is in {}\n", render::printable(o.file),
                            render::printable(backup));
    else if (got.changed)
        text += got.not_acceptable.empty() ? "if the change is meant, take it over with --accept\n"
                                           : "it cannot be taken over: " + got.not_acceptable + "\n";
    return out.print(text);
}

int run(const options& o) {
    const console out = o.common.make_console();
    const auto stored = stored_node(o.file);
    if (!stored) return out.fail(stored.failure());
    std::optional<topo::node_class> usual;
    if (!o.cluster.empty()) {
        auto found = class_in(o.cluster, stored->host);
        if (!found) return out.fail(found.failure());
        usual = std::move(*found);
    }
    if (o.model.empty())
        return out.fail("check", "this build measures no hardware: its only backend is the simulated machine",
                        "use --simulate MODEL with a node file that was simulated too", failed);
    auto machine = calibrate::make_simulated(o.model, o.seed, o.faults, o.real_time);
    if (!machine) return out.fail(machine.failure());
    if (!o.brief)
        out.say(out.err().loud(" SIMULATED ") + " " + render::printable(o.model) + ": no hardware is measured");
    const stop_signal stop;
    const calibrate::drift_options how{
        .tier = tier_of(o.tier), .seed = o.seed, .tool = tool_name("check"), .force = o.force, .cancel = &stop.asked()};
    bar_observer watcher(out, o.brief);
    const auto got = calibrate::check_drift(**machine, *stored, usual ? &*usual : nullptr, how, watcher);
    watcher.finish();
    if (!got) return out.fail(got.failure());
    std::string backup;
    if (o.accept && got->changed) {
        auto kept = take_over(o, *got);
        if (!kept) return out.fail(kept.failure());
        backup = std::move(*kept);
    }
    const auto now = (*machine)->enumerate();
    if (!now) return out.fail(now.failure());
    const exit_code printed = show(out, o, *got, now->hardware, backup);
    if (printed != done) return printed;
    if (!got->complete) return failed;
    return got->changed && backup.empty() ? difference : done;
}

}  // namespace

void add_check(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("check",
             "Say whether a node has changed since it was calibrated\n"
             "Looks at devices, links, slots and ports, then measures a sample of the costs (--tier sample), or all of "
             "them, compares with the stored node file and names what changed. A cost that differs is measured again "
             "before it counts. Exit code 1 when something changed. This build checks the simulated machine only.",
             "  atoll check node.json --simulate dgx-h100 --fault nic-slow:mlx5_3:0.8\n"
             "  atoll check node.json --tier facts --brief          one line, for HealthCheckProgram\n"
             "  atoll check node.json --tier full --accept          take the new values over; the old file becomes "
             "node.json.before\n",
             [o] { return run(*o); })
        .text({.names = "node",
               .help = "Node file of this node, as atoll calibrate -o wrote it",
               .type = "NODE.json",
               .files = true,
               .required = true},
              o->file)
        .text({.names = "--tier",
               .help = "facts: under a second, nothing is measured; sample: each GPU and its NIC, seconds; full: every "
                       "cost (default sample)",
               .values = {"facts", "sample", "full"},
               .only_values = true},
              o->tier)
        .text({.names = "--cluster",
               .help = "Cluster file that the node is in: a cost that is as its class has it is no alarm",
               .type = "CLUSTER",
               .files = true},
              o->cluster)
        .flag(
            {.names = "--accept", .help = "Take the changes over into the node file; what it held goes to FILE.before"},
            o->accept)
        .flag({.names = "--brief", .help = "One line with the names of what is wrong, nothing when all is well"},
              o->brief)
        .flag({.names = "--force", .help = "Measure although other processes use a GPU"}, o->force)
        .text(
            {.names = "--simulate", .help = "A simulated machine, as atoll calibrate --list names it", .type = "MODEL"},
            o->model)
        .seed({.names = "--seed", .help = "Seed of the simulated noise, and of the sample (default 1)", .type = "N"},
              o->seed)
        .texts({.names = "--fault", .help = "Something wrong with the machine; may be repeated", .type = "FAULT"},
               o->faults)
        .real({.names = "--real-time",
               .help = "Let the simulated machine take this share of real time (default 0)",
               .type = "SHARE"},
              o->real_time, 0, 1)
        .common(o->common);
}

}  // namespace cli

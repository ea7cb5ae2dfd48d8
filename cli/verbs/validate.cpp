// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/load.hpp"
#include "cli/render/text.hpp"
#include "cli/verb.hpp"

namespace cli {
namespace {

struct options {
    std::vector<std::string> files;
    bool strict = false;
    common_options common;
};

struct verdict {
    std::string file;
    std::string kind;     // "unreadable" when it could not be read at all
    std::string content;  // "64 nodes in 1 class"
    topo::findings notes;
    bool good = true;
};

std::string plural(std::size_t n, std::string_view one, std::string_view many) { return render::counted(n, one, many); }

verdict check_file(const std::string& path, bool strict) {
    verdict v{place_of(path), "unreadable", {}, {}, true};
    auto add_error = [&](const topo::error& e) {
        const std::string where =
            e.where.find(v.file) == std::string::npos ? v.file + (e.where.empty() ? "" : ": " + e.where) : e.where;
        v.notes.push_back({topo::severity::error, where, e.what, e.remedy});
    };
    auto got = load(path, topo::format::automatic, {.strict = strict, .gpu_model = {}});
    if (!got) {
        add_error(got.failure());
    } else {
        v.kind = got->kind_text();
        v.notes = got->notes;
        for (const topo::node_description& n : got->nodes) {
            const topo::findings faults = topo::check(n.hardware);
            v.notes.insert(v.notes.end(), faults.begin(), faults.end());
            add_missing(v.notes, n.notes);
        }
        if (got->fabric) {
            const topo::findings faults = topo::check(*got->fabric);
            v.notes.insert(v.notes.end(), faults.begin(), faults.end());
            v.content = plural(got->fabric->switches.size(), "switch", "switches");
        }
        if (!got->nodes.empty())
            v.content += (v.content.empty() ? "" : ", ") + plural(got->nodes.size(), "node", "nodes") + ", " +
                         plural(got->nodes.front().hardware.gpus.size(), "GPU", "GPUs");
        if (got->cluster) {
            auto built = topo::cluster::build(std::move(*got->cluster));
            if (!built)
                add_error(built.failure());
            else {
                v.notes.insert(v.notes.end(), built->notes().begin(), built->notes().end());
                v.content = plural(built->nodes().size(), "node", "nodes") + " in " +
                            plural(built->classes().size(), "class", "classes");
                if (built->simulated()) v.content += ", simulated";
            }
        }
    }
    v.good = std::none_of(v.notes.begin(), v.notes.end(), [&](const topo::finding& f) {
        return f.level == topo::severity::error || (strict && f.level == topo::severity::warning);
    });
    return v;
}

int run(const options& o) {
    const console out = o.common.make_console();
    bool all_good = true;
    std::string text;
    json object = {{"valid", true}, {"files", json::array()}};
    for (const std::string& file : o.files) {
        const verdict v = check_file(file, o.strict);
        all_good = all_good && v.good;
        object["files"].push_back(
            {{"file", v.file}, {"kind", v.kind}, {"valid", v.good}, {"findings", to_json(v.notes)}});
        if (o.common.as_json) continue;
        out.report(v.notes);
        text += fmt::format("{}: {}: {}{}\n", render::printable(v.file), v.kind,
                            v.good ? "valid" : out.out().red("not valid"), v.content.empty() ? "" : ", " + v.content);
    }
    object["valid"] = all_good;
    const exit_code code = o.common.as_json ? out.print_object(object) : out.print(text);
    return code != done ? code : all_good ? done : bad_use;
}

}  // namespace

void add_validate(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("validate",
             "Check files and say what is wrong with them\n"
             "Cluster, fabric and node files, and files that atoll import reads. Prints every finding with its\n"
             "place and remedy; exit code 2 when a file is not valid.",
             "  atoll validate /etc/atoll/cluster.yaml\n"
             "  atoll validate --strict nodes/*.json topology.conf    warnings count too\n",
             [o] { return run(*o); })
        .texts({.names = "file",
                .help = "Files to check; - is standard input",
                .type = "FILE",
                .files = true,
                .required = true},
               o->files)
        .flag({.names = "--strict", .help = "A warning makes a file not valid"}, o->strict)
        .common(o->common);
}

}  // namespace cli

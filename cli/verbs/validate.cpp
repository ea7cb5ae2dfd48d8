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
    std::string kind;     // "unreadable" when it could not be read at all, "" when it is of no known kind
    std::string content;  // "64 nodes in 1 class"
    topo::findings notes;
    bool good = true;
};

topo::finding finding_of(const topo::error& e) { return {topo::severity::error, e.where, e.what, e.remedy}; }

std::string plural(std::size_t n, std::string_view one, std::string_view many) { return render::counted(n, one, many); }

// The same with the file before the place: several files may be checked at once.
topo::finding in_file(topo::finding f, const std::string& file) {
    if (f.where != file && !f.where.starts_with(file + ":")) f.where = file + (f.where.empty() ? "" : ": " + f.where);
    return f;
}

void check_content(verdict& v, loaded got) {
    v.notes = notes_of(got);
    bool simulated = false;
    for (const topo::node_description& n : got.nodes) {
        add_missing(v.notes, topo::check(n.hardware));
        simulated = simulated || n.hardware.simulated();
    }
    if (got.fabric) {
        add_missing(v.notes, topo::check(*got.fabric));
        v.content = plural(got.fabric->switches.size(), "switch", "switches");
    }
    if (!got.nodes.empty())
        v.content += (v.content.empty() ? "" : ", ") + plural(got.nodes.size(), "node", "nodes") + ", " +
                     plural(got.nodes.front().hardware.gpus.size(), "GPU", "GPUs");
    if (got.cluster) {
        auto built = topo::cluster::build(std::move(*got.cluster));
        if (!built) return v.notes.push_back(in_file(finding_of(built.failure()), v.file));
        v.notes.insert(v.notes.end(), built->notes().begin(), built->notes().end());
        v.content = plural(built->nodes().size(), "node", "nodes") + " in " +
                    plural(built->classes().size(), "class", "classes");
        simulated = built->simulated();
    }
    if (simulated) v.content += ", simulated";
}

verdict check_file(const std::string& path, bool strict) {
    verdict v{place_of(path), "unreadable", {}, {}, true};
    const auto add_error = [&](const topo::error& e) { v.notes.push_back(in_file(finding_of(e), v.file)); };
    if (const auto text = read_input(path); !text) {
        add_error(text.failure());
    } else {
        const content kind = content_of(*text);
        v.kind = kind_text(kind, kind == content::imported ? topo::detect_format(*text) : topo::format::automatic);
        auto got = parse_any(*text, path, {.strict = strict, .gpu_model = {}});
        if (got)
            check_content(v, std::move(*got));
        else
            add_error(got.failure());
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
        object["files"].push_back({{"file", v.file},
                                   {"kind", v.kind.empty() ? json() : json(v.kind)},
                                   {"valid", v.good},
                                   {"findings", to_json(v.notes)}});
        if (o.common.as_json) continue;
        topo::findings placed;
        for (const topo::finding& f : v.notes) placed.push_back(in_file(f, v.file));
        out.report(placed);
        text += fmt::format("{}: {}{}{}{}\n", render::printable(v.file), v.kind, v.kind.empty() ? "" : ": ",
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

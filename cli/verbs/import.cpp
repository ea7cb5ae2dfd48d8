// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "cli/describe.hpp"
#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/render/facts.hpp"
#include "cli/render/summary.hpp"
#include "cli/render/text.hpp"
#include "cli/verb.hpp"

namespace cli {
namespace {

struct options {
    std::vector<std::string> files;
    std::string from = "auto";
    std::string gpu_model;
    std::string output;
    bool strict = false;
    common_options common;
};

struct document {
    std::string name;  // "g001.json", "fabric.yaml": the name inside a folder
    std::string text;
};

std::vector<std::string> format_names() {
    std::vector<std::string> names{"auto"};
    for (const topo::format f : topo::all_formats()) names.emplace_back(topo::name_of(f));
    return names;
}

// A name from a file becomes a file name: what is not plain becomes "_", and it never starts with a dot.
std::string file_name(std::string_view name) {
    std::string out;
    for (const char c : name.substr(0, 100)) {
        const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                           c == '_' || (c == '.' && !out.empty());
        out += plain ? c : '_';
    }
    return out.empty() ? "node" : out;
}

std::vector<document> documents_of(const std::vector<loaded>& all) {
    std::vector<document> out;
    std::set<std::string> taken;
    auto add = [&](const std::string& stem, const char* extension, std::string text) {
        std::string name = stem + extension;
        for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}-{}{}", stem, n, extension);
        out.push_back({name, std::move(text)});
    };
    for (const loaded& l : all) {
        for (const topo::node_description& n : l.nodes) add(file_name(name_of(n)), ".json", topo::write_node(n));
        if (l.fabric) add("fabric", ".yaml", topo::write_fabric(*l.fabric));
    }
    return out;
}

// Several documents go into a folder, which is made when it is not there.
exit_code deliver_all(const console& out, destination to, const std::string& path, const std::vector<document>& docs) {
    if (to == destination::inside_json) return done;
    if (docs.size() == 1 && !path.ends_with('/')) {
        struct stat at {};
        if (to == destination::standard_output || stat(path.c_str(), &at) != 0 || !S_ISDIR(at.st_mode))
            return deliver(out, to, path, docs.front().text);
    }
    if (to == destination::standard_output)
        return out.fail("-o", fmt::format("the input makes {} files, and standard output takes one", docs.size()),
                        "name a folder with -o DIR, or use --json");
    if (mkdir(path.c_str(), 0777) != 0 && errno != EEXIST)
        return out.fail(path, fmt::format("the folder cannot be made ({})", std::strerror(errno)),
                        "name another with -o");
    const std::string folder = path.ends_with('/') ? path : path + "/";
    for (const document& d : docs)
        if (const exit_code code = deliver(out, to, folder + d.name, d.text); code != done) return code;
    return done;
}

void summarise(const console& out, const loaded& l) {
    out.say(out.err().bold(fmt::format("{}: {}", render::printable(place_of(l.path)), l.kind_text())));
    const std::size_t shown = 8;
    for (std::size_t i = 0; i < l.nodes.size() && i < shown; ++i) {
        const topo::node_description& n = l.nodes[i];
        out.say(fmt::format("  {}: {}", render::printable(name_of(n)),
                            render::printable(render::hardware_line(n.hardware))));
        if (const std::string from = render::sources_line(n.hardware); !from.empty()) out.say("  costs: " + from);
    }
    if (l.nodes.size() > shown) out.say("  … and " + render::counted(l.nodes.size() - shown, "more node"));
    if (l.fabric)
        out.say(fmt::format(
            "  {}: {}", topo::name_of(l.fabric->form),
            render::counted(l.fabric->switches.size(), l.fabric->form == topo::fabric_form::block ? "block" : "switch",
                            l.fabric->form == topo::fabric_form::block ? "blocks" : "switches")));
    out.report(notes_of(l));
}

exit_code print_object(const console& out, const options& o, const std::vector<loaded>& all, destination to) {
    json object = {{"written", to == destination::file ? json(o.output) : json()}, {"inputs", json::array()}};
    for (const loaded& l : all) {
        json one = {{"file", place_of(l.path)}, {"format", topo::name_of(l.read_as)}, {"nodes", json::array()}};
        for (const topo::node_description& n : l.nodes) one["nodes"].push_back(node_file_json(n));
        one["fabric"] = l.fabric ? to_json(*l.fabric) : json();
        one["findings"] = to_json(notes_of(l));
        object["inputs"].push_back(std::move(one));
    }
    return out.print_object(object);
}

int run(const options& o) {
    const console out = o.common.make_console();
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    const topo::format how = o.from == "auto" ? topo::format::automatic : *topo::format_named(o.from);
    std::vector<loaded> all;
    for (const std::string& file : o.files) {
        const auto text = read_input(file);
        if (!text) return out.fail(text.failure());
        auto got = parse_input(*text, file, how, {.strict = o.strict, .gpu_model = o.gpu_model});
        if (!got) return out.fail(got.failure());
        if (got->kind != content::imported)
            return out.fail(place_of(file), "is a " + got->kind_text() + " of Atoll already", "use it as it is");
        all.push_back(std::move(*got));
    }
    for (const loaded& l : all) summarise(out, l);
    const std::vector<document> docs = documents_of(all);
    if (docs.empty())
        return out.fail(place_of(o.files.front()), "holds neither devices nor a fabric", "check the file");
    if (o.output.empty() && !o.common.as_json && out.out().terminal) {
        std::string text;
        for (const loaded& l : all)
            for (const topo::node_description& n : l.nodes)
                text += render::class_text(n.hardware, {.title = name_of(n), .hosts = {}, .engine = {}, .only = {}},
                                           out.out());
        return out.print(text + "Nothing was written; -o FILE writes it.\n");
    }
    if (const exit_code code = deliver_all(out, *to, o.output, docs); code != done) return code;
    return o.common.as_json ? print_object(out, o, all, *to) : done;
}

}  // namespace

void add_import(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("import",
             "Read files of other tools\n"
             "Devices become a node file (JSON), switches a fabric file (YAML).\n"
             "Matrices that another tool measured are marked imported, all else estimated.",
             "  nvidia-smi topo -m | atoll import - -o node.json\n"
             "  atoll import topology.conf -o fabric.yaml\n"
             "  atoll import gres.conf -o nodes/             one node file a node\n"
             "  atoll import --from nvbandwidth --gpu-model H100 bandwidth.txt --json\n"
             "Without -o the file goes to standard output; on a terminal a summary is shown instead.\n",
             [o] { return run(*o); })
        .texts({.names = "file",
                .help = "Files to read; - is standard input",
                .type = "FILE",
                .files = true,
                .required = true},
               o->files)
        .text({.names = "--from",
               .help = "What the files are (default auto: by content)",
               .type = "FORMAT",
               .values = format_names(),
               .only_values = true},
              o->from)
        .flag({.names = "--strict", .help = "Content that would be left out is an error"}, o->strict)
        .text({.names = "--gpu-model",
               .help = "GPU model, where the file does not tell: it sets the link generation",
               .type = "MODEL"},
              o->gpu_model)
        .text({.names = "-o,--output",
               .help = "Write here; a folder when there are several; - is standard output",
               .type = "FILE",
               .files = true},
              o->output)
        .common(o->common);
}

}  // namespace cli

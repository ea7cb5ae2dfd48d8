// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/describe.hpp"
#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/render/page.hpp"
#include "cli/render/summary.hpp"
#include "cli/render/text.hpp"
#include "cli/verb.hpp"
#include "topo/hostlist.hpp"

namespace cli {
namespace {

struct options {
    std::string file;
    std::string class_name;
    std::string engine;
    std::string what;
    std::string html;
    bool all_layers = false;
    common_options common;
};

// What is shown, whatever file it came from.
struct subject {
    std::string name;
    std::string kind;
    std::vector<std::pair<topo::node_class, render::class_view>> classes;
    std::unique_ptr<const topo::fabric> own_fabric;  // of a bare fabric
    std::optional<topo::cluster> cluster;            // owner of the fabric otherwise
    const topo::fabric* fabric = nullptr;            // nullptr: the file has none
    std::vector<std::string> node_names;
    topo::findings notes;
};

render::class_view view_of(const options& o, std::string title, std::string hosts, std::size_t count) {
    render::class_view v{
        .title = std::move(title), .hosts = std::move(hosts), .host_count = count, .engine = {}, .only = {}};
    if (!o.engine.empty()) v.engine = topo::engine_named(o.engine);
    if (o.what == "bandwidth") v.only = render::quantity::bandwidth;
    if (o.what == "latency") v.only = render::quantity::latency;
    if (o.what == "links") v.only = render::quantity::links;
    v.every_layer = o.all_layers;
    return v;
}

topo::result<topo::done> take_cluster(subject& s, const options& o, loaded from) {
    auto built = load_as_cluster(std::move(from));
    if (!built) return built.failure();
    s.cluster = std::move(*built);
    s.name = s.cluster->name();
    s.fabric = &s.cluster->network();
    for (const topo::node& n : s.cluster->nodes()) s.node_names.push_back(n.name);
    s.notes.insert(s.notes.end(), s.cluster->notes().begin(), s.cluster->notes().end());
    for (const topo::node_class& h : s.cluster->classes()) {
        std::vector<std::string> hosts;
        for (const topo::node& n : s.cluster->nodes())
            if (&s.cluster->classes()[n.hardware.value] == &h) hosts.push_back(n.name);
        s.classes.emplace_back(h, view_of(o, h.name, topo::compress_hostlist(hosts), hosts.size()));
    }
    return topo::done{};
}

topo::result<topo::done> take_fabric(subject& s, const topo::fabric_description& f) {
    for (const topo::switch_description& sw : f.switches)
        s.node_names.insert(s.node_names.end(), sw.nodes.begin(), sw.nodes.end());
    auto built = topo::build_fabric(f, s.node_names, true);
    if (!built) return built.failure();
    s.notes.insert(s.notes.end(), built->notes.begin(), built->notes.end());
    s.own_fabric = std::move(built->built);
    s.fabric = s.own_fabric.get();
    return topo::done{};
}

topo::result<subject> subject_of(const options& o, loaded from) {
    subject s;
    s.kind = from.kind_text();
    s.name = place_of(from.path);
    s.notes = notes_of(from);
    if (from.cluster) {
        auto taken = take_cluster(s, o, std::move(from));
        if (!taken) return taken.failure();
    } else {
        for (topo::node_description& n : from.nodes) {
            const std::string title = name_of(n);
            s.classes.emplace_back(std::move(n.hardware), view_of(o, title, n.host, 1));
        }
        if (s.classes.size() == 1) s.name = s.classes.front().second.title;
        if (from.fabric) {
            auto taken = take_fabric(s, *from.fabric);
            if (!taken) return taken.failure();
        }
    }
    for (const auto& [h, view] : s.classes) add_missing(s.notes, render::odd_pairs(h, view.title));
    if (o.class_name.empty()) return s;
    std::string known;
    std::erase_if(s.classes, [&](const auto& c) {
        const bool other = c.first.name != o.class_name && c.second.title != o.class_name;
        if (other) known += (known.empty() ? "" : ", ") + c.second.title;
        return other;
    });
    if (s.classes.empty())
        return topo::error{topo::errc::bad_input, "--class",
                           "'" + o.class_name + "' is no class of " + place_of(o.file),
                           known.empty() ? "the file has no class" : "its classes are " + known};
    return s;
}

topo::result<topo::done> has_asked_layers(const subject& s, const options& o) {
    if (o.engine.empty()) return topo::done{};
    std::string known;
    for (const auto& [h, view] : s.classes) {
        if (!render::layers_of(h, view).empty()) return topo::done{};
        for (const topo::cost_layer& layer : h.layers) {
            const std::string name(topo::name_of(layer.by));
            if (known.find(name) == std::string::npos) known += (known.empty() ? "" : ", ") + name;
        }
    }
    return topo::error{topo::errc::bad_input, "--engine",
                       "no cost of engine " + o.engine + " is in " + place_of(o.file),
                       known.empty() ? "the file has no costs" : "its engines are " + known};
}

json object_of(const subject& s) {
    json object = {{"kind", s.kind}, {"name", s.name}, {"classes", json::array()}};
    for (const auto& [h, view] : s.classes) {
        json one = to_json(h, view.engine);
        one["hosts"] = view.hosts.empty() ? json() : json(view.hosts);
        one["host_count"] = view.host_count;
        object["classes"].push_back(std::move(one));
    }
    object["fabric"] = s.fabric != nullptr ? to_json(*s.fabric) : json();
    object["findings"] = to_json(s.notes);
    return object;
}

int run(const options& o) {
    const console out = o.common.make_console();
    if (o.html == "-" && o.common.as_json)
        return out.fail("--html -", "the page and the --json object cannot both go to standard output", "name a file");
    auto got = load(o.file);
    if (!got) return out.fail(got.failure());
    const auto s = subject_of(o, std::move(*got));
    if (!s) return out.fail(s.failure());
    const auto asked = has_asked_layers(*s, o);
    if (!asked) return out.fail(asked.failure());
    if (!o.html.empty()) {
        render::page_subject p{s->name, s->kind, {}, s->fabric, s->node_names, s->notes};
        for (const auto& [h, view] : s->classes) p.classes.push_back({&h, view});
        const auto to = o.html == "-" ? destination::standard_output : destination::file;
        const exit_code code = deliver(out, to, o.html, render::report_page(p));
        if (code != done || !o.common.as_json) return code;
    }
    if (o.common.as_json) return out.print_object(object_of(*s));
    out.report(s->notes);
    std::string text;
    for (const auto& [h, view] : s->classes) text += render::class_text(h, view, out.out());
    if (s->fabric != nullptr && o.what.empty() &&
        (s->fabric->form() != topo::fabric_form::unknown || s->node_names.size() > 1))
        text += render::fabric_text(*s->fabric, s->node_names.size(), out.out());
    return out.print(text);
}

}  // namespace

void add_show(command_tree& tree) {
    auto o = std::make_shared<options>();
    std::vector<std::string> engines;
    for (const topo::engine e :
         {topo::engine::copy_engine, topo::engine::sm_copy, topo::engine::sm_load, topo::engine::sm_flag,
          topo::engine::rdma_write, topo::engine::rdma_read, topo::engine::host})
        engines.emplace_back(topo::name_of(e));
    tree.add("show",
             "Look at costs, devices and fabric\n"
             "Of a cluster, node or fabric file, or of a file that atoll import reads: cost matrices as heat maps,\n"
             "devices, islands, nearest NICs, fabric, and where every figure comes from.",
             "  atoll show node.json\n"
             "  atoll show cluster.yaml --class dgx-h100 --what bandwidth\n"
             "  atoll show cluster.yaml --html report.html      a self-contained page\n"
             "  nvidia-smi topo -m | atoll show -\n",
             [o] { return run(*o); })
        .text({.names = "file",
               .help = "File to show; - is standard input",
               .type = "FILE",
               .files = true,
               .required = true},
              o->file)
        .text({.names = "--class", .help = "Only this node class", .type = "CLASS"}, o->class_name)
        .text({.names = "--engine",
               .help = "Costs of this engine (default: those that placement uses)",
               .values = engines,
               .only_values = true},
              o->engine)
        .text({.names = "--what",
               .help = "Only these matrices",
               .values = {"bandwidth", "latency", "links"},
               .only_values = true},
              o->what)
        .flag({.names = "--all-layers", .help = "Also costs that placement does not use"}, o->all_layers)
        .text({.names = "--html",
               .help = "Write a self-contained page with all matrices; - is standard output",
               .type = "FILE",
               .files = true},
              o->html)
        .common(o->common);
}

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/describe.hpp"
#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/render/text.hpp"
#include "cli/verb.hpp"
#include "topo/hostlist.hpp"
#include "topo/merge.hpp"

namespace cli {
namespace {

struct options {
    std::vector<std::string> files;
    std::vector<std::string> hosts;  // "g[1-64]=node.json"
    std::string fabric;
    std::string name = "cluster";
    std::string output;
    common_options common;
};

struct host_rule {
    std::vector<std::string> hosts;
    std::string file;
};

topo::result<host_rule> parse_rule(const std::string& text) {
    const std::size_t sign = text.find('=');
    if (sign == std::string::npos || sign == 0 || sign + 1 == text.size())
        return topo::error{topo::errc::bad_input, "--hosts", "'" + text + "' is not HOSTS=FILE",
                           "write 'g[1-64]=node.json'"};
    auto hosts = topo::expand_hostlist(text.substr(0, sign));
    if (!hosts) {
        topo::error why = hosts.failure();
        why.where = "--hosts '" + text + "'" + (why.where.empty() ? "" : ", " + why.where);
        return why;
    }
    return host_rule{std::move(*hosts), text.substr(sign + 1)};
}

topo::result<topo::fabric_description> read_fabric(const std::string& path, topo::findings& notes) {
    if (path.empty()) return topo::fabric_description{};
    auto got = load(path);
    if (!got) return got.failure();
    notes.insert(notes.end(), got->notes.begin(), got->notes.end());
    if (got->cluster) return got->cluster->fabric;
    if (got->fabric) return std::move(*got->fabric);
    return topo::error{topo::errc::bad_input, place_of(path), "is a " + got->kind_text() + " and describes no fabric",
                       "give a fabric file, a cluster file, topology.conf, ibnetdiscover output or a topograph model"};
}

// Equal hosts of a gres.conf are one node whose host is their list.
topo::result<std::vector<std::string>> hosts_named_in(const topo::node_description& n, const std::string& file) {
    if (n.host.empty()) return std::vector<std::string>{};
    auto hosts = topo::expand_hostlist(n.host);
    if (hosts) return hosts;
    topo::error why = hosts.failure();
    why.where = place_of(file) + ": host '" + n.host + "', " + why.where;
    return why;
}

// Every file once, with the hosts of all rules that name it.
topo::result<std::vector<topo::merge_input>> read_nodes(const options& o) {
    std::vector<host_rule> rules;
    std::vector<std::string> files = o.files;
    for (const std::string& text : o.hosts) {
        auto rule = parse_rule(text);
        if (!rule) return rule.failure();
        if (std::find(files.begin(), files.end(), rule->file) == files.end()) files.push_back(rule->file);
        rules.push_back(std::move(*rule));
    }
    if (files.empty())
        return topo::error{topo::errc::bad_input, "merge", "no node file was given",
                           "name node files or use --hosts HOSTS=FILE"};
    std::vector<topo::merge_input> inputs;
    for (const std::string& file : files) {
        auto got = load(file);
        if (!got) return got.failure();
        if (got->nodes.empty())
            return topo::error{topo::errc::bad_input, place_of(file),
                               "is a " + got->kind_text() + " and describes no node",
                               got->cluster || got->fabric ? "give a fabric with --fabric" : "give a node file"};
        std::vector<std::string> hosts;
        for (const host_rule& rule : rules)
            if (rule.file == file) hosts.insert(hosts.end(), rule.hosts.begin(), rule.hosts.end());
        if (!hosts.empty() && got->nodes.size() != 1)
            return topo::error{topo::errc::bad_input, place_of(file),
                               fmt::format("describes {} nodes, and --hosts names hosts for it", got->nodes.size()),
                               "split it with atoll import -o DIR and name one file"};
        for (topo::node_description& n : got->nodes) {
            auto named = hosts.empty() ? hosts_named_in(n, file) : hosts;
            if (!named) return named.failure();
            inputs.push_back({std::move(n), std::move(*named), place_of(file)});
        }
    }
    return inputs;
}

int run(const options& o) {
    const console out = o.common.make_console();
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    topo::findings notes;
    auto fabric = read_fabric(o.fabric, notes);
    if (!fabric) return out.fail(fabric.failure());
    auto inputs = read_nodes(o);
    if (!inputs) return out.fail(inputs.failure());
    auto merged = topo::merge(*inputs, std::move(*fabric), o.name);
    if (!merged) return out.fail(merged.failure());
    notes.insert(notes.end(), merged->notes.begin(), merged->notes.end());
    const std::string text = topo::write_cluster(merged->cluster);
    const json nodes = nodes_json(merged->cluster);
    auto built = topo::cluster::build(std::move(merged->cluster));  // never write what no plugin could load
    if (!built) return out.fail(built.failure());
    notes.insert(notes.end(), built->notes().begin(), built->notes().end());
    out.report(notes);
    if (built->simulated())
        out.say(out.err().loud(" SIMULATED ") +
                " some costs are simulated; plugins refuse them unless allow_simulated: true");
    if (const exit_code code = deliver(out, *to, o.output, text); code != done) return code;
    if (!o.common.as_json) {
        out.say(fmt::format("{}: {} in {}", render::printable(built->name()),
                            render::counted(built->nodes().size(), "node"),
                            render::counted(built->classes().size(), "class", "classes")));
        return done;
    }
    return out.print_object(json{{"name", built->name()},
                                 {"written", *to == destination::file ? json(o.output) : json()},
                                 {"cluster_file", *to == destination::inside_json ? json(text) : json()},
                                 {"simulated", built->simulated()},
                                 {"nodes", nodes},
                                 {"fabric", to_json(built->network())},
                                 {"findings", to_json(notes)}});
}

}  // namespace

void add_merge(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("merge",
             "Make a cluster file of node files and a fabric\n"
             "Nodes that are equal within tolerance share a\n"
             "class; a node that differs gets its own, and a finding says by what.",
             "  atoll merge nodes/*.json --fabric fabric.yaml -o cluster.yaml\n"
             "  atoll merge --hosts 'g[1-64]=h100.json' --fabric topology.conf -o cluster.yaml\n"
             "  atoll merge --hosts 'g[1-63]=h100.json' --hosts g64=bad.json --name lab\n"
             "Without -o the cluster file goes to standard output.\n",
             [o] { return run(*o); })
        .texts({.names = "node",
                .help = "Node files (or files that atoll import reads)",
                .type = "NODE.json",
                .files = true},
               o->files)
        .text({.names = "--fabric",
               .help = "Fabric file, cluster file, topology.conf, ibnetdiscover output or topograph model",
               .type = "FILE",
               .files = true},
              o->fabric)
        .texts({.names = "--hosts",
                .help = "These hosts have the hardware of that node file; may be repeated",
                .type = "HOSTS=FILE",
                .files = true},
               o->hosts)
        .text({.names = "--name", .help = "Name of the cluster (default cluster)", .type = "NAME"}, o->name)
        .text({.names = "-o,--output",
               .help = "Write the cluster file (YAML) here; - is standard output",
               .type = "FILE",
               .files = true},
              o->output)
        .common(o->common);
}

}  // namespace cli

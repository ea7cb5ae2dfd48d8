// SPDX-License-Identifier: Apache-2.0
#include "topo/export/export.hpp"

#include <memory>
#include <nlohmann/json.hpp>

#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/verb.hpp"

namespace cli {
namespace {

struct options {
    std::string file;
    std::string target;
    std::string output;
    common_options common;
};

int run(const options& o) {
    const console out = o.common.make_console();
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    auto got = load(o.file);
    if (!got) return out.fail(got.failure());
    topo::findings notes = notes_of(*got);
    const auto cluster = load_as_cluster(std::move(*got));
    if (!cluster) return out.fail(cluster.failure());
    const auto made = o.target == "slurm-gres" ? topo::to_slurm_gres(*cluster) : topo::to_slurm_topology(*cluster);
    if (!made) return out.fail(made.failure());
    add_missing(notes, made->notes);
    out.report(notes);
    if (const exit_code code = deliver(out, *to, o.output, made->text); code != done) return code;
    if (!o.common.as_json) return done;
    return out.print_object(json{{"target", o.target},
                                 {"written", *to == destination::file ? json(o.output) : json()},
                                 {"text", *to == destination::inside_json ? json(made->text) : json()},
                                 {"findings", to_json(notes)}});
}

}  // namespace

void add_export(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("export",
             "Write files of other tools\n"
             "From a cluster file: topology.conf or gres.conf of Slurm.",
             "  atoll export cluster.yaml --to slurm-topology -o topology.conf\n"
             "  atoll export cluster.yaml --to slurm-gres      Links, Cores and File of every GPU\n"
             "Without -o the text goes to standard output.\n",
             [o] { return run(*o); })
        .text({.names = "cluster",
               .help = "Cluster file; - is standard input",
               .type = "CLUSTER",
               .files = true,
               .required = true},
              o->file)
        .text({.names = "--to",
               .help = "What to write",
               .values = {"slurm-topology", "slurm-gres"},
               .only_values = true,
               .required = true},
              o->target)
        .text({.names = "-o,--output", .help = "Write here; - is standard output", .type = "FILE", .files = true},
              o->output)
        .common(o->common);
}

}  // namespace cli

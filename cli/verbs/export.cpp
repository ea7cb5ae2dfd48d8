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

topo::result<topo::export_output> write(const std::string& target, const topo::cluster& c) {
    if (target == "slurm-gres") return topo::to_slurm_gres(c);
    if (target == "k8s-labels") return topo::to_k8s_labels(c);
    if (target == "kueue") return topo::to_kueue(c);
    if (target == "nfd") return topo::to_nfd(c);
    if (target == "topograph") return topo::to_topograph(c);
    if (target == "volcano") return topo::to_volcano(c);
    return topo::to_slurm_topology(c);
}

int run(const options& o) {
    const console out = o.common.make_console();
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    auto got = load(o.file);
    if (!got) return out.fail(got.failure());
    topo::findings notes = notes_of(*got);
    const auto cluster = load_as_cluster(std::move(*got));
    if (!cluster) return out.fail(cluster.failure());
    const auto made = write(o.target, *cluster);
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
             "From a cluster file: topology.conf or gres.conf of Slurm; for Kubernetes the node labels, Kueue's "
             "Topology\n"
             "and queues, Volcano's HyperNodes, NFD's NodeFeatures; a model of topograph.",
             "  atoll export cluster.yaml --to slurm-topology -o topology.conf\n"
             "  atoll export cluster.yaml --to slurm-gres      Links, Cores and File of every GPU\n"
             "  atoll export cluster.yaml --to k8s-labels | kubectl apply --server-side -f -\n"
             "  atoll export cluster.yaml --to kueue           levels from the outermost switch to the host\n"
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
               .values = {"slurm-topology", "slurm-gres", "k8s-labels", "kueue", "nfd", "topograph", "volcano"},
               .only_values = true,
               .required = true},
              o->target)
        .text({.names = "-o,--output", .help = "Write here; - is standard output", .type = "FILE", .files = true},
              o->output)
        .common(o->common);
}

}  // namespace cli

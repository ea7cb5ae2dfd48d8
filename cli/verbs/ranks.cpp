// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/pattern_options.hpp"
#include "cli/placement_view.hpp"
#include "cli/slurm_job.hpp"
#include "cli/verb.hpp"
#include "placement/launch_files.hpp"
#include "placement/placer.hpp"
#include "placement/rank_order.hpp"
#include "topo/free_state.hpp"
#include "topo/hostlist.hpp"
#include "topo/id_set.hpp"

namespace cli {
namespace {

struct options {
    std::string file = "/etc/atoll/cluster.yaml";
    std::uint32_t job = 0;
    std::string nodes, gpus, allocation;
    std::string format = "table";
    std::string here;
    std::string output;
    pattern_options talk;
    common_options common;
};

using shares = std::vector<placement::node_share>;

topo::error bad(std::string where, std::string what, std::string remedy) {
    return {topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}

topo::result<shares> shares_named(const options& o, const topo::cluster& c) {
    const auto hosts = topo::expand_hostlist(o.nodes);
    if (!hosts) return bad("--nodes", topo::hostlist_fault(o.nodes, hosts.failure()), "write g[1-4]");
    const slurm_job job{o.nodes, std::vector<std::string>(hosts->size(), fmt::format("gpu(IDX:{})", o.gpus))};
    if (o.gpus.empty()) {
        shares all;
        for (const std::string& host : *hosts) {
            const auto node = c.find(host);
            if (!node)
                return topo::error{topo::errc::missing, "--nodes", fmt::format("'{}' is not in the cluster file", host),
                                   "correct the name"};
            all.push_back({*node, topo::first_gpus(c.class_of(*node).gpus.size())});
        }
        return all;
    }
    return shares_of(job, c);
}

topo::result<shares> shares_in_file(const options& o, const topo::cluster& c) {
    const auto text = read_input(o.allocation);
    if (!text) return text.failure();
    const auto state = topo::parse_free(*text, place_of(o.allocation), c);
    if (!state) return state.failure();
    shares out;
    for (std::size_t i = 0; i < state->free.size(); ++i)
        if (state->free[i] != 0) out.push_back({topo::node_id(i), state->free[i]});
    return out;
}

topo::result<shares> shares_wanted(const options& o, const topo::cluster& c) {
    if ((o.job > 0) + !o.nodes.empty() + !o.allocation.empty() > 1)
        return bad("ranks", "--job, --nodes and --allocation name the nodes in different ways", "use one of them");
    if (!o.gpus.empty() && o.nodes.empty()) return bad("--gpus", "stands without --nodes", "name the nodes too");
    if (!o.nodes.empty()) return shares_named(o, c);
    if (!o.allocation.empty()) return shares_in_file(o, c);
    if (o.job == 0) return shares_here([](const char* name) { return std::getenv(name); }, ask_slurm, c);
    const auto job = ask_slurm(o.job);
    if (!job) return job.failure();
    return shares_of(*job, c);
}

// Fills ranks and prediction of the given shares; the wish is for exactly these.
topo::result<placement::request> order(options& o, const topo::cluster& c, placement::answer& got) {
    std::size_t gpus = 0;
    std::vector<std::uint8_t> seen(c.nodes().size(), 0);
    for (const placement::node_share& s : got.nodes) {
        gpus += topo::count(s.gpus);
        if (std::exchange(seen[s.node.value], 1) != 0)
            return bad(c.nodes()[s.node.value].name, "this node is named twice", "name it once");
    }
    if (gpus == 0) return bad("ranks", "there is no GPU to order", "name nodes with GPUs");
    placement::request wanted;
    wanted.nodes = 0;
    wanted.gpus_total = static_cast<std::uint32_t>(gpus);
    if (auto fault = apply_pattern(o.talk, wanted)) return *fault;
    const auto chooser = placement::placer::make(
        c, {.subsets = {.message_bytes = wanted.message_bytes, .objective = placement::objective_of(wanted.talks)}});
    if (!chooser) return chooser.failure();
    placement::sort_by_fabric(c.network(), got.nodes);
    chooser->predict(wanted, got);
    return wanted;
}

// The line of `host`, without its name.
topo::result<std::string> line_of(const std::string& lines, const std::string& host) {
    for (std::size_t at = 0; at < lines.size();) {
        const std::size_t end = lines.find('\n', at);
        const std::string line = lines.substr(at, end - at);
        if (line.starts_with(host + " ")) return line.substr(host.size() + 1) + "\n";
        at = end + 1;
    }
    return bad("--here", fmt::format("'{}' is no node of the job", host), "use a name of the job's node list");
}

topo::result<std::string> text_of(const options& o, const placed_job& job, const console& out) {
    const placement::rank_list ranks = job.got.ranks;
    if (!o.here.empty() && o.format != "torchrun")
        return bad("--here", "only torchrun is started on each node by itself", "add --format torchrun");
    if (o.format == "slurm") return placement::slurm_hostfile(job.on, ranks);
    if (o.format == "openmpi") return placement::open_mpi_rankfile(job.on, ranks);
    if (o.format == "mpich") return placement::hydra_hosts(job.on, ranks);
    if (o.format == "deepspeed") return placement::deepspeed_hostfile(job.on, ranks);
    if (o.format != "torchrun") return ranks_text(job, out.out());
    auto lines = placement::torchrun_lines(job.on, ranks);
    if (!lines || o.here.empty()) return lines;
    return line_of(*lines, o.here);
}

int run(options& o) {
    const console out = o.common.make_console();
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    auto got = load(o.file);
    if (!got) return out.fail(got.failure());
    topo::findings notes = notes_of(*got);
    const auto cluster = load_as_cluster(std::move(*got));
    if (!cluster) return out.fail(cluster.failure());
    auto nodes = shares_wanted(o, *cluster);
    if (!nodes) return out.fail(nodes.failure());
    placement::answer answer;
    answer.nodes = std::move(*nodes);
    const auto wanted = order(o, *cluster, answer);
    if (!wanted) return out.fail(wanted.failure());
    const placed_job job{*cluster, *wanted, answer};
    add_missing(notes, placement_notes(job));
    const auto text = text_of(o, job, out);
    if (!text) return out.fail(text.failure());
    if (o.format == "table") out.report(notes);
    if (const exit_code code = deliver(out, *to, o.output, *text); code != done) return code;
    if (!o.common.as_json) return done;
    json object = placement_json(job, notes);
    for (const char* of_choice : {"outcome", "damage", "runner_up"}) object.erase(of_choice);
    object["written"] = *to == destination::file ? json(o.output) : json();
    object["text"] = *to == destination::inside_json && o.format != "table" ? json(*text) : json();
    return out.print_object(object);
}

}  // namespace

void add_ranks(command_tree& tree) {
    auto o = std::make_shared<options>();
    verb& at = tree.add(
        "ranks",
        "Order the ranks of a job that has its nodes\n"
        "From the nodes and GPUs of a job and the cluster file: nodes by the fabric, GPUs of each in ring order. "
        "Every node of the job gets the same order; nothing is stored. Inside a Slurm job nothing need be named.",
        "  atoll ranks --format slurm -o hosts; SLURM_HOSTFILE=hosts srun -m arbitrary ./program\n"
        "  atoll ranks --format openmpi -o ranks.txt\n"
        "  mpirun --rankfile ranks.txt --mca rmaps_rank_file_physical 1 ./program\n"
        "  srun --ntasks-per-node=1 sh -c 'torchrun $(atoll ranks --format torchrun --here $SLURMD_NODENAME) "
        "train.py'\n"
        "  atoll ranks cluster.yaml --job 1234 --json\n"
        "  atoll ranks cluster.yaml --nodes 'g[1-4]' --gpus 0-3 --tp 4 --pp 4\n"
        "A rank is a GPU. With --gpus every node has the same ones; --allocation takes different ones, as the free\n"
        "file of `atoll place`.\n",
        [o] { return run(*o); });
    at.text({.names = "cluster",
             .help = "Cluster file (default /etc/atoll/cluster.yaml); - is standard input",
             .type = "CLUSTER",
             .files = true},
            o->file)
        .number({.names = "--job", .help = "A running Slurm job; asked of slurmctld through libslurm", .type = "ID"},
                o->job, 1, 0x7fffffff)
        .text({.names = "--nodes", .help = "The nodes, as a host list", .type = "HOSTS"}, o->nodes)
        .text({.names = "--gpus", .help = "GPUs of each of --nodes (default all)", .type = "LIST"}, o->gpus)
        .text({.names = "--allocation",
               .help = "A file with the GPUs of each node, \"g[1-2]\": 0-3",
               .type = "FILE",
               .files = true},
              o->allocation)
        .text({.names = "--format",
               .help = "table (default), slurm: SLURM_HOSTFILE for srun -m arbitrary, openmpi: rank file, mpich: hydra "
                       "hosts, torchrun: arguments a node, deepspeed: hostfile",
               .values = {"table", "slurm", "openmpi", "mpich", "torchrun", "deepspeed"},
               .only_values = true},
              o->format)
        .text({.names = "--here", .help = "With torchrun: only the arguments of this node", .type = "HOST"}, o->here)
        .text({.names = "-o,--output", .help = "Write here; - is standard output", .type = "FILE", .files = true},
              o->output);
    add_pattern_options(at, o->talk);
    at.common(o->common);
}

}  // namespace cli

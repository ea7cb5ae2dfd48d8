// SPDX-License-Identifier: Apache-2.0
#include "cli/job_options.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "cli/load.hpp"
#include "cli/render/text.hpp"
#include "topo/id_set.hpp"

namespace cli {
namespace {

topo::error bad(std::string where, std::string what, std::string remedy) {
    return {topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}

}  // namespace

void add_job_options(verb& to, job_options& o) {
    to.text({.names = "cluster",
             .help = "Cluster file, node file, or a file that import reads; - is standard input",
             .type = "CLUSTER|NODE.json",
             .files = true,
             .required = true},
            o.file)
        .number({.names = "-N,--nodes", .help = "Nodes (default 1; with --gpus as few as hold them)", .type = "N"},
                o.nodes, 1, 1u << 20)
        .number({.names = "--gpus-per-node", .help = "GPUs on each node, 1 to 64", .type = "G"}, o.gpus_per_node, 1,
                topo::max_gpus_per_node)
        .number({.names = "--gpus", .help = "GPUs in all, on the fewest nodes that hold them", .type = "N"}, o.gpus, 1,
                1u << 26)
        .number({.names = "--max-nodes",
                 .help = "At most so many nodes; with --gpus-per-node the job gets the most that fit from --nodes on",
                 .type = "N"},
                o.max_nodes, 1, 1u << 20)
        .number({.names = "--segment",
                 .help = "Nodes come in segments of N, each inside one NVLink domain, block or leaf",
                 .type = "N"},
                o.segment, 1, 1u << 20)
        .maybe({.names = "--free",
                .help = "Free GPUs: a list for a single node, or a free file (default: all are free)",
                .type = "FILE|LIST",
                .files = true},
               o.free);
    add_pattern_options(to, o.talk);
}

topo::result<placement::request> request_of(job_options& o) {
    placement::request r;
    r.segment_nodes = o.segment;
    if (o.max_nodes > 0 && o.max_nodes < o.nodes)
        return bad("--max-nodes", fmt::format("{} is less than the {} of --nodes", o.max_nodes, o.nodes),
                   "correct one of the two");
    if (o.segment > 0 && o.max_nodes == 0 && (o.gpus == 0 || o.nodes > 0) && std::max(1u, o.nodes) % o.segment != 0)
        return bad("--segment",
                   fmt::format("segments of {} do not make {}", render::counted(o.segment, "node"),
                               render::counted(std::max(1u, o.nodes), "node")),
                   "choose a number that divides --nodes");
    if (o.gpus > 0) {
        if (o.gpus_per_node > 0) return bad("--gpus", "stands together with --gpus-per-node", "use one of the two");
        if (o.gpus < o.nodes)
            return bad("--gpus",
                       fmt::format("{} cannot be spread over {}", render::counted(o.gpus, "GPU"),
                                   render::counted(o.nodes, "node")),
                       "ask for one a node at least");
        r.nodes = 0;
        r.gpus_total = o.gpus;
        r.min_nodes = o.nodes == 0 ? 1 : o.nodes;
        r.max_nodes = o.max_nodes > 0 ? o.max_nodes : o.nodes;
    } else if (o.gpus_per_node > 0) {
        r.nodes = o.nodes == 0 ? 1 : o.nodes;
        r.gpus_per_node = o.gpus_per_node;
        r.max_nodes = o.max_nodes;
    } else {
        return bad("place", "how many GPUs the job wants is not said", "use --gpus N, or --nodes N --gpus-per-node G");
    }
    if (auto fault = apply_pattern(o.talk, r)) return *fault;
    return r;
}

topo::result<topo::free_state> free_of(const topo::cluster& c, const job_options& o) {
    if (!o.free) return topo::free_state::all_free(c);
    const auto list = topo::id_set::parse(*o.free);
    if (!list) {
        auto text = read_input(*o.free);
        if (!text && text.failure().code == topo::errc::missing)
            return bad("--free", "'" + *o.free + "' is neither a list of GPUs nor a file that is there",
                       "write 0,1,4-5, or name a free file");
        if (!text) return text.failure();
        return topo::parse_free(*text, place_of(*o.free), c);
    }
    if (c.nodes().size() != 1)
        return bad("--free", fmt::format("a list of GPUs fits one node, and this cluster has {}", c.nodes().size()),
                   "name a free file: a map from hosts to GPUs, \"g[1-4]\": 0-7");
    const std::size_t gpus = c.class_of(topo::node_id(0)).gpus.size();
    topo::free_state state{{0}};
    if (!list->empty() && list->last() >= gpus)
        return bad("--free", fmt::format("GPU {} is not in this node", list->last()),
                   gpus == 0 ? std::string("it has none") : fmt::format("its GPUs are 0 to {}", gpus - 1));
    for (const std::uint32_t id : list->ids()) state.free[0] |= topo::gpu_mask{1} << id;
    return state;
}

topo::result<placement::placer> placer_for(const topo::cluster& c, const placement::request& wanted,
                                           const topo::free_state& state) {
    auto chooser = placement::placer::make(
        c, {.subsets = {.message_bytes = wanted.message_bytes, .objective = placement::objective_of(wanted.talks)}});
    if (!chooser) return chooser;
    for (std::size_t i = 0; i < state.free.size(); ++i) chooser->set_free(topo::node_id(i), state.free[i]);
    return chooser;
}

std::string asked_text(const placement::request& wanted) {
    return wanted.gpus_total > 0 ? render::counted(wanted.gpus_total, "GPU")
                                 : fmt::format("{} with {} each", render::counted(wanted.nodes, "node"),
                                               render::counted(wanted.gpus_per_node, "GPU"));
}

std::string_view word_of(placement::outcome o) noexcept {
    switch (o) {
        case placement::outcome::placed: return "placed";
        case placement::outcome::too_few_gpus: return "too_few_gpus";
        case placement::outcome::unreachable: return "unreachable";
        case placement::outcome::no_segments: return "no_segments";
        case placement::outcome::bad_request: break;
    }
    return "bad_request";
}

}  // namespace cli

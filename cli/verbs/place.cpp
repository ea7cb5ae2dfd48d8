// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/pattern_options.hpp"
#include "cli/placement_view.hpp"
#include "cli/render/page.hpp"
#include "cli/render/text.hpp"
#include "cli/verb.hpp"
#include "placement/placer.hpp"
#include "topo/free_state.hpp"
#include "topo/id_set.hpp"

namespace cli {
namespace {

struct options {
    std::string file;
    std::uint32_t nodes = 0;
    std::uint32_t gpus_per_node = 0;
    std::uint32_t gpus = 0;
    std::optional<std::string> free;
    pattern_options talk;
    std::string html;
    common_options common;
};

topo::error bad(std::string where, std::string what, std::string remedy) {
    return {topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}

topo::result<placement::request> request_of(options& o) {
    placement::request r;
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
        r.max_nodes = o.nodes;
    } else if (o.gpus_per_node > 0) {
        r.nodes = o.nodes == 0 ? 1 : o.nodes;
        r.gpus_per_node = o.gpus_per_node;
    } else {
        return bad("place", "how many GPUs the job wants is not said", "use --gpus N, or --nodes N --gpus-per-node G");
    }
    if (auto fault = apply_pattern(o.talk, r)) return *fault;
    return r;
}

topo::result<topo::free_state> free_of(const topo::cluster& c, const options& o) {
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

std::string_view word_of(placement::outcome o) {
    switch (o) {
        case placement::outcome::placed: return "placed";
        case placement::outcome::too_few_gpus: return "too_few_gpus";
        case placement::outcome::unreachable: return "unreachable";
        case placement::outcome::bad_request: break;
    }
    return "bad_request";
}

exit_code no_fit(const console& out, const options& o, const placement::request& wanted, placement::outcome why,
                 const topo::findings& notes) {
    const std::string_view text = placement::text_of(why);
    const exit_code code = why == placement::outcome::bad_request ? bad_use : difference;
    const std::string asked = wanted.gpus_total > 0
                                  ? render::counted(wanted.gpus_total, "GPU")
                                  : fmt::format("{} with {} each", render::counted(wanted.nodes, "node"),
                                                render::counted(wanted.gpus_per_node, "GPU"));
    if (!o.common.as_json) out.report(notes);
    out.fail(asked, std::string(text), "");
    if (!o.common.as_json) return code;
    const exit_code printed = out.print_object(no_placement_json(wanted, word_of(why), text, notes));
    return printed == done ? code : printed;
}

int run(options& o) {
    const console out = o.common.make_console();
    if (o.html == "-" && o.common.as_json)
        return out.fail("--html -", "the page and the --json object cannot both go to standard output", "name a file");
    auto got = load(o.file);
    if (!got) return out.fail(got.failure());
    topo::findings notes = notes_of(*got);
    const auto cluster = load_as_cluster(std::move(*got));
    if (!cluster) return out.fail(cluster.failure());
    const auto wanted = request_of(o);
    if (!wanted) return out.fail(wanted.failure());
    const auto state = free_of(*cluster, o);
    if (!state) return out.fail(state.failure());
    auto chooser = placement::placer::make(
        *cluster,
        {.subsets = {.message_bytes = wanted->message_bytes, .objective = placement::objective_of(wanted->talks)}});
    if (!chooser) return out.fail(chooser.failure());
    for (std::size_t i = 0; i < state->free.size(); ++i) chooser->set_free(topo::node_id(i), state->free[i]);
    placement::answer answer;
    const placement::outcome what = chooser->choose(*wanted, {}, answer);
    if (what != placement::outcome::placed) return no_fit(out, o, *wanted, what, notes);

    const placed_job job{*cluster, *wanted, answer};
    add_missing(notes, placement_notes(job));
    if (!o.html.empty()) {
        const std::string page = render::placement_page(job, state->free, notes);
        const exit_code code =
            deliver(out, o.html == "-" ? destination::standard_output : destination::file, o.html, page);
        if (code != done || o.html == "-") return code;
    }
    if (o.common.as_json) return out.print_object(placement_json(job, notes));
    out.report(notes);
    return out.print(placement_text(job, out.out()));
}

}  // namespace

void add_place(command_tree& tree) {
    auto o = std::make_shared<options>();
    verb& at = tree.add(
        "place",
        "Say where a job would go\n"
        "Nodes, GPUs, ranks, NICs, predicted step time, and the runner-up. Nothing is reserved. Exit code 1 when "
        "the job does not fit the free GPUs now.",
        "  atoll place cluster.yaml --nodes 4 --gpus-per-node 8\n"
        "  atoll place cluster.yaml --gpus 64 --free free.yaml --message 256M --json\n"
        "  atoll place cluster.yaml --gpus 64 --tp 8 --pp 2 --model-params 70B --microbatches 8\n"
        "  atoll place node.json --gpus 2 --free 0,1,4,5 --json\n"
        "Sizes: 64k, 64M, 1G are powers of 1000; 64Ki, 64Mi, 1Gi powers of 1024.\n"
        "Free file: a map from hosts to GPUs,  \"g[1-4]\": 0-7 ; hosts not named have none free.\n",
        [o] { return run(*o); });
    at.text({.names = "cluster",
             .help = "Cluster file, node file, or a file that import reads; - is standard input",
             .type = "CLUSTER|NODE.json",
             .files = true,
             .required = true},
            o->file)
        .number({.names = "-N,--nodes", .help = "Nodes (default 1; with --gpus as few as hold them)", .type = "N"},
                o->nodes, 1, 1u << 20)
        .number({.names = "--gpus-per-node", .help = "GPUs on each node, 1 to 64", .type = "G"}, o->gpus_per_node, 1,
                topo::max_gpus_per_node)
        .number({.names = "--gpus", .help = "GPUs in all, on the fewest nodes that hold them", .type = "N"}, o->gpus, 1,
                1u << 26)
        .maybe({.names = "--free",
                .help = "Free GPUs: a list for a single node, or a free file (default: all are free)",
                .type = "FILE|LIST",
                .files = true},
               o->free)
        .text({.names = "--html",
               .help = "Write the placement as a self-contained page; - is standard output",
               .type = "FILE",
               .files = true},
              o->html);
    add_pattern_options(at, o->talk);
    at.common(o->common);
}

}  // namespace cli

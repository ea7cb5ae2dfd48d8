// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/job_options.hpp"
#include "cli/load.hpp"
#include "cli/output.hpp"
#include "cli/placement_view.hpp"
#include "cli/render/page.hpp"
#include "cli/verb.hpp"

namespace cli {
namespace {

struct options {
    job_options job;
    std::string html;
    common_options common;
};

exit_code no_fit(const console& out, const options& o, const placement::request& wanted, placement::outcome why,
                 const topo::findings& notes) {
    const std::string_view text = placement::text_of(why);
    const exit_code code = why == placement::outcome::bad_request ? bad_use : difference;
    if (!o.common.as_json) out.report(notes);
    out.fail(asked_text(wanted), std::string(text), "");
    if (!o.common.as_json) return code;
    const exit_code printed = out.print_object(no_placement_json(wanted, word_of(why), text, notes));
    return printed == done ? code : printed;
}

int run(options& o) {
    const console out = o.common.make_console();
    if (o.html == "-" && o.common.as_json)
        return out.fail("--html -", "the page and the --json object cannot both go to standard output", "name a file");
    auto got = load(o.job.file);
    if (!got) return out.fail(got.failure());
    topo::findings notes = notes_of(*got);
    const auto cluster = load_as_cluster(std::move(*got));
    if (!cluster) return out.fail(cluster.failure());
    const auto wanted = request_of(o.job);
    if (!wanted) return out.fail(wanted.failure());
    const auto state = free_of(*cluster, o.job);
    if (!state) return out.fail(state.failure());
    const auto chooser = placer_for(*cluster, *wanted, *state);
    if (!chooser) return out.fail(chooser.failure());
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
        "  atoll place cluster.yaml --nodes 32 --gpus-per-node 4 --segment 16     # NVL72: 16 trays of a rack at a "
        "time\n"
        "  atoll place cluster.yaml --gpus 64 --tp 8 --pp 2 --model-params 70B --microbatches 8\n"
        "  atoll place node.json --gpus 2 --free 0,1,4,5 --json\n"
        "Sizes: 64k, 64M, 1G are powers of 1000; 64Ki, 64Mi, 1Gi powers of 1024.\n"
        "Free file: a map from hosts to GPUs,  \"g[1-4]\": 0-7 ; hosts not named have none free.\n",
        [o] { return run(*o); });
    add_job_options(at, o->job);
    at.text({.names = "--html",
             .help = "Write the placement as a self-contained page; - is standard output",
             .type = "FILE",
             .files = true},
            o->html)
        .common(o->common);
}

}  // namespace cli

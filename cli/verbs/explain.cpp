// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/explain_view.hpp"
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
    auto chooser = placer_for(*cluster, *wanted, *state);
    if (!chooser) return out.fail(chooser.failure());
    const auto why = placement::explain(*chooser, *cluster, *wanted, {});
    const bool placed = why.how == placement::outcome::placed;
    if (placed) add_missing(notes, placement_notes({*cluster, *wanted, why.got}));

    const explained_job job{*cluster, *wanted, why};
    const exit_code code = placed ? done : why.how == placement::outcome::bad_request ? bad_use : difference;
    if (!o.html.empty()) {
        const std::string page = render::explanation_page(job, state->free, notes);
        const exit_code written =
            deliver(out, o.html == "-" ? destination::standard_output : destination::file, o.html, page);
        if (written != done || o.html == "-") return written == done ? code : written;
    }
    if (!o.common.as_json) out.report(notes);
    const exit_code printed =
        o.common.as_json ? out.print_object(explanation_json(job, notes)) : out.print(explanation_text(job, out.out()));
    return printed == done ? code : printed;
}

}  // namespace

void add_explain(command_tree& tree) {
    auto o = std::make_shared<options>();
    verb& at = tree.add(
        "explain",
        "Say why a job would go where it would go\n"
        "What was taken, the runner-up, the first free GPUs by index and the choice with every GPU free: what each "
        "would "
        "cost, term by term, and what kept the job from a faster one. Nothing is reserved. Exit code 1 when the job "
        "does not fit the free GPUs now.",
        "  atoll explain cluster.yaml --nodes 4 --gpus-per-node 8 --free free.yaml\n"
        "  atoll explain cluster.yaml --gpus 64 --tp 8 --pp 2 --model-params 70B --html why.html\n"
        "  atoll explain node.json --gpus 2 --free 0,1,4,5 --json\n",
        [o] { return run(*o); });
    add_job_options(at, o->job);
    at.text({.names = "--html",
             .help = "Write the explanation as a self-contained page with pictures; - is standard output",
             .type = "FILE",
             .files = true},
            o->html)
        .common(o->common);
}

}  // namespace cli

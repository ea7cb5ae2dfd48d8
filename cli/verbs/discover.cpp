// SPDX-License-Identifier: Apache-2.0
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/describe.hpp"
#include "cli/output.hpp"
#include "cli/render/summary.hpp"
#include "cli/verb.hpp"
#include "topo/discover/discover.hpp"

namespace cli {
namespace {

struct options {
    std::string output;
    topo::discover_options how;
    bool no_hwloc = false;
    common_options common;
};

int run(options& o) {
    const console out = o.common.make_console();
    const auto to = destination_of(o.output, o.common.as_json);
    if (!to) return out.fail(to.failure());
    o.how.use_hwloc = !o.no_hwloc;
    auto found = topo::discover(o.how);
    if (!found) return out.fail(found.failure());
    const std::string title = found->host.empty() ? "this host" : found->host;
    out.report(found->notes);
    const bool summary_only = o.output.empty() && out.out().terminal;
    if (*to == destination::standard_output && summary_only)
        return out.print(
            render::class_text(found->hardware, {.title = title, .hosts = {}, .engine = {}, .only = {}}, out.out()) +
            "Nothing was written; -o FILE writes the node file.\n");
    if (const exit_code code = deliver(out, *to, o.output, topo::write_node(*found)); code != done) return code;
    if (!o.common.as_json) return done;
    return out.print_object(json{{"host", found->host},
                                 {"written", *to == destination::file ? json(o.output) : json()},
                                 {"node", node_file_json(*found)},
                                 {"findings", to_json(found->notes)}});
}

}  // namespace

void add_discover(command_tree& tree) {
    auto o = std::make_shared<options>();
    tree.add("discover",
             "Read the devices of this host\n"
             "GPUs, NICs, NUMA nodes and links, through hwloc and sysfs. Nothing is measured and no driver\n"
             "is loaded: every cost is an estimate from the link class.",
             "  atoll discover                     look at this host\n"
             "  atoll discover -o node.json        keep it as a node file\n"
             "  atoll discover --json | jq .node.gpus\n"
             "Without -o the node file goes to standard output; on a terminal a summary is shown instead.\n",
             [o] { return run(*o); })
        .text({.names = "-o,--output",
               .help = "Write the node file (JSON) here; - is standard output",
               .type = "FILE",
               .files = true},
              o->output)
        .text({.names = "--sysfs", .help = "Another folder laid out like /sys", .type = "DIR", .files = true},
              o->how.sysfs_root)
        .text({.names = "--procfs", .help = "Another folder laid out like /proc", .type = "DIR", .files = true},
              o->how.proc_root)
        .flag({.names = "--no-hwloc", .help = "Use sysfs alone (needed with --sysfs of another machine)"}, o->no_hwloc)
        .common(o->common);
}

}  // namespace cli

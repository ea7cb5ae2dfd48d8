// SPDX-License-Identifier: Apache-2.0
// Importers, each found by content: what is read is sound, and Atoll's own files hold it.
#include "topo/import/import.hpp"
#include "tests/fuzz/check.hpp"
#include "topo/file.hpp"

namespace {

void hold(const topo::node_description& node) {
    fuzz::check(node.notes);
    const auto faults = topo::check(node.hardware);
    // A file may describe more devices than placement takes; that is said when it is used.
    const bool large =
        node.hardware.gpus.size() > topo::max_gpus_per_node || node.hardware.nics.size() > topo::max_nics_per_node;
    fuzz::require(large || faults.empty(), "imported hardware is sound", faults.empty() ? "" : faults[0].message());
    if (large) return;
    const std::string written = topo::write_node(node);
    const auto again = topo::parse_node(written, "again.json");
    fuzz::require(again.has_value(), "an imported node is written and read",
                  again ? "" : again.failure().message() + "\n" + written);
    fuzz::require(again->hardware == node.hardware, "an imported node is written as it is", written);
}

void hold(const topo::fabric_description& fabric) {
    const auto faults = topo::check(fabric);
    for (const auto& f : faults)
        fuzz::require(f.level != topo::severity::error, "an imported fabric is sound", f.message());
    const std::string written = topo::write_fabric(fabric);
    const auto again = topo::parse_fabric(written, "again.yaml");
    fuzz::require(again.has_value(), "an imported fabric is written and read",
                  again ? "" : again.failure().message() + "\n" + written);
    fuzz::require(*again == fabric, "an imported fabric is written as it is", written);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    for (const bool strict : {false, true}) {
        topo::import_options options;
        options.strict = strict;
        const auto got = topo::import_text(fuzz::text_of(data, size), "input", topo::format::automatic, options);
        if (!got) {
            fuzz::check(got.failure());
            continue;
        }
        fuzz::check(got->notes);
        for (const auto& n : got->nodes) hold(n);
        if (got->fabric) hold(*got->fabric);
    }
    return 0;
}

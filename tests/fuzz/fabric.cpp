// SPDX-License-Identifier: Apache-2.0
// Fabric files: read, built over all nodes that they name, and walked.
#include <vector>

#include "tests/fuzz/check.hpp"
#include "topo/fabric.hpp"
#include "topo/file.hpp"

namespace {

void walk(const topo::fabric& f, std::uint32_t nodes) {
    for (int level = 0; level < f.levels(); ++level) {
        fuzz::require(f.level_cost(level).valid(), "every level has a cost");
        for (std::uint32_t g = 0; g < f.groups(level); ++g)
            fuzz::require(f.capacity(level, topo::group_id(g)) > 0, "a capacity is positive");
        for (std::uint32_t n = 0; n < nodes; ++n) {
            const auto group = f.group_of(topo::node_id(n), level);
            fuzz::require(!group.valid() || group.value < f.groups(level), "a group is one of its level");
        }
    }
    if (nodes > 1) {
        const int level = f.level_of(topo::node_id(0), topo::node_id(nodes - 1));
        fuzz::require(level == topo::unreachable_level || (level >= 0 && level < f.levels()), "a level exists");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto got = topo::parse_fabric(fuzz::text_of(data, size), "fabric.yaml");
    if (!got) {
        fuzz::check(got.failure());
        return 0;
    }
    std::vector<std::string> names{"n1", "stray"};
    for (const auto& s : got->switches)
        for (const auto& n : s.nodes)
            if (n != names[0] && n != names[1] && names.size() < 4096) names.push_back(n);
    for (const bool lenient : {false, true}) {
        const auto built = topo::build_fabric(*got, names, lenient);
        if (!built) {
            fuzz::check(built.failure());
        } else {
            fuzz::check(built->notes);
            walk(*built->built, static_cast<std::uint32_t>(names.size()));
        }
    }
    const std::string written = topo::write_fabric(*got);
    const auto again = topo::parse_fabric(written, "again.yaml");
    fuzz::require(again.has_value(), "a written fabric is read",
                  again ? "" : again.failure().message() + "\n" + written);
    fuzz::require(*again == *got, "a written fabric is the same", written);
    return 0;
}

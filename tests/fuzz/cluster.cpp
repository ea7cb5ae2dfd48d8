// SPDX-License-Identifier: Apache-2.0
// Cluster files: read, built both ways, and written so that they read as the same cluster.
#include "tests/fuzz/check.hpp"
#include "topo/file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto got = topo::parse_cluster(fuzz::text_of(data, size), "cluster.yaml");
    if (!got) {
        fuzz::check(got.failure());
        return 0;
    }
    for (const bool lenient : {false, true}) {
        const auto built = topo::cluster::build(*got, lenient);
        if (!built)
            fuzz::check(built.failure());
        else
            fuzz::check(built->notes());
    }
    const std::string written = topo::write_cluster(*got);
    const auto again = topo::parse_cluster(written, "again.yaml");
    fuzz::require(again.has_value(), "a written cluster is read",
                  again ? "" : again.failure().message() + "\n" + written);
    fuzz::require(*again == *got, "a written cluster is the same", written);
    return 0;
}

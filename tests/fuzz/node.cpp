// SPDX-License-Identifier: Apache-2.0
// Node files: what is read is sound, and writing it gives a file that reads as the same node.
#include "tests/fuzz/check.hpp"
#include "topo/file.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto got = topo::parse_node(fuzz::text_of(data, size), "node.json");
    if (!got) {
        fuzz::check(got.failure());
        return 0;
    }
    fuzz::check(got->notes);
    fuzz::require(topo::check(got->hardware).empty(), "a node that is read is sound");
    const std::string written = topo::write_node(*got);
    const auto again = topo::parse_node(written, "again.json");
    fuzz::require(again.has_value(), "a written node is read", again ? "" : again.failure().message() + "\n" + written);
    fuzz::require(again->hardware == got->hardware && again->host == got->host, "a written node is the same", written);
    return 0;
}

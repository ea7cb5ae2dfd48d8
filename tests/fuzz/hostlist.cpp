// SPDX-License-Identifier: Apache-2.0
// Host lists: what is expanded can be compressed and expanded to the same names.
#include "topo/hostlist.hpp"
#include "tests/fuzz/check.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto names = topo::expand_hostlist(fuzz::text_of(data, size));
    if (!names) {
        fuzz::check(names.failure());
        return 0;
    }
    fuzz::require(!names->empty() && names->size() <= topo::max_hosts, "a list has from 1 to max_hosts names");
    const std::string compressed = topo::compress_hostlist(*names);
    const auto again = topo::expand_hostlist(compressed);
    fuzz::require(again.has_value(), "a compressed list is read", compressed);
    fuzz::require(*again == *names, "a compressed list has the same names", compressed);
    return 0;
}

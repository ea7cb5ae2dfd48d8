// SPDX-License-Identifier: Apache-2.0
// Any bytes as the plugin's counters: an error, or numbers that can be asked for their quantiles.
#include "topo/plugin_stats.hpp"

#include <cstdlib>
#include <cstring>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    namespace stats = topo::stats;
    (void)stats::parse({data, size}, "fuzz");
    // Bytes of the right size and head get further.
    std::vector<std::uint8_t> file(stats::file_words * 8, 0);
    const std::uint64_t head[2] = {stats::magic, stats::version};
    std::memcpy(file.data(), head, sizeof(head));
    for (std::size_t i = 0; i < size && sizeof(head) + i < file.size(); ++i) file[sizeof(head) + i] = data[i];
    const auto got = stats::parse(file, "fuzz");
    if (!got) return 0;
    for (const double q : {0.5, 0.999, 1.0})
        if (got->total.count() > 0 && got->total.quantile(q) == 0) std::abort();
    for (const auto& [text, count] : got->left)
        if (count == 0 || text.size() > 56) std::abort();
    return 0;
}

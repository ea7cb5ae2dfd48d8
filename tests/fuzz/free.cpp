// SPDX-License-Identifier: Apache-2.0
// Free files, against a small cluster of two classes.
#include "tests/fuzz/check.hpp"
#include "topo/file.hpp"
#include "topo/free_state.hpp"

namespace {

const topo::cluster& lab() {
    static const topo::result<topo::cluster> built = [] {
        topo::cluster_description c;
        topo::node_class eight;
        eight.name = "eight";
        for (int i = 0; i < 8; ++i) eight.gpus.push_back({"GPU" + std::to_string(i), "", "", {}, -1, {}});
        topo::node_class none;
        none.name = "none";
        c.classes = {eight, none};
        c.nodes = {{"eight", {"n1", "n2", "n3", "g1", "g2"}}, {"none", {"login"}}};
        return topo::cluster::build(std::move(c));
    }();
    fuzz::require(built.has_value(), "the cluster is built", built ? "" : built.failure().message());
    return *built;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const auto& c = lab();
    const auto got = topo::parse_free(fuzz::text_of(data, size), "free.yaml", c);
    if (!got) {
        fuzz::check(got.failure());
        return 0;
    }
    fuzz::require(got->free.size() == c.nodes().size(), "every node has a mask");
    const auto all = topo::free_state::all_free(c);
    for (std::size_t n = 0; n < all.free.size(); ++n)
        fuzz::require((got->free[n] & ~all.free[n]) == 0, "only GPUs that are there are free");
    return 0;
}

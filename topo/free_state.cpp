// SPDX-License-Identifier: Apache-2.0
#include "topo/free_state.hpp"

#include <fmt/format.h>

#include "topo/file/fields.hpp"
#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

using namespace file;

void read_line(const std::string& hosts, const value& gpus, const cluster& c, free_state& state, faults& out) {
    const auto names = expand_hostlist(hosts);
    if (!names)
        return out.report(gpus.line, hostlist_fault(hosts, names.failure()), names.failure().remedy,
                          names.failure().code);
    if (gpus.is == kind::null)
        return out.report(gpus.line, fmt::format("{} has no list of GPUs", shown(hosts)), "write 0-7, or [] for none");
    const id_set set = as_ids(gpus, fmt::format("free GPUs of {}", shown(hosts)), out);
    if (out.any()) return;
    for (const auto& name : *names) {
        const auto node = c.find(name);
        if (!node)
            return out.report(gpus.line, fmt::format("the cluster has no node {}", shown(name)),
                              "correct the name, or add the node to the cluster file");
        const std::size_t have = c.class_of(*node).gpus.size();
        if (!set.empty() && set.last() >= have)
            return out.report(gpus.line, fmt::format("node {} has no GPU {}", shown(name), set.last()),
                              have == 0
                                  ? std::string("its class has no GPU")
                                  : fmt::format("its class {} has GPUs 0-{}", shown(c.class_of(*node).name), have - 1));
        gpu_mask mask = 0;
        for (const std::uint32_t id : set.ids()) mask |= gpu_mask{1} << id;
        state.free[node->value] = mask;
    }
}

}  // namespace

free_state free_state::all_free(const cluster& c) {
    free_state state;
    state.free.reserve(c.nodes().size());
    for (const auto& n : c.nodes()) state.free.push_back(first_gpus(c.classes()[n.hardware.value].gpus.size()));
    return state;
}

result<free_state> parse_free(std::string_view text, const std::string& file, const cluster& c) {
    const auto first = text.find_first_not_of(" \t\r\n");
    const bool looks_like_json = first != std::string_view::npos && text[first] == '{';
    auto document = looks_like_json ? read_json(text, file) : read_yaml(text, file);
    if (!document && looks_like_json)
        if (auto flow = read_yaml(text, file)) document = std::move(flow);  // {g1: 0-3} is YAML too
    if (!document) return document.failure();
    if (document->is != kind::map)
        return error{errc::bad_input, file, "a free file is a map from host lists to GPU lists",
                     "write lines such as \"g[001-004]\": 0-7"};
    faults out(file);
    free_state state;
    state.free.assign(c.nodes().size(), 0);
    for (std::size_t i = 0; i < document->keys.size() && !out.any(); ++i)
        read_line(document->keys[i], document->items[i], c, state, out);
    if (out.any()) return out.first();
    return state;
}

}  // namespace topo

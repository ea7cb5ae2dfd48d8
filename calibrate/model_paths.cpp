// SPDX-License-Identifier: Apache-2.0
// Which path joins two places of a model, and what it is worth.
#include <algorithm>
#include <utility>

#include "calibrate/model.hpp"

namespace calibrate {

using topo::endpoint;
using topo::link_class;

topo::link link_between(const machine_model& m, place a, place b) {
    const auto& hw = m.hardware;
    if (a.kind == endpoint::gpu && b.kind == endpoint::gpu) return hw.gpu_links(a.index, b.index);
    if (a.kind != endpoint::gpu && b.kind == endpoint::gpu) std::swap(a, b);
    if (a.kind != endpoint::gpu) return {};
    if (b.kind == endpoint::nic) return hw.nic_links(a.index, b.index);
    const int owner = m.memory_of[b.index];
    if (owner >= 0)
        return static_cast<std::size_t>(owner) == a.index ? topo::link{link_class::self, 0}
                                                          : hw.gpu_links(static_cast<std::size_t>(owner), a.index);
    return {hw.numa[b.index].id == hw.gpus[a.index].numa ? link_class::node : link_class::sys, 0};
}

link_class without_nvlink(const machine_model& m, std::size_t a, std::size_t b) {
    const auto& gpus = m.hardware.gpus;
    return gpus[a].numa == gpus[b].numa && gpus[a].numa >= 0 ? link_class::node : link_class::sys;
}

std::optional<true_path> path_of(const machine_model& m, endpoint from, endpoint to, topo::link l, topo::engine by) {
    for (const auto& rule : m.rules)
        if (rule.from == from && rule.to == to && rule.link == l.kind && rule.by == by)
            return true_path{rule.alpha_us, rule.per_link ? rule.gb_per_s * std::max<int>(l.count, 1) : rule.gb_per_s,
                             rule.staged};
    return std::nullopt;
}

std::optional<true_path> path_between(const machine_model& m, place from, place to, topo::link l, topo::engine by) {
    auto path = path_of(m, from.kind, to.kind, l, by);
    for (const place& end : {from, to})
        if (path && end.kind == endpoint::nic)
            if (const auto port = m.hardware.nics[end.index].gb_per_s)
                path->gb_per_s = std::min(path->gb_per_s, 0.97 * *port);
    return path;
}

}  // namespace calibrate

// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/shapes.hpp"

#include <algorithm>

namespace slurm_plugin {
namespace {

constexpr std::uint64_t most_gpus_per_node = 64;
constexpr std::uint64_t most_scanned = 1024;

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) noexcept { return a / b + (a % b != 0 ? 1 : 0); }

struct range {
    std::uint64_t least, wanted, most;
};

// Node counts that come into question for reasons other than GPUs.
range node_range(const atoll_wish& w, const node_limits& limits) noexcept {
    range r{std::max<std::uint64_t>(w.min_nodes, 1), w.req_nodes, w.max_nodes};
    if (r.most == 0) r.most = UINT32_MAX;
    if (limits.cpus > 0) r.least = std::max(r.least, ceil_div(w.cpus_total, limits.cpus));
    if (w.tasks_per_node > 0) r.least = std::max(r.least, ceil_div(w.tasks, w.tasks_per_node));
    r.wanted = std::clamp(r.wanted, r.least, std::max(r.least, r.most));
    return r;
}

void add(shape_list& out, std::uint64_t nodes, std::uint64_t gpus) noexcept {
    if (out.count == max_shapes) return;
    out.items[out.count++] = {static_cast<std::uint32_t>(nodes), static_cast<std::uint32_t>(gpus)};
}

shape_list fixed_per_node(const range& r, std::uint64_t gpus) noexcept {
    shape_list out;
    const std::uint64_t gap = r.wanted - r.least;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < max_shapes; ++i) {
        const std::uint64_t nodes = r.wanted - gap * i / (max_shapes - 1);
        if (nodes != last) add(out, nodes, gpus);
        last = nodes;
    }
    return out;
}

// `units` pieces of `unit_gpus` GPUs, spread evenly over the nodes.
shape_list even_spread(const range& r, std::uint64_t units, std::uint64_t unit_gpus,
                       const node_limits& limits) noexcept {
    shape_list out;
    if (units == 0 || units > UINT32_MAX || unit_gpus > most_gpus_per_node) return out;
    const std::uint64_t per_node = std::min<std::uint64_t>(limits.gpus, most_gpus_per_node) / unit_gpus;
    if (per_node == 0) return out;
    const std::uint64_t first = std::max(r.least, ceil_div(units, per_node));
    const std::uint64_t last = std::min({r.most, units, first + most_scanned});
    const bool wants_more = r.wanted > first && r.wanted <= last && units % r.wanted == 0;
    if (wants_more) add(out, r.wanted, units / r.wanted * unit_gpus);
    for (std::uint64_t n = first; n <= last && out.count < max_shapes; ++n)
        if (units % n == 0 && !(wants_more && n == r.wanted)) add(out, n, units / n * unit_gpus);
    return out;
}

}  // namespace

shape_list shapes_of(const atoll_wish& w, const node_limits& limits) noexcept {
    const range r = node_range(w, limits);
    const int ways = (w.gpus_per_node > 0) + (w.gpus_total > 0) + (w.gpus_per_task > 0);
    if (ways != 1 || r.least > r.most) return {};
    if (w.gpus_per_node > 0)
        return w.gpus_per_node > std::min<std::uint64_t>(limits.gpus, most_gpus_per_node)
                   ? shape_list{}
                   : fixed_per_node(r, w.gpus_per_node);
    if (w.gpus_total > 0) return even_spread(r, w.gpus_total, 1, limits);
    return even_spread(r, w.tasks, w.gpus_per_task, limits);
}

std::uint64_t cpus_needed(const atoll_wish& w, const shape& s) noexcept {
    return std::max({std::uint64_t{w.cpus_per_node}, std::uint64_t{w.cpus_per_gpu} * s.gpus_per_node,
                     std::uint64_t{w.cpus_total} / s.nodes});
}

std::uint64_t memory_needed(const atoll_wish& w, const shape& s) noexcept {
    const std::uint64_t by_gpu = w.memory_per_gpu > UINT32_MAX ? UINT64_MAX : w.memory_per_gpu * s.gpus_per_node;
    return std::max(w.memory_per_node, by_gpu);
}

}  // namespace slurm_plugin

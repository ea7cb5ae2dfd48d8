// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/shapes.hpp"

#include <algorithm>

namespace slurm_plugin {
namespace {

constexpr std::uint64_t most_gpus_per_node = 64;

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

std::uint32_t narrow(std::uint64_t n) noexcept {
    return static_cast<std::uint32_t>(std::min<std::uint64_t>(n, UINT32_MAX));
}

void add(shape_list& out, const shape& s) noexcept {
    if (out.count < max_shapes) out.items[out.count++] = s;
}

shape_list fixed_per_node(const range& r, std::uint64_t gpus) noexcept {
    shape_list out;
    const std::uint64_t gap = r.wanted - r.least;
    std::uint64_t last = 0;
    for (std::uint64_t i = 0; i < max_shapes; ++i) {
        const std::uint64_t nodes = r.wanted - gap * i / (max_shapes - 1);
        if (nodes != last) add(out, {.nodes = narrow(nodes), .gpus_per_node = narrow(gpus)});
        last = nodes;
    }
    return out;
}

shape_list in_total(const range& r, std::uint64_t gpus, const node_limits& limits) noexcept {
    shape_list out;
    const std::uint64_t fewest = std::max(r.least, ceil_div(gpus, limits.gpus));
    const std::uint64_t most = std::min(r.most, gpus);
    if (gpus > UINT32_MAX || fewest > most) return out;
    shape s{.gpus_total = narrow(gpus), .min_nodes = narrow(r.wanted), .max_nodes = narrow(most)};
    if (r.wanted > fewest && r.wanted <= most) add(out, s);
    s.min_nodes = narrow(r.least);
    add(out, s);
    return out;
}

// Slurm packs tasks on as few nodes as hold them; an uneven packing is left to it.
shape_list by_task(const range& r, std::uint64_t tasks, std::uint64_t gpus, const node_limits& limits) noexcept {
    shape_list out;
    if (tasks == 0 || gpus > std::min<std::uint64_t>(limits.gpus, most_gpus_per_node)) return out;
    const std::uint64_t fewest = std::max({r.least, r.wanted, ceil_div(tasks, limits.gpus / gpus)});
    if (fewest <= r.most && tasks % fewest == 0)
        add(out, {.nodes = narrow(fewest), .gpus_per_node = narrow(tasks / fewest * gpus)});
    return out;
}

}  // namespace

shape_list shapes_of(const atoll_wish& w, const node_limits& limits) noexcept {
    const range r = node_range(w, limits);
    const int ways = (w.gpus_per_node > 0) + (w.gpus_total > 0) + (w.gpus_per_task > 0);
    if (ways != 1 || r.least > r.most) return {};
    if (limits.gpus == 0) return {};
    if (w.gpus_total > 0) return in_total(r, w.gpus_total, limits);
    if (w.gpus_per_task > 0) return by_task(r, w.tasks, w.gpus_per_task, limits);
    return w.gpus_per_node > std::min<std::uint64_t>(limits.gpus, most_gpus_per_node)
               ? shape_list{}
               : fixed_per_node(r, w.gpus_per_node);
}

std::uint64_t cpus_needed(const atoll_wish& w, const shape& s) noexcept {
    return std::max({std::uint64_t{w.cpus_per_node}, std::uint64_t{w.cpus_per_gpu} * std::max(s.gpus_per_node, 1u),
                     s.nodes > 0 ? std::uint64_t{w.cpus_total} / s.nodes : 0});
}

std::uint64_t memory_needed(const atoll_wish& w, const shape& s) noexcept {
    const std::uint64_t by_gpu =
        w.memory_per_gpu > UINT32_MAX ? UINT64_MAX : w.memory_per_gpu * std::max(s.gpus_per_node, 1u);
    return std::max(w.memory_per_node, by_gpu);
}

}  // namespace slurm_plugin

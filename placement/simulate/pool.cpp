// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/pool.hpp"

#include <algorithm>

namespace placement::simulate {
namespace {

std::uint32_t usual_size(const topo::cluster& c) {
    std::array<std::uint64_t, topo::max_gpus_per_node + 1> gpus{};
    for (const auto& n : c.nodes()) {
        const std::size_t size = c.classes()[n.hardware.value].gpus.size();
        gpus[size] += size;
    }
    const auto most = std::max_element(gpus.begin(), gpus.end());
    return std::max(1u, static_cast<std::uint32_t>(most - gpus.begin()));
}

}  // namespace

shape shape_of(const job& j, std::uint32_t node_gpus) noexcept {
    if (j.nodes > 0 && j.gpus % j.nodes == 0 && j.gpus / j.nodes <= node_gpus) return {j.nodes, j.gpus / j.nodes, 0};
    if (j.gpus <= node_gpus) return {1, j.gpus, 0};
    return {j.gpus / node_gpus, node_gpus, j.gpus % node_gpus};
}

pool::pool(const topo::cluster& c, const fabric_index& net) : net_(&net), node_gpus_(usual_size(c)) {
    const std::size_t nodes = c.nodes().size();
    free_.assign(nodes, 0);
    all_.resize(nodes);
    root_.resize(nodes);
    stride_ = topo::max_gpus_per_node + 2;
    std::vector<std::uint32_t> root_of_group;
    for (std::uint32_t n = 0; n < nodes; ++n) {
        all_[n] = topo::first_gpus(c.class_of(topo::node_id(n)).gpus.size());
        // The highest group above a node: nodes that share it meet, all others never do.
        int level = net.levels() - 1;
        while (level > 0 && net.group_of(n, level) == no_group) --level;
        std::uint32_t group = net.group_of(n, level);
        for (int below = 0; below < level; ++below) group += net.groups(below);
        if (root_of_group.size() <= group) root_of_group.resize(group + 1, no_group);
        if (root_of_group[group] == no_group) root_of_group[group] = roots_++;
        root_[n] = root_of_group[group];
    }
    at_least_.assign(std::size_t{roots_} * stride_, 0);
    for (std::size_t i = 0; i < sizes_.size(); ++i) {
        size_state& s = sizes_[i];
        s.gpus = fragment_sizes[i];
        if (s.gpus <= node_gpus_) continue;
        s.nodes = (s.gpus + node_gpus_ - 1) / node_gpus_;
        const auto holds = [&](int level) {
            for (std::uint32_t g = 0; g < net.groups(level); ++g)
                if (net.nodes_in(level, g) >= s.nodes) return true;
            return false;
        };
        while (s.level + 1 < net.levels() && !holds(s.level)) ++s.level;
        s.whole.assign(net.groups(s.level), 0);
    }
    for (std::uint32_t n = 0; n < nodes; ++n) {
        gpus_ += topo::count(all_[n]);
        set_free(n, all_[n]);
    }
}

void pool::set_free(std::uint32_t node, gpu_mask free) noexcept {
    free &= all_[node];
    const unsigned before = free_count(node);
    const unsigned after = topo::count(free);
    const bool was_whole = before > 0 && is_whole(node);
    std::uint32_t* counts = at_least_.data() + std::size_t{root_[node]} * stride_;
    for (unsigned k = before + 1; k <= after; ++k) ++counts[k];
    for (unsigned k = after + 1; k <= before; ++k) --counts[k];
    free_[node] = free;
    free_gpus_ = free_gpus_ - before + after;
    for (auto& s : sizes_)
        if (s.nodes == 0) s.usable = s.usable - before / s.gpus * s.gpus + after / s.gpus * s.gpus;
    const bool now_whole = after > 0 && is_whole(node);
    if (was_whole != now_whole) change_whole(node, now_whole ? 1 : -1);
}

void pool::change_whole(std::uint32_t node, int by) noexcept {
    for (auto& s : sizes_) {
        if (s.nodes == 0) continue;
        const std::uint32_t group = net_->group_of(node, s.level);
        if (group == no_group) continue;
        std::uint32_t& whole = s.whole[group];
        s.usable -= std::uint64_t{whole / s.nodes} * s.gpus;
        whole = static_cast<std::uint32_t>(static_cast<int>(whole) + by);
        s.usable += std::uint64_t{whole / s.nodes} * s.gpus;
    }
}

bool pool::fits_in(std::uint32_t root, const shape& s) const noexcept {
    if (s.per_node >= stride_ || s.last > s.per_node) return false;
    const std::uint32_t* counts = at_least_.data() + std::size_t{root} * stride_;
    return counts[s.per_node] >= s.nodes && (s.last == 0 || counts[s.last] > s.nodes);
}

bool pool::fits(const shape& s) const noexcept {
    for (std::uint32_t r = 0; r < roots_; ++r)
        if (fits_in(r, s)) return true;
    return false;
}

}  // namespace placement::simulate

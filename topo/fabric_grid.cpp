// SPDX-License-Identifier: Apache-2.0
// Torus and hypercube: nested boxes of positions. The faults of the description were looked for in fabric_check.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "topo/fabric_check.hpp"
#include "topo/fabric_groups.hpp"

namespace topo {
namespace {

constexpr std::uint64_t leaf_positions = 8;

struct box {
    std::vector<std::uint32_t> low, size;
    group_id above;  // box of the level above that it is a part of
    std::vector<node_id> nodes;
    [[nodiscard]] std::uint64_t volume() const {
        std::uint64_t v = 1;
        for (const auto s : size) v *= s;
        return v;
    }
};

class boxes {
public:
    explicit boxes(const fabric_description& d) : dims_(d.dims), link_(d.link_gb_per_s) {}

    // One list a level, the whole grid last.
    std::vector<level_data> cut(const std::vector<position_id>& position) {
        std::vector<std::vector<box>> levels(1);
        box all;
        all.low.assign(dims_.size(), 0);
        all.size = dims_;
        for (std::size_t n = 0; n < position.size(); ++n)
            if (position[n].valid()) all.nodes.emplace_back(n);
        if (all.nodes.empty()) return {};
        levels[0].push_back(std::move(all));
        const auto coarse = [](const box& b) { return b.volume() > leaf_positions; };
        while (std::any_of(levels.back().begin(), levels.back().end(), coarse)) {
            std::vector<box> parts;
            for (std::size_t i = 0; i < levels.back().size(); ++i)
                halve(levels.back()[i], group_id(i), position, parts);
            levels.push_back(std::move(parts));
        }
        std::vector<level_data> out(levels.size());
        for (std::size_t l = 0; l < levels.size(); ++l) fill(levels[levels.size() - 1 - l], position.size(), out[l]);
        for (std::size_t l = 1; l < out.size(); ++l) out[l].children.fill(out[l].size(), out[l - 1].parent);
        return out;
    }

private:
    void halve(const box& b, group_id id, const std::vector<position_id>& position, std::vector<box>& out) const {
        if (b.volume() <= leaf_positions) {
            out.push_back(b);
            out.back().above = id;
            return;
        }
        const auto longest = static_cast<std::size_t>(std::max_element(b.size.begin(), b.size.end()) - b.size.begin());
        box lower = b, upper = b;
        lower.above = upper.above = id;
        lower.size[longest] = (b.size[longest] + 1) / 2;
        upper.size[longest] = b.size[longest] - lower.size[longest];
        upper.low[longest] = b.low[longest] + lower.size[longest];
        lower.nodes.clear();
        upper.nodes.clear();
        std::uint64_t stride = 1;
        for (std::size_t d = longest + 1; d < dims_.size(); ++d) stride *= dims_[d];
        for (const node_id n : b.nodes) {
            const std::uint64_t at = position[n.value].value / stride % dims_[longest];
            (at < upper.low[longest] ? lower : upper).nodes.push_back(n);
        }
        if (!lower.nodes.empty()) out.push_back(std::move(lower));
        if (!upper.nodes.empty()) out.push_back(std::move(upper));
    }

    // Links that lead out of a box, one direction. A dimension of two has one link a pair of positions, not two.
    [[nodiscard]] double capacity(const box& b) const {
        if (!link_) return std::numeric_limits<double>::infinity();
        double links = 0;
        for (std::size_t d = 0; d < dims_.size(); ++d) {
            if (b.size[d] == dims_[d]) continue;
            links += static_cast<double>(b.volume() / b.size[d]) * (dims_[d] == 2 ? 1 : 2);
        }
        return links > 0 ? links * *link_ : std::numeric_limits<double>::infinity();
    }

    [[nodiscard]] static std::string name(const box& b) {
        std::string text;
        for (std::size_t d = 0; d < b.low.size(); ++d) {
            if (d > 0) text += ',';
            text +=
                b.size[d] == 1 ? fmt::format("{}", b.low[d]) : fmt::format("{}-{}", b.low[d], b.low[d] + b.size[d] - 1);
        }
        return "[" + text + "]";
    }

    void fill(const std::vector<box>& from, std::size_t node_count, level_data& level) const {
        level.group_of.resize(node_count);
        for (const box& b : from) {
            const group_id id = level.add(name(b), capacity(b));
            level.parent[id.value] = b.above;
            for (const node_id n : b.nodes) level.group_of[n.value] = id;
        }
        level.nodes.fill(level.size(), level.group_of);
    }

    const std::vector<std::uint32_t>& dims_;
    std::optional<double> link_;
};

}  // namespace

grid_levels build_grid(const fabric_description& d, std::span<const std::string> node_names, findings& notes) {
    grid_levels out;
    out.shape.dims = d.dims;
    out.shape.position.resize(node_names.size());
    std::unordered_map<std::string_view, std::uint32_t> ids;
    ids.reserve(node_names.size());
    for (std::size_t n = 0; n < node_names.size(); ++n) ids.emplace(node_names[n], static_cast<std::uint32_t>(n));
    for (const grid_run& run : d.grid) {
        std::uint64_t at = first_position(d.dims, run.at);
        std::vector<std::string> strangers;
        for (const auto& name : run.nodes) {
            if (const auto found = ids.find(name); found != ids.end())
                out.shape.position[found->second] = position_id(static_cast<std::uint32_t>(at));
            else
                strangers.push_back(name);
            ++at;
        }
        if (!strangers.empty())
            notes.push_back({severity::warning, run.where.empty() ? "fabric" : run.where,
                             "the grid names nodes that the cluster does not have: " + counted_names(strangers),
                             "give them a class; their positions stay empty until then"});
    }
    std::vector<std::string> loose;
    for (std::size_t n = 0; n < node_names.size(); ++n)
        if (!out.shape.position[n].valid()) loose.push_back(node_names[n]);
    if (!loose.empty())
        notes.push_back({severity::warning, "fabric", "nodes that stand nowhere in the grid: " + counted_names(loose),
                         "add them to the grid; until then they only run jobs of one node"});
    out.levels = boxes(d).cut(out.shape.position);
    return out;
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: a fabric as flat arrays of nested groups, and the builders that fill them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "topo/fabric.hpp"

namespace topo {

// Lists of ids of many groups in one block: list i is ids[start[i]] … ids[start[i + 1] - 1].
template <class Id>
struct id_lists {
    std::vector<std::uint32_t> start{0};
    std::vector<Id> ids;
    [[nodiscard]] std::span<const Id> of(std::size_t i) const noexcept {
        return {ids.data() + start[i], ids.data() + start[i + 1]};
    }
    // owner[k] is the list of item k, or an invalid id; items end up ascending in each list.
    void fill(std::size_t lists, std::span<const group_id> owner) {
        start.assign(lists + 1, 0);
        for (const group_id g : owner)
            if (g.valid()) ++start[g.value + 1];
        for (std::size_t i = 0; i < lists; ++i) start[i + 1] += start[i];
        ids.resize(start[lists]);
        std::vector<std::uint32_t> next(start.begin(), start.end() - 1);
        for (std::size_t k = 0; k < owner.size(); ++k)
            if (owner[k].valid()) ids[next[owner[k].value]++] = Id(k);
    }
};

struct level_data {
    std::vector<group_id> parent;
    std::vector<double> capacity;
    std::vector<bool> reduces;  // the group's switch aggregates
    std::vector<std::string> names;
    id_lists<group_id> children;
    id_lists<node_id> nodes;
    std::vector<group_id> group_of;  // [node]

    [[nodiscard]] std::size_t size() const noexcept { return parent.size(); }
    group_id add(std::string name, double up, bool reducing = false) {
        names.push_back(std::move(name));
        capacity.push_back(up);
        reduces.push_back(reducing);
        parent.emplace_back();
        return group_id(size() - 1);
    }
};

// Where nodes stand in a torus or hypercube; dims is empty for other forms.
struct grid_shape {
    std::vector<std::uint32_t> dims;
    std::vector<position_id> position;  // [node]

    // Fewest hops between two positions, every dimension wrapping around. O(dimensions).
    [[nodiscard]] std::uint32_t hops(position_id a, position_id b) const noexcept {
        std::uint32_t sum = 0, left = a.value, right = b.value;
        for (std::size_t d = dims.size(); d-- > 0;) {
            const std::uint32_t x = left % dims[d], y = right % dims[d];
            left /= dims[d];
            right /= dims[d];
            const std::uint32_t apart = x > y ? x - y : y - x;
            sum += std::min(apart, dims[d] - apart);
        }
        return sum;
    }
    // The greatest number of hops.
    [[nodiscard]] std::uint32_t diameter() const noexcept {
        std::uint32_t sum = 0;
        for (const auto d : dims) sum += d / 2;
        return sum;
    }
};

class grouped_fabric final : public fabric {
public:
    grouped_fabric(fabric_form form, std::vector<level_data> levels, std::vector<cost> costs, grid_shape grid,
                   std::uint32_t spare_nodes)
        : form_(form),
          levels_(std::move(levels)),
          costs_(std::move(costs)),
          grid_(std::move(grid)),
          spare_nodes_(spare_nodes) {}

    [[nodiscard]] fabric_form form() const noexcept override { return form_; }
    [[nodiscard]] int levels() const noexcept override { return static_cast<int>(levels_.size()); }
    [[nodiscard]] std::uint32_t groups(int level) const noexcept override {
        return static_cast<std::uint32_t>(at(level).size());
    }
    [[nodiscard]] group_id group_of(node_id node, int level) const noexcept override {
        return at(level).group_of[node.value];
    }
    [[nodiscard]] group_id parent(int level, group_id group) const noexcept override {
        return at(level).parent[group.value];
    }
    [[nodiscard]] std::span<const group_id> children(int level, group_id group) const noexcept override {
        return level == 0 ? std::span<const group_id>{} : at(level).children.of(group.value);
    }
    [[nodiscard]] std::span<const node_id> nodes(int level, group_id group) const noexcept override {
        return at(level).nodes.of(group.value);
    }
    [[nodiscard]] std::string_view name(int level, group_id group) const noexcept override {
        return at(level).names[group.value];
    }
    [[nodiscard]] int level_of(node_id a, node_id b) const noexcept override {
        for (std::size_t l = 0; l < levels_.size(); ++l) {
            const group_id g = levels_[l].group_of[a.value];
            if (g.valid() && g == levels_[l].group_of[b.value]) return static_cast<int>(l);
        }
        return unreachable_level;
    }
    [[nodiscard]] double capacity(int level, group_id group) const noexcept override {
        return at(level).capacity[group.value];
    }
    [[nodiscard]] int separation(node_id a, node_id b) const noexcept override {
        if (grid_.dims.empty()) return level_of(a, b);
        const position_id from = grid_.position[a.value], to = grid_.position[b.value];
        if (!from.valid() || !to.valid()) return unreachable_level;
        return std::max(1, static_cast<int>(grid_.hops(from, to))) - 1;
    }
    [[nodiscard]] int separations() const noexcept override { return static_cast<int>(costs_.size()); }
    [[nodiscard]] const cost& level_cost(int separation) const noexcept override {
        return costs_[static_cast<std::size_t>(separation)];
    }
    [[nodiscard]] bool in_network_reduction(int level, group_id group) const noexcept override {
        return at(level).reduces[group.value];
    }
    [[nodiscard]] std::uint32_t spare_nodes() const noexcept override { return spare_nodes_; }
    [[nodiscard]] std::span<const std::uint32_t> dims() const noexcept override { return grid_.dims; }
    [[nodiscard]] position_id position(node_id node) const noexcept override {
        return grid_.dims.empty() ? position_id{} : grid_.position[node.value];
    }

private:
    [[nodiscard]] const level_data& at(int level) const noexcept { return levels_[static_cast<std::size_t>(level)]; }

    fabric_form form_;
    std::vector<level_data> levels_;
    std::vector<cost> costs_;
    grid_shape grid_;
    std::uint32_t spare_nodes_;
};

// The tree that the switches of a description make; `notes` gets nodes without switch and names without node.
// Fails with limit when it is deeper than 64 levels.
[[nodiscard]] result<std::vector<level_data>> build_tree(const fabric_description& d,
                                                         std::span<const std::string> node_names, findings& notes);

// The nested boxes of a torus or hypercube and where its nodes stand. The description has no faults.
struct grid_levels {
    std::vector<level_data> levels;
    grid_shape shape;
};
[[nodiscard]] grid_levels build_grid(const fabric_description& d, std::span<const std::string> node_names,
                                     findings& notes);

// "N (first, second, …)", not too long for a message.
[[nodiscard]] std::string counted_names(const std::vector<std::string>& names);

}  // namespace topo

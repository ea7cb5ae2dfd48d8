// SPDX-License-Identifier: Apache-2.0
#include "topo/fabric_check.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <unordered_map>

#include "topo/quote.hpp"

namespace topo {
namespace {

constexpr std::array<std::string_view, 8> form_names = {"unknown",        "tree",      "block", "nvlink-domain",
                                                        "rail-optimised", "dragonfly", "torus", "hypercube"};

constexpr std::size_t nowhere = static_cast<std::size_t>(-1);

class inspector {
public:
    explicit inspector(const fabric_description& fabric) : fabric_(fabric), parent_(fabric.switches.size(), nowhere) {}

    fabric_faults run() {
        names();
        children();
        nodes();
        cycles();
        numbers();
        check_grid(fabric_, faults_.fatal);
        return std::move(faults_);
    }

private:
    [[nodiscard]] const switch_description& at(std::size_t i) const { return fabric_.switches[i]; }
    [[nodiscard]] std::string name_of_switch(std::size_t i) const { return shown(at(i).name); }
    [[nodiscard]] const char* noun() const { return fabric_.form == fabric_form::block ? "block" : "switch"; }

    void fatal(std::size_t i, std::string what, std::string remedy) {
        faults_.fatal.push_back({severity::error, at(i).where, std::move(what), std::move(remedy)});
    }

    void names() {
        for (std::size_t i = 0; i < fabric_.switches.size(); ++i) {
            const std::string& name = at(i).name;
            if (name.empty())
                fatal(i, fmt::format("{} number {} has no name", noun(), i + 1), "give it a name");
            else if (const auto [known, added] = by_name_.emplace(name, i); !added)
                fatal(i,
                      fmt::format("{} {} has two lines (the first at {})", noun(), shown(name), place(known->second)),
                      "join the two lines or rename one");
        }
    }

    [[nodiscard]] std::string place(std::size_t i) const {
        return at(i).where.empty() ? fmt::format("number {}", i + 1) : at(i).where;
    }

    void children() {
        for (std::size_t i = 0; i < fabric_.switches.size(); ++i) {
            if (fabric_.form == fabric_form::block && !at(i).switches.empty())
                fatal(i, fmt::format("block {} has child switches", name_of_switch(i)),
                      "a block holds nodes only; use form tree for switches");
            for (const auto& child : at(i).switches) {
                const auto found = by_name_.find(child);
                if (found == by_name_.end()) {
                    faults_.missing_children.push_back(
                        {severity::error, at(i).where,
                         fmt::format("switch {} names child switch {}, which has no line", name_of_switch(i),
                                     shown(child)),
                         fmt::format("add a line for {} or take it out of {}", shown(child), name_of_switch(i))});
                    continue;
                }
                std::size_t& parent = parent_[found->second];
                if (parent == i)
                    fatal(i, fmt::format("switch {} names child switch {} twice", name_of_switch(i), shown(child)),
                          "keep one");
                else if (parent != nowhere)
                    fatal(i,
                          fmt::format("switch {} hangs under {} and under {}", shown(child), name_of_switch(parent),
                                      name_of_switch(i)),
                          "a tree has one parent a switch: keep one of the two");
                else
                    parent = i;
            }
        }
    }

    void nodes() {
        std::unordered_map<std::string_view, std::size_t> owner;
        for (std::size_t i = 0; i < fabric_.switches.size(); ++i)
            for (const auto& node : at(i).nodes) {
                const auto [known, added] = owner.emplace(node, i);
                if (added) continue;
                const std::size_t first = known->second;
                fatal(i,
                      first == i ? fmt::format("{} {} names node {} twice", noun(), name_of_switch(i), shown(node))
                                 : fmt::format("node {} hangs under {} and under {}", shown(node),
                                               name_of_switch(first), name_of_switch(i)),
                      "keep one of the two");
            }
    }

    // Every switch has at most one parent here, so walking up finds each cycle once.
    void cycles() {
        std::vector<std::size_t> walk(fabric_.switches.size(), nowhere);  // which walk saw it first
        for (std::size_t start = 0; start < walk.size(); ++start) {
            std::size_t i = start;
            while (i != nowhere && walk[i] == nowhere) {
                walk[i] = start;
                i = parent_[i];
            }
            if (i != nowhere && walk[i] == start)
                fatal(i, fmt::format("switch {} is its own ancestor", name_of_switch(i)),
                      fmt::format("take {} out of the children of {}", name_of_switch(i), name_of_switch(parent_[i])));
        }
    }

    void numbers() {
        for (std::size_t i = 0; i < fabric_.switches.size(); ++i) {
            const auto& up = at(i).uplink_gb_per_s;
            if (up && !(std::isfinite(*up) && *up > 0))
                fatal(i, fmt::format("the uplink of {} is {} GB/s", name_of_switch(i), *up),
                      "give a positive number, or leave an unknown uplink out");
        }
        std::uint32_t before = 0;
        for (const std::uint32_t size : fabric_.block_sizes) {
            if (size == 0 || size <= before || size % fabric_.block_sizes.front() != 0)
                faults_.fatal.push_back({severity::error, "",
                                         fmt::format("block size {} does not follow {}", size, before),
                                         "list block sizes ascending, each a multiple of the first"});
            before = size;
        }
        for (std::size_t l = 0; l < fabric_.level_costs.size(); ++l)
            if (!fabric_.level_costs[l].valid())
                faults_.fatal.push_back({severity::error, "",
                                         fmt::format("the cost of fabric level {} is not a cost", l),
                                         "give α ≥ 0 µs, bandwidth > 0 GB/s and a source"});
    }

    const fabric_description& fabric_;
    std::unordered_map<std::string_view, std::size_t> by_name_;
    std::vector<std::size_t> parent_;
    fabric_faults faults_;
};

}  // namespace

std::string_view name_of(fabric_form f) noexcept { return form_names[static_cast<std::size_t>(f)]; }

std::optional<fabric_form> fabric_form_named(std::string_view text) noexcept {
    for (std::size_t i = 0; i < form_names.size(); ++i)
        if (form_names[i] == text) return static_cast<fabric_form>(i);
    return std::nullopt;
}

fabric_faults faults_of(const fabric_description& fabric) { return inspector(fabric).run(); }

findings check(const fabric_description& fabric) {
    fabric_faults faults = faults_of(fabric);
    findings all = std::move(faults.fatal);
    all.insert(all.end(), std::make_move_iterator(faults.missing_children.begin()),
               std::make_move_iterator(faults.missing_children.end()));
    return all;
}

bool names_a_domain(std::string_view id) noexcept { return id.find_first_not_of("0-:.{} ") != std::string_view::npos; }

cost estimated_level_cost(int level, bool level_0_is_nvlink) noexcept {
    cost c;
    c.from = c.alpha_from = source::estimated;
    if (level == 0 && level_0_is_nvlink) {
        c.alpha_us = 2.3;
        c.gb_per_s = 397.5;
        return c;
    }
    constexpr double ends_us = 2.0;
    constexpr double switch_us = 0.33;
    c.alpha_us = ends_us + switch_us * (2 * level + 1);
    c.gb_per_s = 47.5;
    return c;
}

cost estimated_hop_cost(const std::vector<cost>& nearer) noexcept {
    if (nearer.empty()) return estimated_level_cost(0, false);
    constexpr double switch_us = 0.33;
    cost c;
    c.from = c.alpha_from = source::estimated;
    c.alpha_us = nearer.back().alpha_us + switch_us;
    c.gb_per_s = nearer.back().gb_per_s;
    return c;
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include "topo/import/switch_rules.hpp"

#include <algorithm>
#include <cstddef>
#include <unordered_map>
#include <unordered_set>

#include "topo/counted.hpp"
#include "topo/hostlist.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

using name_index = std::unordered_map<std::string_view, std::size_t>;

// The strings of a description must not move while they are keys.
result<name_index> index_names(const std::vector<switch_description>& switches, std::string_view kind) {
    name_index by_name;
    for (std::size_t i = 0; i < switches.size(); ++i) {
        const auto [old, fresh] = by_name.emplace(switches[i].name, i);
        if (!fresh)
            return text::bad(switches[i].where,
                             std::string(kind) + " " + text::shown(switches[i].name) + " was already defined at " +
                                 switches[old->second].where,
                             "keep one of the two lines");
    }
    return by_name;
}

void drop_repeats(std::vector<std::string>& names, const switch_description& s, std::string_view what,
                  findings& notes) {
    std::unordered_set<std::string> seen;
    std::string first;
    const auto repeated = [&](const std::string& n) {
        if (seen.insert(n).second) return false;
        if (first.empty()) first = n;
        return true;
    };
    std::erase_if(names, repeated);
    if (!first.empty())
        text::warn(notes, s.where,
                   std::string(what) + " " + text::shown(first) + " stands twice in " + text::shown(s.name),
                   "name it once");
}

// The parent of each switch (its own index when it is a root).
result<std::vector<std::size_t>> join_children(std::vector<switch_description>& switches, const name_index& by_name,
                                               findings& notes) {
    std::vector<std::size_t> parent(switches.size());
    for (std::size_t i = 0; i < parent.size(); ++i) parent[i] = i;
    for (std::size_t i = 0; i < switches.size(); ++i) {
        auto& s = switches[i];
        for (const auto& child : s.switches) {
            const auto found = by_name.find(child);
            if (found == by_name.end()) {
                text::warn(notes, s.where,
                           "switch " + text::shown(s.name) + " names child " + text::shown(child) +
                               ", which has no line; left out",
                           "add a line SwitchName=" + text::shown(child) + " or take the name out");
                continue;
            }
            const std::size_t c = found->second;
            if (c == i)
                return text::bad(s.where, "switch " + text::shown(s.name) + " is its own child",
                                 "take it out of its own list");
            if (parent[c] != c)
                return text::bad(s.where,
                                 "switch " + text::shown(child) + " is a child of " + text::shown(s.name) +
                                     " and, at " + switches[parent[c]].where + ", of " +
                                     text::shown(switches[parent[c]].name),
                                 "a switch has one parent; for a fabric with several spines name one root");
            parent[c] = i;
        }
        std::erase_if(s.switches, [&](const std::string& child) { return !by_name.contains(child); });
    }
    return parent;
}

result<done> refuse_cycles(const std::vector<switch_description>& switches, const std::vector<std::size_t>& parent) {
    std::vector<char> state(parent.size(), 0);  // 0 new, 1 on the way up, 2 known to end at a root
    for (std::size_t start = 0; start < parent.size(); ++start) {
        std::size_t at = start;
        while (state[at] == 0 && parent[at] != at) {
            state[at] = 1;
            at = parent[at];
        }
        if (state[at] == 1)
            return text::bad(switches[at].where,
                             "switches form a cycle: " + text::shown(switches[at].name) +
                                 " is below itself by way of " + text::shown(switches[parent[at]].name),
                             "take one of the two out of the other's Switches list");
        for (std::size_t back = start; state[back] == 1; back = parent[back]) state[back] = 2;
        state[at] = 2;
    }
    return done{};
}

void keep_first_leaf(std::vector<switch_description>& switches, std::string_view kind, findings& notes) {
    std::unordered_map<std::string, std::size_t> leaf_of;
    for (std::size_t i = 0; i < switches.size(); ++i) {
        std::size_t lost = 0;
        std::string example;
        std::size_t other = 0;
        std::erase_if(switches[i].nodes, [&](const std::string& n) {
            const auto [old, fresh] = leaf_of.emplace(n, i);
            if (fresh) return false;
            if (lost++ == 0) {
                example = n;
                other = old->second;
            }
            return true;
        });
        if (lost == 0) continue;
        const std::string more = lost > 1 ? " and " + counted(lost - 1, "more node") + " are" : " is";
        text::warn(notes, switches[i].where,
                   "node " + text::shown(example) + more + " under " + std::string(kind) + " " +
                       text::shown(switches[i].name) + " and, at " + switches[other].where + ", under " +
                       text::shown(switches[other].name) + "; the first is kept",
                   "name each node under one " + std::string(kind));
    }
}

}  // namespace

result<done> settle_switches(std::vector<switch_description>& switches, std::string_view kind, findings& notes) {
    auto by_name = index_names(switches, kind);
    if (!by_name) return by_name.failure();
    for (auto& s : switches) {
        drop_repeats(s.switches, s, "switch", notes);
        drop_repeats(s.nodes, s, "node", notes);
        if (s.switches.empty() && s.nodes.empty())
            text::warn(notes, s.where,
                       std::string(kind) + " " + text::shown(s.name) + " has neither nodes nor switches below it",
                       "name what hangs under it, or take the line out");
        else if (!s.switches.empty() && !s.nodes.empty())
            text::warn(notes, s.where,
                       "switch " + text::shown(s.name) + " has both nodes and switches, which Slurm refuses",
                       "put the nodes under a leaf of their own");
    }
    auto parent = join_children(switches, *by_name, notes);
    if (!parent) return parent.failure();
    if (auto sound = refuse_cycles(switches, *parent); !sound) return sound;
    keep_first_leaf(switches, kind, notes);
    std::size_t roots = 0;
    for (std::size_t i = 0; i < parent->size(); ++i) roots += (*parent)[i] == i ? 1 : 0;
    if (kind == "switch" && roots > 1)
        text::note(notes, switches.front().where,
                   std::to_string(roots) +
                       " switches have no parent: their nodes are not connected with each other, "
                       "and no job is placed over two of them");
    return done{};
}

result<std::vector<std::string>> host_reader::expand(std::string_view list, const std::string& where,
                                                     std::size_t column) {
    auto names = expand_hostlist(list);
    if (!names) {
        error e = names.failure();
        std::string place = where;
        if (column > 0) {
            const auto offset = e.where.starts_with("column ") ? text::whole_number(e.where.substr(7)) : std::nullopt;
            place += ":" + std::to_string(column + static_cast<std::size_t>(offset.value_or(1)) - 1);
        } else if (!e.where.empty()) {
            e.what += " (" + e.where + " of '" + text::shown(list) + "')";
        }
        e.where = place;
        return e;
    }
    taken_ += names->size();
    if (taken_ > max_hosts)
        return error{errc::limit, where,
                     "the file names more than " + std::to_string(max_hosts) + " nodes and switches",
                     "check the ranges"};
    return names;
}

result<done> add_block_size(std::string_view text, const std::string& where, std::vector<std::uint32_t>& sizes) {
    const auto n = text::whole_number(text);
    if (!n || *n < 1 || *n > static_cast<long>(max_hosts))
        return text::bad(where, "'" + text::shown(text) + "' is not a number of nodes", "write block sizes as 18,36");
    const auto size = static_cast<std::uint32_t>(*n);
    if (!sizes.empty() && (size <= sizes.back() || size % sizes.front() != 0))
        return text::bad(where,
                         "block size " + std::to_string(size) + " does not follow " + std::to_string(sizes.back()),
                         "list block sizes ascending, each a multiple of the first");
    sizes.push_back(size);
    return done{};
}

std::string domain_id(std::string_view text) {
    text = text::trim(text);
    if (text.find_first_not_of("0-") == std::string_view::npos) return {};
    return std::string(text);
}

}  // namespace topo

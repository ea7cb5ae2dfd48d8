// SPDX-License-Identifier: Apache-2.0
#include "topo/import/ib_fabric.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topo/counted.hpp"
#include "topo/ids.hpp"
#include "topo/import/ib_groups.hpp"
#include "topo/import/ib_hosts.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

constexpr std::uint32_t none = ib_hosts::none;

// The leaf switches of each host, with the bandwidth of its ports there.
using attachment = std::map<std::uint32_t, std::size_t>;  // switch → ports

result<std::vector<attachment>> attachments(const ib_net& net, const ib_hosts& hosts, const std::string& file) {
    std::vector<attachment> at(hosts.names.size());
    for (const auto& l : net.links)
        for (const auto& [s, h] : {std::pair{l.a, l.b}, std::pair{l.b, l.a}}) {
            if (net.nodes[s].kind != ib_kind::switch_ || hosts.of_node[h] == none) continue;
            auto& mine = at[hosts.of_node[h]];
            ++mine[s];
            if (mine.size() > max_nics_per_node)
                return error{errc::limit, text::at(file, net.nodes[h].line),
                             "host " + text::shown(hosts.names[hosts.of_node[h]]) + " is attached to more than " +
                                 std::to_string(max_nics_per_node) + " switches",
                             "give the hosts node descriptions of their own"};
        }
    return at;
}

// Merges leaves that share half of the hosts of the smaller one.
void merge_rails(const std::vector<attachment>& hosts, const ib_hosts& table, disjoint_sets& sets) {
    std::unordered_map<std::uint32_t, std::size_t> size;
    std::unordered_map<std::uint64_t, std::size_t> shared;
    for (std::size_t h = 0; h < hosts.size(); ++h) {
        if (!table.named[h]) continue;
        for (auto a = hosts[h].begin(); a != hosts[h].end(); ++a) {
            ++size[a->first];
            for (auto b = std::next(a); b != hosts[h].end(); ++b) ++shared[(std::uint64_t{a->first} << 32) | b->first];
        }
    }
    for (const auto& [pair, count] : shared) {
        const auto a = static_cast<std::uint32_t>(pair >> 32);
        const auto b = static_cast<std::uint32_t>(pair);
        if (2 * count >= std::min(size[a], size[b])) sets.join(a, b);
    }
}

class tree_builder {
public:
    tree_builder(const ib_net& net, const ib_hosts& hosts, std::vector<attachment> at, const std::string& file,
                 findings& notes)
        : net_(net), hosts_(hosts), at_(std::move(at)), file_(file), notes_(notes), names_(ib_switch_names(net)) {}

    result<fabric_description> build() {
        make_leaves();
        if (groups_.empty()) {
            text::warn(notes_, file_, "no switch has a host on it: the fabric is unknown",
                       "run ibnetdiscover on a host of the fabric, as root, to its end");
            return fabric_description{};
        }
        while (add_level())
            if (levels_ > max_levels)
                return error{errc::limit, file_,
                             "the switches form a chain of more than " + std::to_string(max_levels) + " levels",
                             "a chain is no tree; describe it in topology.conf"};
        join_peers();
        return describe();
    }

private:
    static constexpr int max_levels = 16;
    struct group {
        std::vector<std::uint32_t> switches;  // of the net, ascending
        std::vector<std::uint32_t> below;     // groups
        std::vector<std::uint32_t> hosts;
        std::string name;
        std::uint32_t parent = none;
    };

    void make_leaves() {
        disjoint_sets sets(net_.nodes.size());
        merge_rails(at_, hosts_, sets);
        group_of_.assign(net_.nodes.size(), none);
        std::vector<bool> leaf(net_.nodes.size(), false);
        for (const auto& mine : at_)
            for (const auto& [s, ports] : mine) leaf[s] = true;
        for (std::uint32_t s = 0; s < net_.nodes.size(); ++s) {
            if (!leaf[s]) continue;
            const std::uint32_t root = sets.find(s);
            if (group_of_[root] == none) {  // the smallest switch of a set is its root
                group_of_[root] = static_cast<std::uint32_t>(groups_.size());
                groups_.push_back({{}, {}, {}, names_[s], none});
            }
            group_of_[s] = group_of_[root];
            groups_[group_of_[s]].switches.push_back(s);
        }
        first_of_level_ = 0;
        levels_ = 1;
        place_hosts();
        note_rails();
    }

    void place_hosts() {
        std::size_t spread = 0;
        std::string example;
        for (std::uint32_t h = 0; h < at_.size(); ++h) {
            if (at_[h].empty()) continue;
            std::map<std::uint32_t, std::size_t> ports;
            for (const auto& [s, n] : at_[h]) ports[group_of_[s]] += n;
            const auto best = std::max_element(ports.begin(), ports.end(),
                                               [](const auto& x, const auto& y) { return x.second < y.second; });
            groups_[best->first].hosts.push_back(h);
            if (ports.size() > 1 && spread++ == 0)
                example = text::shown(hosts_.names[h]) + " (kept under " + text::shown(groups_[best->first].name) + ")";
        }
        if (spread > 0)
            text::warn(notes_, file_,
                       counted(spread, "host is", "hosts are") +
                           " attached to leaves that share few hosts: " + example + (spread > 1 ? " and others" : ""),
                       "check their cables, unless they are management hosts");
        const auto loose = std::count_if(at_.begin(), at_.end(), [](const attachment& a) { return a.empty(); });
        if (loose > 0)
            text::warn(
                notes_, file_,
                counted(static_cast<std::size_t>(loose), "host has", "hosts have") + " no link to a switch; left out",
                "check their cables");
    }

    void note_rails() {
        std::map<std::size_t, std::size_t> counts;  // leaves of a group → groups
        for (const auto& g : groups_) ++counts[g.switches.size()];
        if (counts.empty() || (counts.size() == 1 && counts.begin()->first == 1)) return;
        rails_ = true;
        std::string text;
        for (const auto& [leaves, groups] : counts)
            text += (text.empty() ? "" : ", ") + std::to_string(groups) + " of " + std::to_string(leaves);
        text::note(notes_, file_,
                   "rails: leaves with the same hosts were made one group, named after its first leaf; groups by "
                   "number of leaves (= rails): " +
                       text);
    }

    // The group that is the same as g or, for switches of lower levels, holds it at this level.
    std::uint32_t top(std::uint32_t g) const {
        while (groups_[g].parent != none) g = groups_[g].parent;
        return g;
    }

    bool is_switch(std::uint32_t n) const { return net_.nodes[n].kind == ib_kind::switch_; }

    // Adds the switches above the last level; false when there are none.
    bool add_level() {
        const auto last = static_cast<std::uint32_t>(groups_.size());
        // A switch joins the groups of the last level that have a cable to it.
        disjoint_sets sets(net_.nodes.size() + last);
        std::vector<std::uint32_t> above;
        std::vector<bool> found(net_.nodes.size(), false);
        for (const auto& l : net_.links)
            for (const auto& [low, high] : {std::pair{l.a, l.b}, std::pair{l.b, l.a}}) {
                if (!is_switch(low) || !is_switch(high) || group_of_[high] != none) continue;
                const std::uint32_t g = group_of_[low];
                if (g == none || g < first_of_level_) continue;
                if (!found[high]) above.push_back(high);
                found[high] = true;
                sets.join(high, static_cast<std::uint32_t>(net_.nodes.size()) + g);
            }
        if (above.empty()) return false;
        std::sort(above.begin(), above.end());
        std::unordered_map<std::uint32_t, std::uint32_t> made;
        for (const std::uint32_t s : above) {
            const auto [at, fresh] = made.emplace(sets.find(s), static_cast<std::uint32_t>(groups_.size()));
            if (fresh) groups_.push_back({{}, {}, {}, names_[s], none});
            groups_[at->second].switches.push_back(s);
        }
        for (const auto& [root, g] : made)
            for (const std::uint32_t s : groups_[g].switches) group_of_[s] = g;
        for (std::uint32_t g = first_of_level_; g < last; ++g) {
            const auto at = made.find(sets.find(static_cast<std::uint32_t>(net_.nodes.size()) + g));
            if (at == made.end()) continue;
            groups_[g].parent = at->second;
            groups_[at->second].below.push_back(g);
        }
        first_of_level_ = last;
        ++levels_;
        return true;
    }

    void join_peers() {
        disjoint_sets sets(groups_.size());
        for (const auto& l : net_.links)
            if (is_switch(l.a) && is_switch(l.b) && group_of_[l.a] != none && group_of_[l.b] != none)
                sets.join(top(group_of_[l.a]), top(group_of_[l.b]));
        std::map<std::uint32_t, std::vector<std::uint32_t>> joined;
        for (std::uint32_t g = 0; g < groups_.size(); ++g)
            if (groups_[g].parent == none) joined[sets.find(g)].push_back(g);
        for (const auto& [root, members] : joined) {
            if (members.size() < 2) continue;
            const auto made = static_cast<std::uint32_t>(groups_.size());
            groups_.push_back({{}, members, {}, "peers-of-" + groups_[members.front()].name, none});
            for (const std::uint32_t g : members) groups_[g].parent = made;
            text::note(notes_, file_,
                       std::to_string(members.size()) +
                           " switches or groups have direct links and no switch above "
                           "them; they hang under " +
                           groups_[made].name);
        }
    }

    // GB/s of the cables from each group to its parent, or to its peers; empty where a speed is not told.
    std::vector<std::optional<double>> uplinks() const {
        std::vector<std::optional<double>> up(groups_.size());
        for (std::size_t g = 0; g < groups_.size(); ++g)
            if (groups_[g].parent != none) up[g] = 0.0;
        for (const auto& l : net_.links) {
            if (!is_switch(l.a) || !is_switch(l.b)) continue;
            for (const auto& [low, high] : {std::pair{l.a, l.b}, std::pair{l.b, l.a}}) {
                const std::uint32_t g = group_of_[low];
                if (g == none || group_of_[high] == none || g == group_of_[high] || groups_[g].parent == none) continue;
                const std::uint32_t parent = groups_[g].parent;
                const bool to_peer = groups_[parent].switches.empty() && groups_[top(group_of_[high])].switches.empty();
                if (group_of_[high] != parent && !to_peer) continue;
                if (l.gb_per_s <= 0) up[g] = std::nullopt;
                if (up[g]) *up[g] += l.gb_per_s;
            }
        }
        for (auto& u : up)
            if (u && *u <= 0) u = std::nullopt;
        return up;
    }

    std::vector<std::uint32_t> roots_first() const {
        std::vector<std::uint32_t> order;
        for (std::uint32_t g = 0; g < groups_.size(); ++g)
            if (groups_[g].parent == none) order.push_back(g);
        for (std::size_t i = 0; i < order.size(); ++i) {
            const auto& below = groups_[order[i]].below;
            order.insert(order.end(), below.begin(), below.end());
        }
        return order;
    }

    fabric_description describe() {
        fabric_description f;
        f.form = rails_ ? fabric_form::rail_optimised : fabric_form::tree;
        const auto up = uplinks();
        std::size_t merged = 0;
        for (const std::uint32_t g : roots_first()) {
            const group& from = groups_[g];
            switch_description s;
            s.name = from.name;
            s.where = from.switches.empty() ? file_ : text::at(file_, net_.nodes[from.switches.front()].line);
            s.uplink_gb_per_s = up[g];
            for (const std::uint32_t child : from.below) s.switches.push_back(groups_[child].name);
            for (const std::uint32_t h : from.hosts) s.nodes.push_back(hosts_.names[h]);
            if (!from.below.empty()) merged += from.switches.size() > 1 ? from.switches.size() : 0;
            f.switches.push_back(std::move(s));
        }
        if (merged > 0)
            text::note(notes_, file_,
                       std::to_string(merged) + " switches above the leaves were made one a group that shares them");
        note_rest();
        return f;
    }

    void note_rest() {
        std::size_t unused = 0;
        for (std::uint32_t n = 0; n < net_.nodes.size(); ++n) unused += is_switch(n) && group_of_[n] == none ? 1 : 0;
        if (unused > 0)
            text::note(
                notes_, file_,
                counted(unused, "switch has no host below it and was", "switches have no host below them and were") +
                    " left out");
        std::size_t roots = 0;
        for (const auto& g : groups_) roots += g.parent == none ? 1 : 0;
        if (roots > 1)
            text::note(notes_, file_, std::to_string(roots) + " parts of the fabric are not connected with each other");
    }

    const ib_net& net_;
    const ib_hosts& hosts_;
    std::vector<attachment> at_;
    const std::string& file_;
    findings& notes_;
    std::vector<std::string> names_;
    std::vector<group> groups_;
    std::vector<std::uint32_t> group_of_;  // of each switch of the net
    std::uint32_t first_of_level_ = 0;
    int levels_ = 0;
    bool rails_ = false;
};

}  // namespace

result<fabric_description> ib_fabric(const ib_net& net, const std::string& file, findings& notes) {
    const ib_hosts hosts = ib_hosts_of(net, file, notes);
    auto at = attachments(net, hosts, file);
    if (!at) return at.failure();
    return tree_builder(net, hosts, std::move(*at), file, notes).build();
}

}  // namespace topo

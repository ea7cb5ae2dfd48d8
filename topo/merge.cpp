// SPDX-License-Identifier: Apache-2.0
#include "topo/merge.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>
#include <tuple>
#include <unordered_map>

#include "topo/counted.hpp"
#include "topo/hostlist.hpp"
#include "topo/merge_difference.hpp"

namespace topo {
namespace {

using member_list = std::vector<std::size_t>;  // positions in the inputs

// Layers of nodes of one class in one order, so that cell i means the same thing in all of them.
void sort_layers(node_class& c) {
    std::sort(c.layers.begin(), c.layers.end(), [](const cost_layer& a, const cost_layer& b) {
        return std::tie(a.from, a.to, a.by, a.loaded) < std::tie(b.from, b.to, b.by, b.loaded);
    });
}

class class_maker {
public:
    class_maker(std::vector<node_class> nodes, std::vector<std::size_t> weights)
        : nodes_(std::move(nodes)), weights_(std::move(weights)) {}

    [[nodiscard]] const node_class& node(std::size_t i) const { return nodes_[i]; }

    // Splits nodes of one shape into classes of equal costs, the largest class first where one is.
    std::vector<member_list> split(member_list all) const {
        std::vector<member_list> classes;
        while (!all.empty()) {
            member_list inside = close_to(all, median(all));
            if (inside.empty()) inside = close_to(all, nodes_[leader(all)]);
            // What was left out moves the median; what is then outside goes, and nothing comes back.
            while (true) {
                member_list again = close_to(inside, median(inside));
                if (again.empty() || again.size() == inside.size()) break;
                inside = std::move(again);
            }
            member_list rest;
            std::set_difference(all.begin(), all.end(), inside.begin(), inside.end(), std::back_inserter(rest));
            classes.push_back(std::move(inside));
            all = std::move(rest);
        }
        return classes;
    }

    // The first member with the median of each cell.
    node_class median(const member_list& members) const {
        node_class out = nodes_[members.front()];
        if (members.size() == 1) return out;
        for (std::size_t l = 0; l < out.layers.size(); ++l) {
            auto cells = out.layers[l].cells.cells();
            for (std::size_t i = 0; i < cells.size(); ++i)
                if (cells[i].present()) cells[i] = median_cell(members, l, i);
        }
        return out;
    }

private:
    [[nodiscard]] const cost& cell(std::size_t member, std::size_t l, std::size_t i) const {
        return nodes_[member].layers[l].cells.cells()[i];
    }

    // Middle of the values by the weights of their nodes; of two middle ones the earlier in `order`.
    template <class Value, class Order>
    double middle(const member_list& members, Value value, Order order) const {
        std::vector<std::pair<double, std::size_t>> all;
        std::size_t total = 0;
        for (const std::size_t m : members) {
            all.emplace_back(value(m), weights_[m]);
            total += weights_[m];
        }
        std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) { return order(a.first, b.first); });
        std::size_t seen = 0;
        for (const auto& [v, w] : all)
            if ((seen += w) * 2 >= total) return v;
        return all.back().first;
    }

    cost median_cell(const member_list& members, std::size_t l, std::size_t i) const {
        cost out = cell(members.front(), l, i);
        out.gb_per_s = middle(
            members, [&](std::size_t m) { return cell(m, l, i).gb_per_s; }, std::greater<>());
        out.alpha_us = middle(
            members, [&](std::size_t m) { return cell(m, l, i).alpha_us; }, std::less<>());
        std::uint64_t samples = 0;
        for (const std::size_t m : members) {
            const cost& c = cell(m, l, i);
            out.from = std::max(out.from, c.from);
            out.alpha_from = std::max(out.alpha_from, c.alpha_from);
            out.spread = std::max(out.spread, c.spread);
            out.time = std::max(out.time, c.time);
            samples += c.samples;
        }
        out.samples =
            static_cast<std::uint32_t>(std::min<std::uint64_t>(samples, std::numeric_limits<std::uint32_t>::max()));
        return out;
    }

    member_list close_to(const member_list& members, const node_class& reference) const {
        member_list out;
        for (const std::size_t m : members)
            if (distance(nodes_[m], reference) == 0) out.push_back(m);
        return out;
    }

    // How many cells of two nodes of one shape differ by more than the tolerance.
    static std::size_t distance(const node_class& a, const node_class& b) {
        std::size_t far = 0;
        for (std::size_t l = 0; l < a.layers.size(); ++l) {
            const auto x = a.layers[l].cells.cells();
            const auto y = b.layers[l].cells.cells();
            for (std::size_t i = 0; i < x.size(); ++i)
                if (x[i].present() &&
                    (!same_bandwidth(x[i].gb_per_s, y[i].gb_per_s) || !same_latency(x[i].alpha_us, y[i].alpha_us)))
                    ++far;
        }
        return far;
    }

    // The node nearest to the median, when none is near enough to it in every cell.
    std::size_t leader(const member_list& all) const {
        const node_class center = median(all);
        return *std::min_element(all.begin(), all.end(), [&](std::size_t a, std::size_t b) {
            return distance(nodes_[a], center) < distance(nodes_[b], center);
        });
    }

    std::vector<node_class> nodes_;
    std::vector<std::size_t> weights_;
};

// A class carries one time a layer, its latest: when each pair was measured stays in the node files.
void date_layers(node_class& c) {
    for (auto& layer : c.layers) {
        std::int64_t latest = 0;
        for (const auto& cell : layer.cells.cells()) latest = std::max(latest, cell.time);
        for (auto& cell : layer.cells.cells())
            if (cell.present()) cell.time = latest;
    }
}

void strip_identities(node_class& c) {
    for (auto& g : c.gpus) g.uuid.clear();
    for (auto& n : c.nics) n.guid.clear();
}

std::string free_name(const std::string& wanted, std::set<std::string>& taken) {
    std::string name = wanted;
    for (int n = 2; !taken.insert(name).second; ++n) name = fmt::format("{}-{}", wanted, n);
    return name;
}

// By prefix, then by number, so that lists are short whatever order files came in.
bool natural_less(const std::string& a, const std::string& b) {
    const auto head = [](const std::string& s) { return s.find_last_not_of("0123456789") + 1; };
    const std::size_t ha = head(a);
    const std::size_t hb = head(b);
    const int prefix = a.compare(0, ha, b, 0, hb);
    if (prefix != 0) return prefix < 0;
    return std::make_tuple(a.size() - ha, a) < std::make_tuple(b.size() - hb, b);
}

const std::vector<std::string>& hosts_of(const merge_input& in, std::vector<std::string>& one) {
    if (!in.hosts.empty()) return in.hosts;
    one.assign(1, in.node.host);
    return one;
}

result<done> check_inputs(std::span<const merge_input> inputs) {
    if (inputs.empty()) return error{errc::bad_input, "", "there is nothing to merge", "name one node file or more"};
    std::unordered_map<std::string, const std::string*> seen;
    std::vector<std::string> one;
    for (const auto& in : inputs) {
        for (const auto& host : hosts_of(in, one)) {
            if (host.empty())
                return error{errc::bad_input, in.where, "the input names no host", "say which nodes it stands for"};
            const auto [known, added] = seen.emplace(host, &in.where);
            if (!added)
                return error{errc::bad_input, in.where,
                             fmt::format("host {} is also in {}", host,
                                         known->second->empty() ? "another input" : *known->second),
                             "keep one of the two"};
        }
        if (const findings faults = check(in.node.hardware); !faults.empty())
            return error{errc::bad_input, in.where, faults.front().where + ": " + faults.front().what,
                         faults.front().remedy};
    }
    return done{};
}

struct made_class {
    member_list members;
    std::size_t hosts = 0;
    std::size_t index = 0;  // in cluster.classes
    std::string base;       // the hardware's own name
};

// What sets each class apart from the largest of the same hardware name.
void report(const std::vector<made_class>& made, const class_maker& maker, const cluster_description& c,
            findings& notes) {
    for (const auto& m : made) {
        const std::string& name = c.classes[m.index].name;
        const std::string hosts = compress_hostlist(c.nodes[m.index].nodes);
        notes.push_back({severity::info, "class " + name,
                         fmt::format("{} {}: {}", m.hosts, m.hosts == 1 ? "node" : "nodes", hosts), ""});
        const made_class* main = &m;
        for (const auto& other : made)
            if (other.base == m.base && other.hosts > main->hosts) main = &other;
        if (main == &m)  // of equal ones the first made counts as the usual case
            for (const auto& other : made)
                if (other.base == m.base && other.hosts == m.hosts) {
                    main = &other;
                    break;
                }
        if (main == &m) continue;
        auto told = differences(maker.median(m.members), c.classes[main->index]);
        if (told.empty()) told.emplace_back("its CPUs, NUMA nodes or cost layers differ");
        for (const auto& text : told)
            notes.push_back({severity::warning, hosts,
                             fmt::format("not of class {}: {}", c.classes[main->index].name, text),
                             "check that hardware; it is placed as class " + name + " until it is measured again"});
    }
}

void report_fabric(const cluster_description& c, findings& notes) {
    std::set<std::string_view> known;
    for (const auto& group : c.nodes) known.insert(group.nodes.begin(), group.nodes.end());
    std::vector<std::string> without;
    for (const auto& s : c.fabric.switches)
        for (const auto& node : s.nodes)
            if (!known.contains(node)) without.push_back(node);
    if (without.empty()) return;
    std::sort(without.begin(), without.end(), natural_less);
    notes.push_back(
        {severity::warning, "fabric",
         fmt::format("{} no class: {}", counted(without.size(), "node of the fabric has", "nodes of the fabric have"),
                     compress_hostlist(without)),
         "calibrate or import them, and merge again"});
}

}  // namespace

result<merge_output> merge(std::span<const merge_input> inputs, fabric_description fabric, std::string cluster_name) {
    if (auto fine = check_inputs(inputs); !fine) return fine.failure();
    std::vector<node_class> nodes;
    std::vector<std::size_t> weights;
    std::vector<member_list> shapes;
    std::unordered_map<std::string, std::size_t> shape_index;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        nodes.push_back(inputs[i].node.hardware);
        sort_layers(nodes.back());
        weights.push_back(std::max<std::size_t>(1, inputs[i].hosts.size()));
        const auto [found, added] = shape_index.emplace(shape_of(nodes.back()), shapes.size());
        if (added) shapes.emplace_back();
        shapes[found->second].push_back(i);
    }
    const class_maker maker(std::move(nodes), std::move(weights));
    merge_output out;
    out.cluster.name = std::move(cluster_name);
    out.cluster.fabric = std::move(fabric);
    std::set<std::string> taken;
    std::vector<made_class> made;
    std::vector<std::string> one;
    for (auto& shape : shapes)
        for (auto& members : maker.split(std::move(shape))) {
            made_class m{std::move(members), 0, made.size(), {}};
            node_class c = maker.median(m.members);
            strip_identities(c);
            date_layers(c);
            m.base = c.name;
            c.name = free_name(m.base, taken);
            cluster_description::nodes_of_class group{c.name, {}};
            for (const std::size_t i : m.members)
                for (const auto& host : hosts_of(inputs[i], one)) group.nodes.push_back(host);
            std::sort(group.nodes.begin(), group.nodes.end(), natural_less);
            m.hosts = group.nodes.size();
            out.cluster.classes.push_back(std::move(c));
            out.cluster.nodes.push_back(std::move(group));
            made.push_back(std::move(m));
        }
    report(made, maker, out.cluster, out.notes);
    report_fabric(out.cluster, out.notes);
    return out;
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include "topo/import/slurm_topology_yaml.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "topo/import/switch_rules.hpp"
#include "topo/import/text.hpp"
#include "topo/import/yaml_text.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

constexpr std::string_view forms[] = {"tree", "block", "flat", "ring", "torus3d"};

struct entry {
    YAML::Node node;
    std::string name;
    std::string form;
    bool is_default = false;
};

class yaml_reader {
public:
    yaml_reader(const std::string& file, import_output& out) : file_(file), out_(out) {}

    result<entry> take(const YAML::Node& node) {
        if (!node.IsMap())
            return text::bad(yaml::at(file_, node), "an item of the list is not a topology",
                             "each item needs the keys topology, cluster_default and tree or block");
        entry e{node, yaml::scalar(node["topology"]), {}, false};
        if (e.name.empty()) return text::bad(yaml::at(file_, node), "a topology has no name", "add topology: NAME");
        for (const auto form : forms)
            if (node[std::string(form)].IsDefined()) {
                if (!e.form.empty())
                    return text::bad(
                        yaml::at(file_, node),
                        "topology " + text::shown(e.name) + " is both " + e.form + " and " + std::string(form),
                        "give each a topology of its own");
                e.form = form;
            }
        const auto marked = node["cluster_default"];
        if (marked.IsDefined() && !YAML::convert<bool>::decode(marked, e.is_default))
            return text::bad(yaml::at(file_, marked), "cluster_default is neither true nor false",
                             "write true or false");
        yaml::note_unknown_keys(node, {"topology", "cluster_default", "tree", "block", "flat", "ring", "torus3d"},
                                "topology " + e.name, file_, out_.notes);
        return e;
    }

    result<fabric_description> read(const entry& e) {
        const YAML::Node body = e.node[e.form];
        if (e.form == "tree") return read_tree(body);
        if (e.form == "block") return read_blocks(body);
        if (e.form == "flat") {
            text::note(out_.notes, yaml::at(file_, e.node),
                       "topology " + text::shown(e.name) + " is flat: it tells nothing about which nodes are near");
            return fabric_description{};
        }
        return text::bad(yaml::at(file_, e.node),
                         "topology " + text::shown(e.name) + (e.form.empty() ? " has no form" : " is a " + e.form) +
                             ", which is not read",
                         "mark a tree or block topology with cluster_default: true");
    }

private:
    // The sequence under `key`, or bad_input.
    result<YAML::Node> items(const YAML::Node& body, const std::string& key) const {
        const YAML::Node list = body.IsMap() ? body[key] : YAML::Node(YAML::NodeType::Undefined);
        if (!list.IsDefined() || !list.IsSequence())
            return text::bad(yaml::at(file_, body), "the list '" + key + "' is missing",
                             "write it as in topology.yaml(5)");
        return list;
    }

    result<switch_description> named(const YAML::Node& item, const std::string& key) const {
        switch_description s;
        if (item.IsMap()) s.name = yaml::scalar(item[key]);
        s.where = yaml::at(file_, item);
        if (s.name.empty() || s.name.find_first_of(",[] \t\n") != std::string::npos)
            return text::bad(s.where, "an item has no usable name", "add " + key + ": NAME");
        return s;
    }

    result<fabric_description> read_tree(const YAML::Node& body) {
        auto list = items(body, "switches");
        if (!list) return list.failure();
        fabric_description f;
        f.form = fabric_form::tree;
        for (const auto& item : *list) {
            auto s = named(item, "switch");
            if (!s) return s.failure();
            auto children = yaml::hosts(item["children"], file_, hosts_);
            if (!children) return children.failure();
            auto nodes = yaml::hosts(item["nodes"], file_, hosts_);
            if (!nodes) return nodes.failure();
            s->switches = std::move(*children);
            s->nodes = std::move(*nodes);
            yaml::note_unknown_keys(item, {"switch", "children", "nodes"}, "switch " + s->name, file_, out_.notes);
            f.switches.push_back(std::move(*s));
        }
        return settled(std::move(f), "switch", body);
    }

    result<fabric_description> read_blocks(const YAML::Node& body) {
        auto list = items(body, "blocks");
        if (!list) return list.failure();
        fabric_description f;
        f.form = fabric_form::block;
        for (const auto& item : *list) {
            auto s = named(item, "block");
            if (!s) return s.failure();
            auto nodes = yaml::hosts(item["nodes"], file_, hosts_);
            if (!nodes) return nodes.failure();
            s->nodes = std::move(*nodes);
            yaml::note_unknown_keys(item, {"block", "nodes"}, "block " + s->name, file_, out_.notes);
            f.switches.push_back(std::move(*s));
        }
        const YAML::Node sizes = body["block_sizes"];
        if (sizes.IsDefined() && !sizes.IsNull()) {
            if (!sizes.IsSequence())
                return text::bad(yaml::at(file_, sizes), "block_sizes is not a list", "write block_sizes: [18, 36]");
            for (const auto& size : sizes) {
                auto added = add_block_size(yaml::scalar(size), yaml::at(file_, size), f.block_sizes);
                if (!added) return added.failure();
            }
        }
        return settled(std::move(f), "block", body);
    }

    result<fabric_description> settled(fabric_description f, std::string_view kind, const YAML::Node& body) {
        if (f.switches.empty())
            return text::bad(yaml::at(file_, body), "the topology names no " + std::string(kind), "name at least one");
        if (auto sound = settle_switches(f.switches, kind, out_.notes); !sound) return sound.failure();
        return f;
    }

    const std::string& file_;
    import_output& out_;
    host_reader hosts_;
};

result<import_output> read_root(const YAML::Node& root, const std::string& file, import_output out) {
    if (!root.IsSequence() && !root.IsMap())
        return text::bad(file, "the document is neither a list nor a topology", "import the complete topology.yaml");
    yaml_reader reader(file, out);
    std::vector<entry> entries;
    std::optional<std::size_t> chosen;
    const auto take = [&](const YAML::Node& node) -> result<done> {
        auto e = reader.take(node);
        if (!e) return e.failure();
        if (e->is_default && chosen)
            return text::bad(yaml::at(file, node),
                             "topology " + text::shown(e->name) + " and " + text::shown(entries[*chosen].name) +
                                 " are both cluster_default",
                             "mark one of them");
        if (e->is_default) chosen = entries.size();
        entries.push_back(std::move(*e));
        return done{};
    };
    if (root.IsMap()) {
        if (auto taken = take(root); !taken) return taken.failure();
    } else {
        for (const auto& node : root)
            if (auto taken = take(node); !taken) return taken.failure();
    }
    if (entries.empty()) return text::bad(file, "the list of topologies is empty", "import the complete topology.yaml");
    if (!chosen && entries.size() > 1)
        text::note(out.notes, file,
                   "no topology is cluster_default; the first, " + text::shown(entries[0].name) + ", was taken");
    const std::size_t at = chosen.value_or(0);
    auto fabric = reader.read(entries[at]);
    if (!fabric) return fabric.failure();
    for (std::size_t i = 0; i < entries.size(); ++i)
        if (i != at)
            text::note(out.notes, yaml::at(file, entries[i].node),
                       "topology " + text::shown(entries[i].name) + " (" + entries[i].form +
                           ") was not read: the cluster's default is " + text::shown(entries[at].name));
    out.fabric = std::move(*fabric);
    return out;
}

}  // namespace

result<import_output> read_slurm_topology_yaml(std::string_view text, const std::string& file) {
    import_output out;
    auto root = yaml::load(text, file, out.notes);
    if (!root) return root.failure();
    try {
        return read_root(*root, file, std::move(out));
    } catch (const YAML::Exception& e) {
        const std::string place = e.mark.is_null() ? file : text::at(file, static_cast<std::size_t>(e.mark.line + 1));
        return text::bad(place,
                         "the YAML has another shape than topology.yaml: " + text::shown(e.msg, longest_sentence),
                         "see topology.yaml(5)");
    }
}

}  // namespace topo

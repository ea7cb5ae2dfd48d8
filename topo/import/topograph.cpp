// SPDX-License-Identifier: Apache-2.0
// Model files of NVIDIA topograph: a map of switches and a list of blocks of nodes.
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topo/counted.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/switch_rules.hpp"
#include "topo/import/text.hpp"
#include "topo/import/yaml_text.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

// A key at the start of a line.
bool has_root_key(std::string_view head, std::string_view key) noexcept {
    for (std::size_t at = head.find(key); at != std::string_view::npos; at = head.find(key, at + 1))
        if ((at == 0 || head[at - 1] == '\n') && at + key.size() < head.size() && head[at + key.size()] == ':')
            return true;
    return false;
}

struct block {
    std::vector<std::string> nodes;
    std::string domain;
    std::string where;
};

class model_reader {
public:
    model_reader(const std::string& file, import_output& out) : file_(file), out_(out) {}

    result<done> read(const YAML::Node& root) {
        if (!root.IsMap())
            return text::bad(yaml::at(file_, root), "the document is no map",
                             "import a model with switches: and blocks:");
        yaml::note_unknown_keys(root, {"switches", "blocks"}, "the model", file_, out_.notes);
        if (const YAML::Node switches = root["switches"]; switches.IsDefined() && !switches.IsNull()) {
            if (!switches.IsMap())
                return text::bad(yaml::at(file_, switches), "switches is no map of names",
                                 "write switches: {spine: {switches: [leaf-1]}}");
            for (const auto& entry : switches)
                if (auto taken = take_switch(entry.first, entry.second); !taken) return taken;
        }
        if (const YAML::Node blocks = root["blocks"]; blocks.IsDefined() && !blocks.IsNull()) {
            if (!blocks.IsSequence())
                return text::bad(yaml::at(file_, blocks), "blocks is no list",
                                 "write blocks: [{switch: leaf-1, nodes: [n1]}]");
            for (const auto& item : blocks)
                if (auto taken = take_block(item); !taken) return taken;
        }
        return done{};
    }

    result<done> finish() {
        add_implied_leaves();
        for (std::size_t i = 0, n = switches_.size(); i < n; ++i) hang_blocks(i);
        if (switches_.empty())
            return text::bad(file_, "the model names no switch and no block",
                             "import a model with switches: and blocks:");
        if (labels_ > 0)
            text::note(out_.notes, file_, "labels of " + counted(labels_, "switch", "switches") + " were not read");
        if (others_ > 0)
            text::note(
                out_.notes, file_,
                "annotations of blocks other than domain were not read (first: " + text::shown(first_other_) + ")");
        if (auto sound = settle_switches(switches_, "switch", out_.notes); !sound) return sound;
        fabric_description f;
        f.form = fabric_form::tree;
        f.switches = std::move(switches_);
        out_.fabric = std::move(f);
        return done{};
    }

private:
    result<std::string> name_at(const YAML::Node& node, const std::string& what) const {
        const std::string name = yaml::scalar(node);
        if (name.empty() || name.find_first_of(",[] \t\n") != std::string::npos)
            return text::bad(yaml::at(file_, node), "'" + text::shown(name) + "' is no name of a " + what,
                             "give one name");
        return name;
    }

    result<done> take_switch(const YAML::Node& key, const YAML::Node& body) {
        auto name = name_at(key, "switch");
        if (!name) return name.failure();
        switch_description s;
        s.name = *name;
        s.where = yaml::at(file_, key);
        if (body.IsMap()) {
            auto children = yaml::hosts(body["switches"], file_, hosts_);
            if (!children) return children.failure();
            auto nodes = yaml::hosts(body["nodes"], file_, hosts_);
            if (!nodes) return nodes.failure();
            s.switches = std::move(*children);
            s.nodes = std::move(*nodes);
            if (body["labels"].IsDefined()) ++labels_;
            yaml::note_unknown_keys(body, {"switches", "nodes", "labels"}, "switch " + text::shown(s.name), file_,
                                    out_.notes);
        } else if (!body.IsNull()) {
            return text::bad(yaml::at(file_, body), "switch " + text::shown(s.name) + " is no map",
                             "write its children under switches:");
        }
        known_.emplace(s.name, switches_.size());
        switches_.push_back(std::move(s));
        return done{};
    }

    result<done> take_block(const YAML::Node& item) {
        if (!item.IsMap())
            return text::bad(yaml::at(file_, item), "a block is no map", "write {switch: leaf-1, nodes: [n1]}");
        const YAML::Node at = item["switch"];
        if (!at.IsDefined())
            return text::bad(yaml::at(file_, item), "a block does not say its switch", "add switch: NAME");
        auto name = name_at(at, "switch");
        if (!name) return name.failure();
        auto nodes = yaml::hosts(item["nodes"], file_, hosts_);
        if (!nodes) return nodes.failure();
        block b{std::move(*nodes), {}, yaml::at(file_, item)};
        if (const YAML::Node notes = item["annotations"]; notes.IsDefined() && notes.IsMap())
            for (const auto& entry : notes) {
                const std::string key = yaml::scalar(entry.first);
                if (key == "domain" || key.ends_with("/domain"))
                    b.domain = domain_id(yaml::scalar(entry.second));
                else if (others_++ == 0)
                    first_other_ = key;
            }
        yaml::note_unknown_keys(item, {"switch", "nodes", "annotations"}, "a block of " + *name, file_, out_.notes);
        const auto [slot, fresh] = blocks_.try_emplace(*name);
        if (fresh) block_order_.push_back(*name);
        slot->second.push_back(std::move(b));
        return done{};
    }

    // Leaves have no entry of their own: they are named as a child, as a block's switch, or both.
    void add_implied_leaves() {
        for (const auto& name : block_order_)
            if (known_.emplace(name, switches_.size()).second) {
                switch_description s;
                s.name = name;
                s.where = blocks_[name].front().where;
                switches_.push_back(std::move(s));
            }
    }

    void hang_blocks(std::size_t index) {
        const auto found = blocks_.find(switches_[index].name);
        if (found == blocks_.end()) return;
        auto& blocks = found->second;
        if (blocks.size() == 1) {
            auto& s = switches_[index];
            s.nodes.insert(s.nodes.end(), blocks[0].nodes.begin(), blocks[0].nodes.end());
            s.domain = blocks[0].domain;
            return;
        }
        // Several domains under one leaf: each becomes a level below it.
        text::note(out_.notes, blocks.front().where,
                   std::to_string(blocks.size()) + " blocks under " + text::shown(switches_[index].name) +
                       " became switches below it");
        for (std::size_t b = 0; b < blocks.size(); ++b) {
            switch_description s;
            s.name = switches_[index].name + "." + std::to_string(b + 1);
            s.nodes = std::move(blocks[b].nodes);
            s.domain = blocks[b].domain;
            s.where = blocks[b].where;
            switches_[index].switches.push_back(s.name);
            switches_.push_back(std::move(s));
        }
    }

    const std::string& file_;
    import_output& out_;
    host_reader hosts_;
    std::vector<switch_description> switches_;
    std::unordered_map<std::string, std::size_t> known_;
    std::unordered_map<std::string, std::vector<block>> blocks_;
    std::vector<std::string> block_order_;
    std::size_t labels_ = 0;
    std::size_t others_ = 0;
    std::string first_other_;
};

}  // namespace

bool looks_like_topograph(std::string_view head) noexcept {
    if (has_root_key(head, "apiVersion") || has_root_key(head, "topology") || has_root_key(head, "kind")) return false;
    return has_root_key(head, "switches") || has_root_key(head, "blocks");
}

result<import_output> read_topograph(std::string_view text, const std::string& file, const import_options&) {
    import_output out;
    auto root = yaml::load(text, file, out.notes);
    if (!root) return root.failure();
    try {
        model_reader reader(file, out);
        if (auto taken = reader.read(*root); !taken) return taken.failure();
        if (auto finished = reader.finish(); !finished) return finished.failure();
        return out;
    } catch (const YAML::Exception& e) {
        const std::string place = e.mark.is_null() ? file : text::at(file, static_cast<std::size_t>(e.mark.line + 1));
        return text::bad(place,
                         "the YAML has another shape than a topograph model: " + text::shown(e.msg, longest_sentence),
                         "compare with a model of topograph");
    }
}

}  // namespace topo

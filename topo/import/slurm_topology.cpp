// SPDX-License-Identifier: Apache-2.0
// topology.conf of Slurm (topology/tree and topology/block). topology.yaml is read by slurm_topology_yaml.cpp.
#include <algorithm>
#include <optional>
#include <utility>

#include "topo/import/readers.hpp"
#include "topo/import/slurm_conf.hpp"
#include "topo/import/slurm_topology_yaml.hpp"
#include "topo/import/switch_rules.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

class topology_reader {
public:
    explicit topology_reader(const std::string& file) : file_(file) {}

    result<done> take(const slurm::record& r) {
        const auto* is_switch = r.find("switchname");
        const auto* is_block = r.find("blockname");
        if (is_switch != nullptr && is_block != nullptr)
            return text::bad(text::at(file_, r.line), "one line names a switch and a block", "write two lines");
        if (is_switch != nullptr) return take_switch(r, *is_switch);
        if (is_block != nullptr) return take_block(r, *is_block);
        if (const auto* sizes = r.find("blocksizes"); sizes != nullptr && r.fields.size() == 1)
            return take_sizes(*sizes);
        return unknown_key(r.fields.front());
    }

    result<import_output> finish(import_output out) {
        if (switches_.empty() && blocks_.empty())
            return text::bad(file_, "no SwitchName or BlockName line stands in the file",
                             "import the topology.conf that slurmctld reads");
        if (!switches_.empty() && !blocks_.empty())
            return text::bad(blocks_.front().where,
                             "block lines stand beside the switch line at " + switches_.front().where +
                                 "; Slurm reads one kind or the other",
                             "give the lines of the TopologyPlugin in use");
        if (blocks_.empty() && !sizes_.empty())
            return text::bad(sizes_where_, "BlockSizes stands in a file of switches", "take the line out");
        const bool tree = !switches_.empty();
        fabric_description f;
        f.form = tree ? fabric_form::tree : fabric_form::block;
        f.switches = std::move(tree ? switches_ : blocks_);
        f.block_sizes = std::move(sizes_);
        if (auto sound = settle_switches(f.switches, tree ? "switch" : "block", out.notes); !sound)
            return sound.failure();
        if (speed_line_ > 0)
            text::note(out.notes, text::at(file_, speed_line_),
                       "LinkSpeed has no unit and Slurm does not use it; it was not read as a capacity");
        out.fabric = std::move(f);
        return out;
    }

private:
    error unknown_key(const slurm::field& f) const {
        return text::bad(text::at(file_, f.line), "'" + text::shown(f.key) + "' is no key of topology.conf here",
                         "the keys are SwitchName, Switches, Nodes, LinkSpeed, BlockName and BlockSizes");
    }

    result<std::string> name_of_line(const slurm::field& f) const {
        if (f.value.empty() || f.value.find_first_of(",[]=") != std::string::npos)
            return text::bad(slurm::at(file_, f), "'" + text::shown(f.value) + "' is not one name",
                             "give each switch or block a line of its own");
        return f.value;
    }

    result<std::vector<std::string>> list(const slurm::field& f) {
        return hosts_.expand(f.value, text::at(file_, f.line), f.column);
    }

    result<done> take_switch(const slurm::record& r, const slurm::field& named) {
        auto name = name_of_line(named);
        if (!name) return name.failure();
        switch_description s;
        s.name = *name;
        s.where = text::at(file_, named.line);
        for (const auto& f : r.fields) {
            if (f.key == "switchname") continue;
            if (f.key == "linkspeed") {
                if (speed_line_ == 0) speed_line_ = f.line;
                continue;
            }
            if (f.key != "switches" && f.key != "nodes") return unknown_key(f);
            auto names = list(f);
            if (!names) return names.failure();
            (f.key == "nodes" ? s.nodes : s.switches) = std::move(*names);
        }
        switches_.push_back(std::move(s));
        return done{};
    }

    result<done> take_block(const slurm::record& r, const slurm::field& named) {
        auto name = name_of_line(named);
        if (!name) return name.failure();
        switch_description s;
        s.name = *name;
        s.where = text::at(file_, named.line);
        for (const auto& f : r.fields) {
            if (f.key == "blockname") continue;
            if (f.key != "nodes") return unknown_key(f);
            auto names = list(f);
            if (!names) return names.failure();
            s.nodes = std::move(*names);
        }
        blocks_.push_back(std::move(s));
        return done{};
    }

    result<done> take_sizes(const slurm::field& f) {
        if (!sizes_.empty())
            return text::bad(text::at(file_, f.line), "BlockSizes was already given at " + sizes_where_,
                             "keep one of the two lines");
        sizes_where_ = text::at(file_, f.line);
        for (const auto item : text::split(f.value, ',')) {
            const std::string place = slurm::at(file_, f, static_cast<std::size_t>(item.data() - f.value.data()));
            if (auto added = add_block_size(item, place, sizes_); !added) return added;
        }
        return done{};
    }

    const std::string& file_;
    host_reader hosts_;
    std::vector<switch_description> switches_;
    std::vector<switch_description> blocks_;
    std::vector<std::uint32_t> sizes_;
    std::string sizes_where_;
    std::size_t speed_line_ = 0;
};

// A generator that thinks short blocks illegal comments them out; its nodes would be missing silently.
void note_hidden_lines(const slurm::conf& c, const std::string& file, findings& notes) {
    for (const auto& comment : c.comments)
        for (const std::string_view key : {std::string_view("blockname"), std::string_view("switchname")}) {
            if (!slurm::lower(std::string_view(comment.text).substr(0, key.size() + 1))
                     .starts_with(std::string(key) + "="))
                continue;
            const auto words = text::words(comment.text);
            text::note(notes, text::at(file, comment.line),
                       "a commented-out line was seen and not read: " + text::shown(words.front()) +
                           (key == "blockname" ? "; blocks with fewer nodes than the others are legal here" : ""));
        }
}

bool has_yaml_marks(std::string_view head) noexcept {
    for (const std::string_view mark : {"\n- topology:", "\ntopology:"})
        if (head.find(mark) != std::string_view::npos) return true;
    return head.starts_with("- topology:") || head.starts_with("topology:");
}

}  // namespace

bool looks_like_slurm_topology(std::string_view head) noexcept {
    return slurm::has_key(head, "switchname") || slurm::has_key(head, "blockname") || has_yaml_marks(head);
}

result<import_output> read_slurm_topology(std::string_view text, const std::string& file, const import_options&) {
    if (has_yaml_marks(text)) return read_slurm_topology_yaml(text, file);
    auto conf = slurm::read_conf(text, file);
    if (!conf) return conf.failure();
    import_output out;
    topology_reader reader(file);
    for (const auto& r : conf->records)
        if (auto taken = reader.take(r); !taken) return taken.failure();
    slurm::note_includes(*conf, file, out.notes);
    note_hidden_lines(*conf, file, out.notes);
    return reader.finish(std::move(out));
}

}  // namespace topo

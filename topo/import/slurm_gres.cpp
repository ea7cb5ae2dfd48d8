// SPDX-License-Identifier: Apache-2.0
// gres.conf of Slurm: which lines make up which node. What a line says of a GPU is read by slurm_gres_gpu.cpp.
#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "topo/hostlist.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/slurm_conf.hpp"
#include "topo/import/slurm_gres_gpu.hpp"
#include "topo/import/switch_rules.hpp"
#include "topo/import/text.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

constexpr std::size_t max_groups = 1024;

// What a line says, apart from the nodes it says it of.
std::string content_of(const slurm::record& r) {
    std::string text;
    for (const auto& f : r.fields)
        if (f.key != "nodename") text += f.key + '=' + f.value + '\n';
    return text;
}

// The lines that are not GPUs, counted by the name of their gres.
struct other_gres {
    std::size_t lines = 0;
    std::size_t first_line = 0;
};

class gres_reader {
public:
    gres_reader(const std::string& file, import_output& out) : file_(file), out_(out) {}

    result<done> take(const slurm::record& r) {
        std::vector<std::string> hosts;
        if (const auto* nodes = r.find("nodename")) {
            auto names = hosts_.expand(nodes->value, text::at(file_, nodes->line), nodes->column);
            if (!names) return names.failure();
            hosts = std::move(*names);
        }
        if (const auto* found = r.find("autodetect"); found != nullptr && slurm::lower(found->value) != "off")
            text::note(
                out_.notes, text::at(file_, found->line),
                "AutoDetect=" + text::shown(found->value) + ": slurmd also finds devices that the file does not name");
        const auto* name = r.find("name");
        if (name == nullptr) {
            if (r.find("autodetect") != nullptr) return done{};
            return text::bad(text::at(file_, r.line), "a line without Name=", "say which gres it is, as Name=gpu");
        }
        const std::string kind = slurm::lower(name->value);
        if (kind != "gpu") {
            auto& other = others_[kind];
            if (other.lines++ == 0) other.first_line = r.line;
            return done{};
        }
        auto line = read_gres_gpu(r, file_, hosts_, out_.notes);
        if (!line) return line.failure();
        const std::size_t index = lines_.size();
        lines_.push_back(std::move(*line));
        content_.push_back(contents_.emplace(content_of(r), contents_.size()).first->second);
        if (hosts.empty()) everywhere_.push_back(index);
        for (const auto& h : hosts) {
            const auto [at, fresh] = lines_of_.try_emplace(h);
            if (fresh) order_.push_back(h);
            if (at->second.empty() || at->second.back() != index) at->second.push_back(index);
        }
        return done{};
    }

    result<done> finish(const import_options& options) {
        for (const auto& [name, other] : others_)
            text::note(out_.notes, text::at(file_, other.first_line),
                       std::to_string(other.lines) + " line" + (other.lines > 1 ? "s" : "") + " of gres '" +
                           text::shown(name) + "' " + (other.lines > 1 ? "were" : "was") + " not read" +
                           (name == "nic" ? ": they do not tell which GPU a NIC is near to" : ""));
        if (lines_.empty())
            return text::bad(
                file_, "no line names a GPU",
                "if slurmd finds the GPUs itself (AutoDetect), import nvidia-smi topo -m of a node instead");
        // More lines than a node has GPUs are a fault that is found there, before they are given to each host.
        if (order_.empty() || everywhere_.size() > max_gpus_per_node) return add_group({}, everywhere_, options);
        // Hosts whose lines say the same are one node; lines without NodeName belong to every host.
        std::map<std::vector<std::size_t>, std::size_t> group_of;
        std::vector<std::pair<std::vector<std::size_t>, std::vector<std::string>>> groups;
        for (const auto& h : order_) {
            auto lines = lines_of_[h];
            lines.insert(lines.end(), everywhere_.begin(), everywhere_.end());
            std::sort(lines.begin(), lines.end());
            std::vector<std::size_t> said;
            for (const std::size_t i : lines) said.push_back(content_[i]);
            const auto [at, fresh] = group_of.emplace(std::move(said), groups.size());
            if (fresh) groups.push_back({std::move(lines), {}});
            if (groups.size() > max_groups)
                return error{errc::limit, text::at(file_, lines_[groups.back().first.front()].line),
                             "the file describes more than " + std::to_string(max_groups) + " different nodes",
                             "import the part that describes nodes with GPUs of one kind"};
            groups[at->second].second.push_back(h);
        }
        for (const auto& [lines, hosts] : groups)
            if (auto added = add_group(hosts, lines, options); !added) return added;
        return done{};
    }

private:
    result<done> add_group(const std::vector<std::string>& hosts, const std::vector<std::size_t>& indices,
                           const import_options& options) {
        std::vector<const gres_gpu_line*> lines;
        for (const std::size_t i : indices) lines.push_back(&lines_[i]);
        import_output one;
        if (auto made = make_gres_node(lines, file_, one, options); !made) return made;
        node_description node = std::move(one.nodes.front());
        node.host = compress_hostlist(hosts);
        if (hosts.empty())
            text::note(node.notes, file_, "no NodeName: the lines hold for every node that reads the file");
        else if (hosts.size() > 1)
            text::note(node.notes, file_,
                       "the node stands for " + std::to_string(hosts.size()) +
                           " hosts: " + text::shown(node.host, longest_sentence));
        out_.nodes.push_back(std::move(node));
        return done{};
    }

    const std::string& file_;
    import_output& out_;
    host_reader hosts_;
    std::vector<gres_gpu_line> lines_;
    std::vector<std::size_t> content_;  // of each line, equal where content_of is equal
    std::unordered_map<std::string, std::size_t> contents_;
    std::vector<std::size_t> everywhere_;                                 // lines without NodeName
    std::unordered_map<std::string, std::vector<std::size_t>> lines_of_;  // of each host
    std::vector<std::string> order_;                                      // hosts as first named
    std::map<std::string, other_gres> others_;
};

}  // namespace

bool looks_like_slurm_gres(std::string_view head) noexcept {
    return slurm::has_key(head, "autodetect") ||
           (slurm::has_key(head, "name") &&
            (slurm::has_key(head, "file") || slurm::has_key(head, "count") || slurm::has_key(head, "multiplefiles")));
}

result<import_output> read_slurm_gres(std::string_view text, const std::string& file, const import_options& options) {
    auto conf = slurm::read_conf(text, file);
    if (!conf) return conf.failure();
    import_output out;
    slurm::note_includes(*conf, file, out.notes);
    gres_reader reader(file, out);
    for (const auto& r : conf->records)
        if (auto taken = reader.take(r); !taken) return taken.failure();
    if (auto finished = reader.finish(options); !finished) return finished.failure();
    return out;
}

}  // namespace topo

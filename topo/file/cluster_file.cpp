// SPDX-License-Identifier: Apache-2.0
// Cluster and fabric files.
#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "topo/file.hpp"
#include "topo/file/model.hpp"
#include "topo/hostlist.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

using namespace file;

std::vector<node_class> read_classes(const value& list, faults& out) {
    std::vector<node_class> classes;
    std::unordered_map<std::string, std::uint32_t> lines;
    for (const auto& item : as_items(list, "classes", out)) {
        if (out.any()) break;
        classes.push_back(to_class(item, out));
        const auto [known, added] = lines.emplace(classes.back().name, item.line);
        if (!added)
            out.report(item.line,
                       fmt::format("class {} stands twice (first in line {})", shown(known->first), known->second),
                       "rename or remove one of them");
    }
    return classes;
}

// Node lines against the classes: known class, no node twice.
void read_nodes(const value& list, cluster_description& c, faults& out) {
    std::unordered_set<std::string_view> classes;
    for (const auto& known : c.classes) classes.insert(known.name);
    std::size_t total = 0;
    std::vector<std::uint32_t> lines;
    for (const auto& item : as_items(list, "nodes", out)) {
        if (out.any()) return;
        fields f(item, "a nodes line", out);
        cluster_description::nodes_of_class group;
        if (const value* name = f.need("class")) {
            group.class_name = as_text(*name, "class of a nodes line", out);
            if (!classes.contains(group.class_name))
                out.report(name->line, fmt::format("class '{}' is not defined", shown(group.class_name)),
                           "define it under classes, or correct the name");
        }
        if (const value* hosts = f.need("hosts")) group.nodes = as_hosts(*hosts, "hosts", out);
        f.finish();
        total += group.nodes.size();
        if (total > max_hosts)
            out.report(item.line, fmt::format("more than {} nodes", max_hosts), "check the host lists", errc::limit);
        lines.push_back(item.line);
        c.nodes.push_back(std::move(group));
    }
    if (out.any()) return;
    std::unordered_map<std::string_view, std::uint32_t> seen;
    seen.reserve(total);
    for (std::size_t i = 0; i < c.nodes.size(); ++i)
        for (const auto& node : c.nodes[i].nodes)
            if (const auto [known, added] = seen.emplace(node, lines[i]); !added)
                return out.report(lines[i],
                                  fmt::format("node {} stands twice (first in line {})", shown(node), known->second),
                                  "give each node to one class only");
}

value header(std::string_view kind_name) {
    value top = new_map();
    top.add("apiVersion", of_text(api_version));
    top.add("kind", of_text(kind_name));
    return top;
}

template <class Model, class Read>
result<Model> parse_document(result<value> document, const std::string& name, std::string_view kind_name, Read read) {
    if (!document) return document.failure();
    faults out(name);
    Model model{};
    fields top(*document, "the file", out);
    if (!out.any()) read_header(top, kind_name, out);
    if (!out.any()) read(top, model, out);
    top.finish();
    if (out.any()) return out.first();
    return model;
}

}  // namespace

result<cluster_description> parse_cluster(std::string_view text, const std::string& file) {
    return parse_document<cluster_description>(read_yaml(text, file), file, "Cluster",
                                               [](fields& top, cluster_description& c, faults& out) {
                                                   top.read("name", c.name);
                                                   const value* classes = top.need("classes");
                                                   if (classes != nullptr) c.classes = read_classes(*classes, out);
                                                   const value* nodes = top.find("nodes");
                                                   if (nodes != nullptr && !out.any()) read_nodes(*nodes, c, out);
                                                   const value* network = top.find("fabric");
                                                   if (network != nullptr && !out.any())
                                                       c.fabric = to_fabric(*network, out);
                                               });
}

result<fabric_description> parse_fabric(std::string_view text, const std::string& file) {
    return parse_document<fabric_description>(read_yaml(text, file), file, "Fabric",
                                              [](fields& top, fabric_description& d, faults& out) {
                                                  if (const value* network = top.need("fabric"))
                                                      d = to_fabric(*network, out);
                                              });
}

std::string write_cluster(const cluster_description& c) {
    value top = header("Cluster");
    if (!c.name.empty()) top.add("name", of_text(c.name));
    value classes = new_sequence();
    for (const auto& one : c.classes) classes.items.push_back(from_class(one, true));
    top.add("classes", std::move(classes));
    value nodes = new_sequence();
    for (const auto& group : c.nodes) {
        value line = new_map(layout::flow);
        line.add("class", of_text(group.class_name));
        line.add("hosts", of_text(compress_hostlist(group.nodes)));
        nodes.items.push_back(std::move(line));
    }
    top.add("nodes", std::move(nodes));
    top.add("fabric", from_fabric(c.fabric));
    return "# Atoll cluster file: bandwidths in GB/s (10^9 bytes a second), latencies in µs. See "
           "docs/file-format.md.\n" +
           to_yaml(top);
}

std::string write_fabric(const fabric_description& d) {
    value top = header("Fabric");
    top.add("fabric", from_fabric(d));
    return to_yaml(top);
}

result<cluster> load_cluster(const std::string& path, bool lenient) {
    auto text = read_file(path);
    if (!text) return text.failure();
    auto description = parse_cluster(*text, path);
    if (!description) return description.failure();
    auto built = cluster::build(*std::move(description), lenient);
    if (built || built.failure().where.starts_with(path)) return built;
    error e = built.failure();
    e.where = e.where.empty() ? path : path + ": " + e.where;
    return e;
}

}  // namespace topo

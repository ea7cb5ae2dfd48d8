// SPDX-License-Identifier: Apache-2.0
#include "topo/export/k8s_tiers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>

#include "topo/quote.hpp"

namespace topo::k8s {
namespace {

constexpr std::size_t longest_label = 63;
constexpr std::size_t longest_name = 253;

bool alphanumeric(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

bool is_node_name(std::string_view name) noexcept {
    return !name.empty() && name.size() <= longest_name && name == object_name(name);
}

std::string trimmed(std::string text, std::size_t most) {
    while (!text.empty() && !alphanumeric(text.front())) text.erase(text.begin());
    if (text.size() > most) text.resize(most);
    while (!text.empty() && !alphanumeric(text.back())) text.pop_back();
    return text;
}

// The label of every switch, unique within the cluster.
result<std::unordered_map<std::string_view, std::string>> labels_of(const fabric_description& f, findings& notes) {
    std::unordered_map<std::string_view, std::string> out;
    std::unordered_map<std::string, std::string_view> taken;
    for (const auto& s : f.switches) {
        std::string label = label_value(s.name);
        if (label.empty())
            return error{errc::bad_input, s.where,
                         "switch name '" + shown(s.name) + "' has no letter or digit, as a label needs",
                         "rename the switch"};
        const auto [known, fresh] = taken.emplace(label, s.name);
        if (!fresh)
            return error{
                errc::bad_input, s.where,
                "switches '" + shown(known->second) + "' and '" + shown(s.name) + "' become one label, " + label,
                "rename one of them within the first 63 letters and digits"};
        if (label != s.name)
            notes.push_back({severity::info, s.name,
                             "is written as " + label + ": labels hold letters, digits, '-', '_' and '.'", ""});
        out.emplace(s.name, std::move(label));
    }
    return out;
}

}  // namespace

std::string label_value(std::string_view text) {
    std::string out(text);
    for (char& c : out)
        if (!alphanumeric(c) && c != '-' && c != '_' && c != '.') c = '-';
    return trimmed(std::move(out), longest_label);
}

std::string object_name(std::string_view text) {
    std::string out(text);
    for (char& c : out) {
        if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
        if (!alphanumeric(c) && c != '.') c = '-';
    }
    return trimmed(std::move(out), longest_name);
}

bool no_domain(std::string_view id) noexcept { return id.find_first_not_of("0-.") == std::string_view::npos; }

result<tree> read_tree(const cluster& c) {
    const fabric_description& f = c.description().fabric;
    switch (f.form) {
        case fabric_form::unknown:
            return error{errc::bad_input, c.name(), "the fabric of the cluster is unknown",
                         "import one (atoll import of topology.conf, ibnetdiscover or a topograph model) and merge it"};
        case fabric_form::torus:
        case fabric_form::hypercube:
            return error{errc::bad_input, c.name(),
                         fmt::format("a {} has no switches to label nodes by", name_of(f.form)),
                         "export a fabric of switches or blocks"};
        default: break;
    }
    tree out;
    auto labels = labels_of(f, out.notes);
    if (!labels) return labels.failure();
    std::unordered_map<std::string_view, const switch_description*> parent_of;  // of switches and of nodes
    for (const auto& s : f.switches) {
        for (const auto& child : s.switches) parent_of.emplace(child, &s);
        for (const auto& node : s.nodes) parent_of.emplace(node, &s);
    }
    std::size_t loose = 0;
    std::string loose_example;
    for (std::size_t i = 0; i < c.nodes().size(); ++i) {
        place p;
        p.node = c.nodes()[i].name;
        p.hardware = &c.class_of(node_id(i));
        if (!is_node_name(p.node))
            return error{errc::bad_input, shown(p.node), "is no name that a Kubernetes node can have",
                         "use lower-case letters, digits, '-' and '.'"};
        for (auto at = parent_of.find(p.node); at != parent_of.end() && p.tiers.size() < f.switches.size();
             at = parent_of.find(at->second->name)) {
            p.tiers.push_back((*labels)[at->second->name]);
            if (p.domain.empty() && !no_domain(at->second->domain)) p.domain = label_value(at->second->domain);
        }
        if (p.tiers.empty() && loose++ == 0) loose_example = p.node;
        out.tiers = std::max(out.tiers, p.tiers.size());
        out.domains = out.domains || !p.domain.empty();
        out.nodes.push_back(std::move(p));
    }
    if (loose > 0)
        out.notes.push_back(
            {severity::warning, loose_example,
             fmt::format("{} of {} nodes hang under no switch and get no tier label", loose, out.nodes.size()),
             "add them to the fabric"});
    for (const place& p : out.nodes)
        if (!p.tiers.empty() && p.tiers.size() < out.tiers && out.uneven++ == 0) out.uneven_example = p.node;
    return out;
}

}  // namespace topo::k8s

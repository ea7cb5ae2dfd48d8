// SPDX-License-Identifier: Apache-2.0
#include "topo/import/ib_hosts.hpp"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "topo/counted.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

bool host_char(char c) noexcept {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
           c == '_';
}

bool aggregation_node(const ib_node& n) noexcept { return n.description.find("Aggregation Node") != std::string::npos; }

// "MF0;leaf-01:MQM9701/U1" → "leaf-01"; descriptions that name no switch give nothing.
std::string switch_name(const std::string& description) {
    std::string_view s = description;
    if (const std::size_t semicolon = s.find(';'); semicolon != std::string_view::npos) s.remove_prefix(semicolon + 1);
    s = s.substr(0, s.find(':'));
    return !s.empty() && std::all_of(s.begin(), s.end(), host_char) ? std::string(s) : std::string();
}

}  // namespace

std::string ib_host_of(const std::string& description) {
    std::string_view s = text::trim(description);
    while (!s.empty() && (s.front() == '\'' || s.front() == ' ')) s.remove_prefix(1);
    while (!s.empty() && (s.back() == '\'' || s.back() == ' ')) s.remove_suffix(1);
    const auto parts = text::words(s);
    if (parts.empty() || parts.size() > 2) return {};
    const std::string_view host = parts.front();
    if (!std::all_of(host.begin(), host.end(), host_char) || host.starts_with("localhost") ||
        host.starts_with("ConnectX") || host == "Mellanox" || host == "NVIDIA")
        return {};
    const bool chip = host.starts_with("MT") && host.size() > 2 && host.find_first_not_of("0123456789", 2) == host.npos;
    return chip ? std::string() : std::string(host);
}

std::vector<std::string> ib_switch_names(const ib_net& net) {
    std::vector<std::string> names(net.nodes.size());
    std::unordered_map<std::string, std::size_t> uses;
    for (std::size_t i = 0; i < net.nodes.size(); ++i) {
        if (net.nodes[i].kind != ib_kind::switch_) continue;
        names[i] = switch_name(net.nodes[i].description);
        ++uses[names[i]];
    }
    for (std::size_t i = 0; i < net.nodes.size(); ++i) {
        if (net.nodes[i].kind != ib_kind::switch_ || (!names[i].empty() && uses[names[i]] == 1)) continue;
        names[i] = net.nodes[i].id;
        for (char& c : names[i])
            if (!host_char(c)) c = '_';
    }
    return names;
}

ib_hosts ib_hosts_of(const ib_net& net, const std::string& file, findings& notes) {
    ib_hosts t;
    t.of_node.assign(net.nodes.size(), ib_hosts::none);
    std::unordered_map<std::string, std::uint32_t> by_name;
    std::size_t unnamed = 0;
    std::size_t aggregators = 0;
    const ib_node* first = nullptr;
    for (std::size_t i = 0; i < net.nodes.size(); ++i) {
        const ib_node& n = net.nodes[i];
        if (n.kind != ib_kind::adapter) continue;
        if (aggregation_node(n)) {
            ++aggregators;
            continue;
        }
        std::string name = ib_host_of(n.description);
        const bool has_name = !name.empty() || n.description.empty();
        if (name.empty()) {
            name = n.id;
            for (char& c : name)
                if (!host_char(c)) c = '_';
        }
        if (!has_name && unnamed++ == 0) first = &n;
        const auto [at, fresh] = by_name.emplace(name, static_cast<std::uint32_t>(t.names.size()));
        if (fresh) {
            t.names.push_back(name);
            t.named.push_back(has_name);
        }
        t.of_node[i] = at->second;
    }
    if (aggregators > 0)
        text::note(notes, file,
                   counted(aggregators, "in-network aggregation node (SHARP) is no host",
                           "in-network aggregation nodes (SHARP) are not hosts"));
    if (first != nullptr)
        text::warn(notes, text::at(file, first->line),
                   counted(unnamed, "adapter does not tell its host (as '", "adapters do not tell their host (as '") +
                       text::shown(first->description) + (unnamed == 1 ? "'); it" : "'); each") +
                       " stands alone under its GUID",
                   "let the hosts set their node description (rdma-ndd)");
    return t;
}

}  // namespace topo

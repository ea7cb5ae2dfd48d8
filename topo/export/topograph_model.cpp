// SPDX-License-Identifier: Apache-2.0
// The model of NVIDIA topograph: switches above leaves as a map, leaves with their nodes as blocks.
#include <fmt/format.h>

#include <algorithm>
#include <new>

#include "topo/export/export.hpp"
#include "topo/export/k8s_tiers.hpp"
#include "topo/hostlist.hpp"

namespace topo {
namespace {

// Plain words stand as they are; others are quoted for YAML.
std::string word(const std::string& text) {
    const bool plain = !text.empty() &&
                       std::all_of(text.begin(), text.end(),
                                   [](char c) {
                                       return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                              (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
                                   }) &&
                       ((text[0] >= 'a' && text[0] <= 'z') || (text[0] >= 'A' && text[0] <= 'Z')) && text.size() > 5;
    if (plain) return text;
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

bool usable(const std::string& name) {
    return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == 0x7f || c == ',' || c == '[' || c == ']';
    });
}

}  // namespace

result<export_output> to_topograph(const cluster& c) {
    try {
        const fabric_description& f = c.description().fabric;
        if (f.form == fabric_form::unknown || f.form == fabric_form::torus || f.form == fabric_form::hypercube)
            return error{errc::bad_input, c.name(),
                         fmt::format("a topograph model cannot describe a fabric of form {}", name_of(f.form)),
                         "export a fabric of switches or blocks"};
        export_output out;
        for (const auto& s : f.switches) {
            if (!usable(s.name) || !std::all_of(s.nodes.begin(), s.nodes.end(), usable))
                return error{errc::bad_input, s.where, "a name of switch '" + s.name + "' cannot stand in a model",
                             "use names without blanks, commas and brackets"};
            if (s.switches.empty() && s.nodes.empty())
                out.notes.push_back({severity::info, s.name, "a switch with nothing below it is left out", ""});
            if (s.uplink_gb_per_s && out.notes.empty())
                out.notes.push_back(
                    {severity::info, "", "uplink capacities are left out: the model has no place for them", ""});
        }
        out.text = "switches:\n";
        for (const auto& s : f.switches) {
            if (s.switches.empty()) continue;
            out.text += fmt::format("  {}:\n    switches:\n", word(s.name));
            for (const auto& child : s.switches) out.text += fmt::format("      - {}\n", word(child));
        }
        if (out.text == "switches:\n") out.text.clear();
        std::string blocks;
        for (const auto& s : f.switches) {
            if (s.nodes.empty()) continue;
            blocks +=
                fmt::format("  - switch: {}\n    nodes:\n      - {}\n", word(s.name), word(compress_hostlist(s.nodes)));
            if (!k8s::no_domain(s.domain))
                blocks += fmt::format("    annotations:\n      accelerator.topograph.run/domain: {}\n", word(s.domain));
        }
        if (!blocks.empty()) out.text += "blocks:\n" + blocks;
        return out;
    } catch (const std::bad_alloc&) {
        return error{errc::limit, c.name(), "too little memory to write the model", "free some memory"};
    } catch (const std::exception& e) {
        return error{errc::bad_input, c.name(), std::string("the model cannot be written: ") + e.what(), ""};
    }
}

}  // namespace topo

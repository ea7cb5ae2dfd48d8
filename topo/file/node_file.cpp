// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "topo/file.hpp"
#include "topo/file/model.hpp"
#include "topo/quote.hpp"

namespace topo {
namespace {

using namespace file;

constexpr std::array<std::string_view, 3> severity_names = {"info", "warning", "error"};

value from_notes(const findings& notes) {
    value list = new_sequence();
    for (const auto& n : notes) {
        value v = new_map(layout::flow);
        v.add("level", of_text(severity_names[static_cast<std::size_t>(n.level)]));
        if (!n.where.empty()) v.add("where", of_text(n.where));
        v.add("what", of_text(n.what));
        if (!n.remedy.empty()) v.add("remedy", of_text(n.remedy));
        list.items.push_back(std::move(v));
    }
    return list;
}

finding to_note(const value& v, faults& out) {
    fields f(v, "a note", out);
    finding n;
    if (const value* level = f.need("level")) {
        const std::string text = as_text(*level, "level of a note", out);
        bool known = false;
        for (std::size_t i = 0; i < severity_names.size(); ++i)
            if (text == severity_names[i]) {
                n.level = static_cast<severity>(i);
                known = true;
            }
        if (!known)
            out.report(level->line, "unknown level '" + shown(text) + "' of a note", "write info, warning or error");
    }
    f.read("where", n.where);
    f.read("what", n.what);
    f.read("remedy", n.remedy);
    f.finish();
    return n;
}

}  // namespace

result<node_description> parse_node(std::string_view text, const std::string& file) {
    auto document = read_json(text, file);
    if (!document) return document.failure();
    faults out(file);
    node_description n;
    fields top(*document, "the file", out);
    if (!out.any()) read_header(top, "Node", out);
    if (!out.any()) {
        top.read("host", n.host);
        if (const value* hardware = top.need("hardware")) n.hardware = to_class(*hardware, out);
        if (const value* by = top.find("made_by")) n.hardware.made_by = to_provenance(*by, out);
        if (const value* notes = top.find("notes"))
            for (const auto& note : as_items(*notes, "notes", out)) n.notes.push_back(to_note(note, out));
        top.finish();
    }
    if (out.any()) return out.first();
    return n;
}

std::string write_node(const node_description& n) {
    value top = new_map();
    top.add("apiVersion", of_text(api_version));
    top.add("kind", of_text("Node"));
    if (!n.host.empty()) top.add("host", of_text(n.host));
    if (n.hardware.made_by != provenance{}) top.add("made_by", from_provenance(n.hardware.made_by));
    top.add("hardware", from_class(n.hardware, false));
    if (!n.notes.empty()) top.add("notes", from_notes(n.notes));
    return to_json(top);
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include "cli/load.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topo/file.hpp"

namespace cli {
namespace {

constexpr const char* what_to_give = "give an Atoll cluster, fabric or node file, or text that atoll import reads";

// The first word after `key` and a colon at the start of a line, quotes and blanks left out; "" if none.
std::string_view value_of(std::string_view text, std::string_view key) {
    for (std::size_t at = 0; at < text.size();) {
        std::size_t end = text.find('\n', at);
        if (end == std::string_view::npos) end = text.size();
        std::string_view line = text.substr(at, end - at);
        at = end + 1;
        if (!line.starts_with(key)) continue;
        line.remove_prefix(key.size());
        const std::size_t colon = line.find_first_not_of(" \t");
        if (colon == std::string_view::npos || line[colon] != ':') continue;
        const std::size_t first = line.find_first_not_of(" \t\"'", colon + 1);
        if (first == std::string_view::npos) continue;
        return line.substr(first, line.find_first_of(" \t\r\"'#", first) - first);
    }
    return {};
}

topo::error not_one_node(const loaded& from) {
    return {topo::errc::bad_input, place_of(from.path),
            from.nodes.empty() ? std::string("holds a fabric and no devices")
                               : fmt::format("holds {} nodes but no cluster", from.nodes.size()),
            "make a cluster file of node files and fabric with atoll merge"};
}

}  // namespace

std::string loaded::kind_text() const { return cli::kind_text(kind, read_as); }

std::string kind_text(content kind, topo::format read_as) {
    switch (kind) {
        case content::cluster: return "cluster file";
        case content::fabric: return "fabric file";
        case content::node: return "node file";
        case content::imported: break;
    }
    return read_as == topo::format::automatic ? std::string() : std::string(topo::name_of(read_as));
}

std::string place_of(const std::string& path) { return path == "-" ? "standard input" : path; }

topo::result<std::string> read_input(const std::string& path) {
    topo::result<std::string> text = topo::read_file(path == "-" ? "/dev/stdin" : path);
    if (text || path != "-") return text;
    topo::error why = text.failure();
    why.where = place_of(path);
    return why;
}

content content_of(std::string_view text) {
    text = text.substr(0, 64u << 10);
    if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    if (first == std::string_view::npos) return content::imported;
    if (text[first] == '{') {
        const std::size_t version = text.find("\"apiVersion\"");
        const std::size_t value = version == std::string_view::npos ? version : text.find('"', version + 12);
        const bool ours = value != std::string_view::npos && text.substr(value + 1).starts_with("atoll/");
        return ours ? content::node : content::imported;
    }
    if (!value_of(text, "apiVersion").starts_with("atoll/")) return content::imported;
    return value_of(text, "kind") == "Fabric" ? content::fabric : content::cluster;
}

topo::result<topo::done> check_text(std::string_view text, const std::string& place) {
    if (content_of(text) != content::imported) return topo::done{};
    const std::string_view head = text.substr(0, 64u << 10);
    const std::size_t mark = head.starts_with("\xef\xbb\xbf") ? 3 : 0;
    if (text.find_first_not_of(" \t\r\n", mark) == std::string_view::npos)
        return topo::error{topo::errc::bad_input, place, "is empty", what_to_give};
    // Text has no NUL and hardly any other control character; terminal colours (ESC) are read by some importers.
    const auto control = [](char c) {
        const auto byte = static_cast<unsigned char>(c);
        return byte == 0x7f || (byte < 0x20 && std::string_view("\t\n\v\f\r\b\x1b").find(c) == std::string_view::npos);
    };
    const auto controls = static_cast<std::size_t>(std::count_if(head.begin(), head.end(), control));
    if (head.find('\0') != std::string_view::npos || controls * 50 > head.size())
        return topo::error{topo::errc::bad_input, place, "is binary", what_to_give};
    return topo::done{};
}

topo::result<loaded> load(const std::string& path) {
    topo::result<std::string> text = read_input(path);
    if (!text) return text.failure();
    return parse_any(*text, path);
}

topo::result<loaded> parse_any(std::string_view text, const std::string& path, const topo::import_options& options) {
    if (const auto readable = check_text(text, place_of(path)); !readable) return readable.failure();
    auto got = parse_input(text, path, topo::format::automatic, options);
    const bool known = content_of(text) != content::imported || topo::detect_format(text) != topo::format::automatic;
    if (got || known) return got;
    topo::error why = got.failure();
    why.remedy = what_to_give;  // the importer's speaks of --from, which only import has
    return why;
}

topo::result<loaded> parse_input(std::string_view text, const std::string& path, topo::format how,
                                 const topo::import_options& options) {
    const std::string place = place_of(path);
    loaded out;
    out.path = path;
    out.kind = how == topo::format::automatic ? content_of(text) : content::imported;
    switch (out.kind) {
        case content::cluster: {
            auto got = topo::parse_cluster(text, place);
            if (!got) return got.failure();
            out.cluster = std::move(*got);
            break;
        }
        case content::fabric: {
            auto got = topo::parse_fabric(text, place);
            if (!got) return got.failure();
            out.fabric = std::move(*got);
            break;
        }
        case content::node: {
            auto got = topo::parse_node(text, place);
            if (!got) return got.failure();
            out.notes = got->notes;
            out.nodes.push_back(std::move(*got));
            break;
        }
        case content::imported: {
            auto got = topo::import_text(text, place, how, options);
            if (!got) return got.failure();
            out.read_as = got->kind;
            out.nodes = std::move(got->nodes);
            out.fabric = std::move(got->fabric);
            out.notes = std::move(got->notes);
            break;
        }
    }
    return out;
}

topo::result<topo::cluster> load_as_cluster(loaded from) {
    if (from.cluster) {
        auto built = topo::cluster::build(std::move(*from.cluster));
        if (built) return built;
        topo::error why = built.failure();
        if (why.where.find(from.path) == std::string::npos)
            why.where = why.where.empty() ? place_of(from.path) : place_of(from.path) + ": " + why.where;
        return why;
    }
    if (from.nodes.size() != 1) return not_one_node(from);
    topo::cluster_description one;
    const std::string name = name_of(from.nodes.front());
    one.name = name;
    one.classes.push_back(std::move(from.nodes.front().hardware));
    if (one.classes.front().name.empty()) one.classes.front().name = name;
    one.nodes.push_back({one.classes.front().name, {name}});
    return topo::cluster::build(std::move(one));
}

void add_missing(topo::findings& to, const topo::findings& from) {
    for (const topo::finding& f : from)
        if (std::none_of(to.begin(), to.end(), [&](const topo::finding& known) {
                return known.level == f.level && known.where == f.where && known.what == f.what;
            }))
            to.push_back(f);
}

topo::findings notes_of(const loaded& from) {
    topo::findings out = from.notes;
    for (const topo::node_description& n : from.nodes) add_missing(out, n.notes);
    return out;
}

std::string name_of(const topo::node_description& n) {
    return !n.host.empty() ? n.host : !n.hardware.name.empty() ? n.hardware.name : "node";
}

}  // namespace cli

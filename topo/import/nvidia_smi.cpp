// SPDX-License-Identifier: Apache-2.0
// nvidia-smi topo -m. The tool prints tabs; people paste it with tabs turned to blanks, lost or
// doubled. A row is taken only when its cells fit the header one by one, so nothing is ever shifted.
#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <utility>

#include "topo/counted.hpp"
#include "topo/import/node_marks.hpp"
#include "topo/import/nvidia_smi_affinity.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

using text::at;
using text::bad;
using text::shown;

constexpr const char* paste_again = "paste the tool's own output again, with its tabs (nvidia-smi topo -m > topo.txt)";

bool numbered(std::string_view word, std::string_view prefix) noexcept {
    return word.size() > prefix.size() && word.starts_with(prefix) &&
           std::all_of(word.begin() + static_cast<std::ptrdiff_t>(prefix.size()), word.end(),
                       [](char c) { return c >= '0' && c <= '9'; });
}

// Device names of a header: GPU0, NIC0, mlx5_0, ibp3s0, bnxt_re1 …
bool device_like(std::string_view word) noexcept {
    if (numbered(word, "GPU") || numbered(word, "NIC")) return true;
    return !word.empty() && word.front() >= 'a' && word.front() <= 'z' &&
           std::any_of(word.begin(), word.end(), [](char c) { return c >= '0' && c <= '9'; });
}

bool is_link(std::string_view word) { return word != "?" && link_named(word).has_value(); }

// How many links a cell holds that lost the tabs between them ("NODENODE": 2); 0 when it is none.
std::size_t glued_links(std::string_view word) {
    constexpr std::array<std::string_view, 8> names = {"NODE", "SYS", "PHB", "PXB", "PIX", "SOC", "C2C", "X"};
    std::size_t found = 0;
    while (!word.empty()) {
        std::size_t length = 0;
        for (const auto name : names)
            if (word.starts_with(name)) length = name.size();
        if (length == 0 && word.starts_with("NV")) {
            length = 2;
            while (length < word.size() && word[length] >= '0' && word[length] <= '9') ++length;
            if (length == 2) return 0;
        }
        if (length == 0) return 0;
        word.remove_prefix(length);
        ++found;
    }
    return found;
}

// The names run together in one header word ("NIC8NIC9"): 2; 1 for a plain name.
std::size_t glued_names(std::string_view word) noexcept {
    std::size_t found = 0;
    for (std::size_t i = 0; i + 3 < word.size(); ++i) {
        const std::string_view three = word.substr(i, 3);
        const bool digit = word[i + 3] >= '0' && word[i + 3] <= '9';
        if (digit && (three == "GPU" || three == "NIC")) ++found;
    }
    return std::max<std::size_t>(found, 1);
}

struct table {
    std::size_t header_line = 0;
    std::vector<std::string> devices;  // column order
    std::vector<bool> is_gpu;
    affinity_columns tail;
    std::string glued;              // the header word that is two names, if any
    std::size_t columns_found = 0;  // words in the header, glued ones counted once
    std::map<std::string, std::size_t, std::less<>> index;
    std::vector<std::vector<link>> rows;  // by device index; empty: no such row
    std::vector<std::size_t> row_line;
    std::vector<affinity> near;
    std::map<std::string, std::string, std::less<>> legend;
};

bool header_like(std::string_view body) {
    const auto words = text::words(body);
    if (words.empty() || !numbered(words[0], "GPU")) return false;
    if (words.size() == 1) return false;
    return device_like(words[1]) || words[1] == "CPU" || words[1] == "NUMA" || words[1] == "GPU";
}

result<done> read_header(std::string_view body, const std::string& where, table& t) {
    t.tail = find_affinity_columns(body);
    for (const auto word : text::words(body.substr(0, t.tail.start))) {
        const std::size_t names = glued_names(word);
        ++t.columns_found;
        if (names > 1 && t.glued.empty()) t.glued = std::string(word);
        if (names == 1 && !device_like(word))
            return bad(where, "'" + shown(word) + "' in the header is no device name", paste_again);
        for (std::size_t i = 0; i < names; ++i) {
            t.devices.push_back(clean_name(word));
            t.is_gpu.push_back(word.starts_with("GPU"));
        }
        if (t.devices.size() >= max_devices_read)
            return error{errc::limit, where, "the header has " + std::to_string(max_devices_read) + " columns or more",
                         "import one host at a time"};
    }
    if (!t.glued.empty()) return done{};  // the rows decide what is said
    for (std::size_t i = 0; i < t.devices.size(); ++i)
        if (!t.index.emplace(t.devices[i], i).second)
            return bad(where, "column " + t.devices[i] + " stands twice in the header", paste_again);
    return done{};
}

// The link cells of a row, without its name. Empty cells between tabs stay, so that they are seen.
std::vector<std::string_view> cells_of(std::string_view body, std::size_t expected) {
    if (body.find('\t') == std::string_view::npos) return text::words(body);
    auto cells = text::split(body, '\t');
    for (auto& c : cells) c = text::trim(c);
    const std::size_t n = std::min(cells.size(), expected);
    for (std::size_t i = 0; i < n; ++i)
        if (cells[i].find(' ') != std::string_view::npos) return text::words(body);  // blanks and tabs mixed
    return cells;
}

error wrong_count(const table& t, const std::string& where, std::string_view name, std::size_t found,
                  std::string_view culprit) {
    std::string what = "row " + shown(name) + " has " + std::to_string(found) + " link cells, " +
                       std::to_string(t.devices.size()) + " expected";
    if (!culprit.empty()) what += "; '" + shown(culprit) + "' is several cells run together";
    if (!t.glued.empty())
        what += "; in the header (line " + std::to_string(t.header_line) + ") '" + shown(t.glued) +
                "' is several names run together: " + std::to_string(t.devices.size()) + " names in " +
                counted(t.columns_found, "column");
    return bad(where, what, paste_again);
}

result<done> read_row(std::string_view body, const std::string& where, table& t, std::size_t number, findings& notes) {
    const std::string_view trimmed = text::trim(body);
    const std::size_t name_end = std::min(trimmed.find_first_of(" \t"), trimmed.size());
    const std::string_view name = trimmed.substr(0, name_end);
    std::string_view rest = body.substr(static_cast<std::size_t>(name.data() - body.data()) + name.size());
    if (!rest.empty() && rest.front() == '\t') rest.remove_prefix(1);
    const std::size_t expected = t.devices.size();
    const auto cells = cells_of(rest, expected);
    std::size_t found = 0;
    std::string_view glued;
    while (found < cells.size()) {
        if (!is_link(cells[found])) {
            if (glued_links(cells[found]) < 2) break;
            if (glued.empty()) glued = cells[found];
        }
        ++found;
    }
    if (!glued.empty()) return wrong_count(t, where, name, found, glued);
    if (found < expected && found < cells.size() && !cells[found].empty() && !affinity_like(cells[found]))
        return bad(where,
                   "cell " + std::to_string(found + 1) + " of row " + shown(name) + " is '" + shown(cells[found]) +
                       "', no link class",
                   "known are X, NV#, C2C, PIX, PXB, PHB, NODE, SYS and SOC");
    if (found != expected) return wrong_count(t, where, name, found, {});
    if (!t.glued.empty()) return done{};
    const auto known = t.index.find(name);
    if (known == t.index.end()) return bad(where, "row " + shown(name) + " has no column of that name", paste_again);
    const std::size_t row = known->second;
    if (!t.rows[row].empty()) return bad(where, "row " + t.devices[row] + " stands twice", paste_again);
    for (std::size_t k = 0; k < expected; ++k) {
        const link l = *link_named(cells[k]);
        if ((l.kind == link_class::self) != (k == row))
            return bad(where,
                       "row " + t.devices[row] + ", column " + t.devices[k] + " is '" + shown(cells[k]) +
                           "'; X stands " + "only where row and column are the same device, so the columns are shifted",
                       paste_again);
        t.rows[row].push_back(l);
    }
    t.row_line[row] = number;
    if (t.is_gpu[row]) t.near[row] = read_affinity(body, rest, cells, expected, t.tail, where, notes);
    return done{};
}

// "NIC0: mlx5_0" below "NIC Legend:".
void read_legend(std::string_view body, const std::string& where, table& t, findings& notes) {
    const std::size_t colon = body.find(':');
    if (colon == std::string_view::npos) return;
    const std::string_view key = text::trim(body.substr(0, colon));
    const std::string_view name = text::trim(body.substr(colon + 1));
    if (!numbered(key, "NIC") || name.empty()) return;
    if (!t.index.contains(key))
        return text::warn(notes, where, "the legend names " + shown(key) + ", which has no column",
                          "paste matrix and legend of one run");
    t.legend.emplace(key, clean_name(name));
}

result<table> read_table(const std::vector<text::line>& lines, const std::string& file, findings& notes) {
    table t;
    bool in_legend = false;
    for (const auto& l : lines) {
        const std::string where = at(file, l.number);
        if (t.header_line == 0) {
            if (!header_like(l.body)) continue;
            t.header_line = l.number;
            if (const auto ok = read_header(l.body, where, t); !ok) return ok.failure();
            t.rows.resize(t.devices.size());
            t.row_line.resize(t.devices.size(), 0);
            t.near.resize(t.devices.size());
            continue;
        }
        const auto words = text::words(l.body);
        if (words.empty()) continue;
        in_legend = in_legend || words[0] == "NIC" || words[0] == "Legend:";
        if (in_legend) {
            read_legend(l.body, where, t, notes);
            continue;
        }
        if (header_like(l.body)) {
            text::warn(notes, where, "a second matrix starts here and is left out", "import one host at a time");
            break;
        }
        const bool row = t.index.contains(words[0]) || numbered(words[0], "GPU") || numbered(words[0], "NIC") ||
                         (words.size() > 1 && device_like(words[0]) && is_link(words[1]));
        if (!row) continue;
        if (const auto ok = read_row(l.body, where, t, l.number, notes); !ok) return ok.failure();
    }
    if (t.header_line == 0)
        return bad(file, "there is no header line with GPU0, GPU1 …", "import the output of nvidia-smi topo -m");
    if (!t.glued.empty())
        return bad(at(file, t.header_line),
                   "header: '" + shown(t.glued) + "' is several names run together; " +
                       std::to_string(t.devices.size()) + " columns expected, " + std::to_string(t.columns_found) +
                       " found",
                   paste_again);
    for (std::size_t i = 0; i < t.devices.size(); ++i)
        if (t.is_gpu[i] && t.rows[i].empty())
            return bad(at(file, lines.back().number), "the row of " + t.devices[i] + " is missing: the text is cut",
                       paste_again);
    return t;
}

// Both readings of a pair are kept where both are stored (GPU ↔ GPU); a disagreement is said.
void compare_directions(const table& t, const std::string& file, findings& notes) {
    for (std::size_t a = 0; a < t.devices.size(); ++a)
        for (std::size_t b = a + 1; b < t.devices.size(); ++b) {
            if (t.rows[a].empty() || t.rows[b].empty() || t.rows[a][b] == t.rows[b][a]) continue;
            text::warn(notes, at(file, t.row_line[b]),
                       t.devices[a] + " → " + t.devices[b] + " is " + text_of(t.rows[a][b]) + ", but " + t.devices[b] +
                           " → " + t.devices[a] + " is " + text_of(t.rows[b][a]) + "; both are kept",
                       "run nvidia-smi topo -m again; if it stays, the link is degraded");
        }
}

node_class build(const table& t, const std::string& file, findings& notes) {
    node_class c;
    std::vector<std::size_t> gpus;
    std::vector<std::size_t> nics;
    for (std::size_t i = 0; i < t.devices.size(); ++i) (t.is_gpu[i] ? gpus : nics).push_back(i);
    std::map<std::string, std::size_t, std::less<>> taken;
    for (const std::size_t i : gpus) {
        gpu g;
        g.name = t.devices[i];
        g.cpus = t.near[i].cpus;
        ++taken[g.name];
        c.gpus.push_back(std::move(g));
    }
    for (const std::size_t i : nics) {
        nic n;
        const auto named = t.legend.find(t.devices[i]);
        n.name = named == t.legend.end() ? t.devices[i] : named->second;
        if (++taken[n.name] > 1) {
            text::warn(notes, at(file, t.header_line), "the legend gives " + n.name + " to two NICs",
                       "paste matrix and legend of one run");
            n.name = t.devices[i];
        }
        c.nics.push_back(std::move(n));
    }
    if (!nics.empty() && t.legend.empty() && numbered(t.devices[nics.front()], "NIC"))
        text::note(notes, file, "no NIC legend: the NICs keep the names of their columns");
    c.gpu_links = matrix<link>(gpus.size(), gpus.size());
    c.nic_links = matrix<link>(gpus.size(), nics.size());
    for (std::size_t a = 0; a < gpus.size(); ++a) {
        for (std::size_t b = 0; b < gpus.size(); ++b) c.gpu_links(a, b) = t.rows[gpus[a]][gpus[b]];
        for (std::size_t k = 0; k < nics.size(); ++k) c.nic_links(a, k) = t.rows[gpus[a]][nics[k]];
    }
    std::vector<affinity> near;
    for (const std::size_t i : gpus) near.push_back(t.near[i]);
    place_gpus(c, near, file, notes);
    return c;
}

}  // namespace

bool looks_like_nvidia_smi(std::string_view head) noexcept {
    try {
        const std::string clean = text::without_escapes(head);
        for (const auto& l : text::lines_of(clean)) {
            if (header_like(l.body)) return true;
            if (const auto words = text::words(l.body);
                words.size() > 1 && numbered(words[0], "GPU") && words[1] == "X")
                return true;
        }
    } catch (...) {  // out of memory: not for us to say
    }
    return false;
}

result<import_output> read_nvidia_smi(std::string_view text, const std::string& file, const import_options& options) {
    const std::string clean = text::without_escapes(text);  // the header is underlined on terminals
    const auto lines = text::lines_of(clean);
    import_output out;
    out.kind = format::nvidia_smi;
    const auto t = read_table(lines, file, out.notes);
    if (!t) return t.failure();
    compare_directions(*t, file, out.notes);
    node_class c = build(*t, file, out.notes);
    c.made_by.tool = "nvidia-smi topo -m";
    finish_node(out, std::move(c), file, options);
    return out;
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// The matrices nvbandwidth prints. The test's name tells whether the other direction was busy; the
// arrow of the title tells which way the bytes went.
#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "topo/counted.hpp"
#include "topo/import/matrix_text.hpp"
#include "topo/import/node_marks.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

using text::at;
using text::bad;
using text::shown;

bool has(std::string_view s, std::string_view part) noexcept { return s.find(part) != std::string_view::npos; }

// What one matrix is.
struct meaning {
    endpoint from = endpoint::gpu;
    endpoint to = endpoint::gpu;
    engine by = engine::copy_engine;
    bool loaded = false;
    bool transpose = false;
    int rank = 0;         // of matrices for one layer the highest is kept: writes are what NCCL does
    std::string why_not;  // not empty: left out, and why
};

struct read_matrices {
    std::vector<std::pair<meaning, printed_matrix>> kept;
    std::map<std::size_t, std::string> devices;  // "Device 0: …"
    std::string version;
    std::string driver;
};

bool title_like(std::string_view body) noexcept { return has(body, "(row)") && has(body, "(column)"); }

meaning host_meaning(std::string_view test, std::string_view title, meaning m) {
    // Titles of loaded tests show no direction; their names do.
    const bool into_host = has(test, "_to_host") || (test.empty() && has(title, "CPU(row) <- GPU"));
    if (test.empty() && m.loaded) m.why_not = "its direction is not printed";
    m.from = into_host ? endpoint::gpu : endpoint::host;
    m.to = into_host ? endpoint::host : endpoint::gpu;
    m.transpose = into_host;
    const bool all = has(test, "all_to_host") || has(test, "host_to_all");
    m.loaded = m.loaded || all;
    m.rank = all ? 0 : 1;
    return m;
}

meaning meaning_of(std::string_view test, std::string_view title) {
    meaning m;
    m.by = has(title, " SM ") || has(test, "_sm") ? engine::sm_copy : engine::copy_engine;
    m.loaded = has(title, "<->") || has(test, "bidirectional");
    if (has(test, "latency") || has(title, "atency")) {
        m.why_not = "a pointer chase is another engine's latency";
    } else if (has(test, "multinode")) {
        m.why_not = "its GPUs are of several hosts";
    } else if (has(test, "to_one") || has(test, "one_to_all") || has(test, "local_copy")) {
        m.why_not = "it is no matrix of pairs";
    } else if (!has(test, "device_to_device") && has(title, "CPU(row)")) {
        m = host_meaning(test, title, m);
    } else if (m.loaded) {
        // Title and name show no direction. Of the two streams the first runs from column to row.
        m.transpose = true;
        m.rank = has(test, "write") ? 1 : 0;
        if (has(title, "Total") || has(title, "Read2") || has(title, "Write2"))
            m.why_not = "the first stream's figure is kept";
    } else {
        m.transpose = has(title, "<-");
        m.rank = has(test, "write") ? 1 : 0;
    }
    return m;
}

// "Device 0: NVIDIA H100 80GB HBM3 (00000000:4f:00)"
void read_device(std::string_view body, read_matrices& out) {
    const std::size_t colon = body.find(':');
    const auto words = text::words(body.substr(0, colon));
    if (colon == std::string_view::npos || words.size() != 2) return;
    const auto id = text::whole_number(words[1]);
    if (id && *id >= 0 && static_cast<std::size_t>(*id) < max_devices_read)
        out.devices[static_cast<std::size_t>(*id)] = std::string(text::trim(body.substr(colon + 1)));
}

std::string after(std::string_view body, std::string_view key) {
    return clean_name(text::trim(body.substr(key.size())));
}

result<read_matrices> read_all(const std::vector<text::line>& lines, const std::string& file, findings& notes) {
    read_matrices out;
    std::string test;
    std::size_t cut_line = 0;
    for (std::size_t i = 0; i < lines.size();) {
        const std::string_view body = text::trim(lines[i].body);
        if (const std::size_t run = body.find("Running "); run != std::string_view::npos && body.ends_with('.')) {
            test = clean_name(body.substr(run + 8, body.size() - run - 9));
        } else if (body.starts_with("Device ") && !title_like(body)) {
            read_device(body, out);
        } else if (body.starts_with("nvbandwidth Version:")) {
            out.version = after(body, "nvbandwidth Version:");
        } else if (body.starts_with("Driver Version:")) {
            out.driver = after(body, "Driver Version:");
        } else if (title_like(body)) {
            meaning m = meaning_of(test, body);
            const std::string where = at(file, lines[i].number);
            const std::string_view unit = unit_of(body);
            if (m.why_not.empty() && unit != "GB/s")
                return bad(where, "the matrix is in '" + shown(unit) + "', GB/s expected",
                           "import the output of nvbandwidth as it is");
            const bool square = m.from == m.to && m.why_not.empty();
            auto matrix = read_matrix(lines, i, square ? std::string::npos : 0, file);
            if (!matrix) return matrix.failure();
            i = std::max(matrix->next, i + 1);
            const std::string name = test.empty() ? "the matrix" : test;
            if (matrix->cut) {
                cut_line = lines[i - 1].number;
                text::warn(notes, where, shown(name) + " is cut off and left out", "import the complete output");
            } else if (!m.why_not.empty()) {
                text::note(notes, where, shown(name) + " is left out: " + m.why_not);
            } else {
                out.kept.emplace_back(std::move(m), std::move(*matrix));
            }
            continue;
        }
        ++i;
    }
    if (out.kept.empty())
        return bad(cut_line == 0 ? file : at(file, cut_line), "there is no complete bandwidth matrix",
                   "import the complete output of nvbandwidth");
    return out;
}

// The GPU count most matrices have (ties: more).
std::size_t gpu_count(const read_matrices& all) {
    std::map<std::size_t, std::size_t> votes;
    for (const auto& [m, matrix] : all.kept) ++votes[matrix.values.columns()];
    return std::max_element(
               votes.begin(), votes.end(),
               [](const auto& a, const auto& b) { return std::pair(a.second, a.first) < std::pair(b.second, b.first); })
        ->first;
}

void name_gpus(node_class& c, std::size_t count, const read_matrices& all) {
    for (std::size_t i = 0; i < count; ++i) {
        gpu g;
        g.name = "GPU" + std::to_string(i);
        const auto device = all.devices.find(i);
        if (all.devices.size() == count && device != all.devices.end()) {
            std::string_view text = device->second;
            const std::size_t open = text.rfind('(');
            if (open != std::string_view::npos && text.ends_with(')'))
                if (const auto address = pci_address::parse(text.substr(open + 1, text.size() - open - 2))) {
                    g.pci = *address;
                    text = text::trim(text.substr(0, open));
                }
            g.model = clean_name(text);
        }
        c.gpus.push_back(std::move(g));
    }
}

void add_layers(node_class& c, read_matrices& all, const std::string& file, findings& notes) {
    // Best of each layer first; the others are said to be left out.
    std::stable_sort(all.kept.begin(), all.kept.end(),
                     [](const auto& a, const auto& b) { return a.first.rank > b.first.rank; });
    std::map<std::tuple<endpoint, endpoint, engine, bool>, std::string> taken;
    for (const auto& [m, matrix] : all.kept) {
        const std::string where = at(file, matrix.line);
        if (matrix.values.columns() != c.gpus.size()) {
            text::warn(notes, where,
                       "the matrix has " + counted(matrix.values.columns(), "GPU") + ", most have " +
                           std::to_string(c.gpus.size()) + "; it is left out",
                       "import one machine's output at a time");
            continue;
        }
        if (m.from != m.to && matrix.values.rows() != 1) {
            text::warn(notes, where,
                       "the matrix has " + std::to_string(matrix.values.rows()) +
                           " host rows and does not say which NUMA node each is; it is left out",
                       "measure with atoll calibrate");
            continue;
        }
        const auto [place, fresh] = taken.try_emplace({m.from, m.to, m.by, m.loaded}, where);
        if (!fresh) {
            text::note(notes, where, "left out: the matrix of " + shown(place->second) + " is kept for the same pairs");
            continue;
        }
        flag_outliers(matrix, file, m.from == m.to, notes);
        c.layers.push_back(layer_of(matrix, m.from, m.to, m.by, m.loaded, m.transpose, 1, file, notes));
    }
}

}  // namespace

bool looks_like_nvbandwidth(std::string_view head) noexcept {
    return has(head, "nvbandwidth Version:") ||
           (title_like(head) && (has(head, "memcpy CE ") || has(head, "memcpy SM ")));
}

result<import_output> read_nvbandwidth(std::string_view text, const std::string& file, const import_options& options) {
    const auto lines = text::lines_of(text);
    import_output out;
    out.kind = format::nvbandwidth;
    auto all = read_all(lines, file, out.notes);
    if (!all) return all.failure();
    node_class c;
    name_gpus(c, gpu_count(*all), *all);
    add_layers(c, *all, file, out.notes);
    if (c.layers.empty())
        return bad(file, "no matrix can be used",
                   "import the complete output of one machine: " + (out.notes.empty() ? "" : out.notes.back().what));
    c.made_by.tool = all->version.empty() ? "nvbandwidth" : "nvbandwidth " + all->version;
    c.made_by.driver = all->driver;
    finish_node(out, std::move(c), file, options);
    return out;
}

}  // namespace topo

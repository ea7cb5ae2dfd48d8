// SPDX-License-Identifier: Apache-2.0
// The matrices of CUDA's p2pBandwidthLatencyTest, and the host matrix of busGrind, which is printed
// in the same way. cell(row, column) is row → column: the test writes from the row's GPU.
#include <algorithm>
#include <map>
#include <utility>

#include "topo/counted.hpp"
#include "topo/import/matrix_text.hpp"
#include "topo/import/node_marks.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/text.hpp"
#include "topo/link_table.hpp"

namespace topo {
namespace {

using text::at;
using text::bad;

enum class quantity { connectivity, one_way, both_ways, latency, host };

struct title {
    quantity what = quantity::one_way;
    bool p2p = true;     // false: staged through the host
    bool reads = false;  // "(P2P Reads)"
};

struct entry {
    title kind;
    printed_matrix matrix;
};

struct read_file_output {
    std::vector<entry> matrices;
    std::map<std::size_t, gpu> devices;
};

bool has(std::string_view s, std::string_view part) noexcept { return s.find(part) != std::string_view::npos; }

std::optional<title> title_of(std::string_view body) noexcept {
    title t;
    t.p2p = !has(body, "P2P=Disabled");
    t.reads = has(body, "P2P Reads");
    if (body.starts_with("P2P Connectivity Matrix"))
        t.what = quantity::connectivity;
    else if (body.starts_with("Unidirectional P2P=") && has(body, "Bandwidth"))
        t.what = quantity::one_way;
    else if (body.starts_with("Bidirectional P2P=") && has(body, "Bandwidth"))
        t.what = quantity::both_ways;
    else if (body.starts_with("P2P=") && has(body, "Latency"))
        t.what = quantity::latency;
    else if (body.starts_with("Host/Device Bandwidth Matrix"))
        t.what = quantity::host;
    else
        return std::nullopt;
    return t;
}

// "Device: 0, NVIDIA H100 PCIe, pciBusID: c2, pciDeviceID: 0, pciDomainID:0" (all hexadecimal)
void read_device(std::string_view body, read_file_output& out) {
    const auto parts = text::split(body, ',');
    if (parts.size() < 2) return;
    const auto id = text::whole_number(text::trim(parts[0].substr(7)));
    if (!id || *id < 0 || static_cast<std::size_t>(*id) >= max_devices_read) return;
    gpu g;
    g.model = clean_name(text::trim(parts[1]));
    std::map<std::string_view, std::string_view> fields;
    for (std::size_t i = 2; i < parts.size(); ++i) {
        const std::size_t colon = parts[i].find(':');
        if (colon != std::string_view::npos)
            fields[text::trim(parts[i].substr(0, colon))] = text::trim(parts[i].substr(colon + 1));
    }
    if (fields.size() == 3) {
        const auto address =
            pci_address::parse(std::string(fields["pciDomainID"]) + ":" + std::string(fields["pciBusID"]) + ":" +
                               std::string(fields["pciDeviceID"]));
        if (address) g.pci = *address;
    }
    out.devices[static_cast<std::size_t>(*id)] = std::move(g);
}

result<read_file_output> read_all(const std::vector<text::line>& lines, const std::string& file, findings& notes) {
    read_file_output out;
    std::size_t cut_line = 0;
    for (std::size_t i = 0; i < lines.size();) {
        const std::string_view body = text::trim(lines[i].body);
        const auto kind = title_of(body);
        if (!kind) {
            if (body.starts_with("Device:")) read_device(body, out);
            ++i;
            continue;
        }
        const std::string where = at(file, lines[i].number);
        const std::string_view unit = unit_of(body);
        const std::string_view wanted = kind->what == quantity::latency ? "us" : "GB/s";
        if (kind->what != quantity::connectivity && unit != wanted)
            return bad(where, "the matrix is in '" + text::shown(unit) + "', " + std::string(wanted) + " expected",
                       "import the output of p2pBandwidthLatencyTest as it is");
        auto m = read_matrix(lines, i, kind->what == quantity::host ? 0 : std::string::npos, file);
        if (!m) return m.failure();
        i = std::max(m->next, i + 1);
        if (m->cut) {
            cut_line = lines[i - 1].number;
            text::warn(notes, where, "'" + text::shown(m->title) + "' is cut off and left out",
                       "import the complete output");
        } else {
            out.matrices.push_back({*kind, std::move(*m)});
        }
    }
    const bool any = std::any_of(out.matrices.begin(), out.matrices.end(),
                                 [](const entry& e) { return e.kind.what != quantity::connectivity; });
    if (!any)
        return bad(cut_line == 0 ? file : at(file, cut_line), "there is no complete bandwidth or latency matrix",
                   "import the complete output of p2pBandwidthLatencyTest");
    return out;
}

const printed_matrix* first(const read_file_output& all, quantity what, bool p2p, bool reads = false) {
    for (const auto& e : all.matrices)
        if (e.kind.what == what && e.kind.p2p == p2p && e.kind.reads == reads) return &e.matrix;
    return nullptr;
}

// Writes, else reads (which go from column to row).
std::pair<const printed_matrix*, bool> preferred(const read_file_output& all, quantity what, bool p2p) {
    if (const auto* writes = first(all, what, p2p)) return {writes, false};
    return {first(all, what, p2p, true), true};
}

void set_latency(cost_layer& layer, const printed_matrix& latency) {
    for (std::size_t a = 0; a < layer.cells.rows(); ++a)
        for (std::size_t b = 0; b < layer.cells.columns(); ++b)
            if (a != b && latency.values(a, b)) {
                layer.cells(a, b).alpha_us = *latency.values(a, b);
                layer.cells(a, b).alpha_from = source::imported;
            }
}

// One layer of GPU pairs: bandwidth where printed, else estimated as an unknown link; latency likewise.
void add_pairs(node_class& c, const read_file_output& all, bool p2p, const std::string& file, findings& notes) {
    const engine by = p2p ? engine::copy_engine : engine::host;
    const std::size_t n = c.gpus.size();
    const printed_matrix* latency = first(all, quantity::latency, p2p);
    const auto [one_way, reads] = preferred(all, quantity::one_way, p2p);
    if (one_way != nullptr) {
        flag_outliers(*one_way, file, true, notes);
        c.layers.push_back(layer_of(*one_way, endpoint::gpu, endpoint::gpu, by, false, reads, 1, file, notes));
    } else if (latency != nullptr) {
        text::note(notes, at(file, latency->line), "there is no bandwidth to these latencies: it is estimated");
        cost_layer layer{endpoint::gpu, endpoint::gpu, by, false, matrix<cost>(n, n)};
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b)
                if (a != b)
                    layer.cells(a, b) = estimated_gpu_cost({link_class::unknown, 0}, generation_of(c.gpus[a].model));
        c.layers.push_back(std::move(layer));
    }
    if (latency != nullptr) set_latency(c.layers.back(), *latency);
    const auto [both, both_reads] = preferred(all, quantity::both_ways, p2p);
    if (both == nullptr) return;
    if (one_way == nullptr && latency == nullptr) {
        text::note(notes, at(file, both->line),
                   "there is no one-way matrix: one direction of the two-way figures stands in, as an estimate");
        findings said_below;
        cost_layer layer = layer_of(*both, endpoint::gpu, endpoint::gpu, by, false, both_reads, 0.5, file, said_below);
        for (auto& cell : layer.cells.cells())
            if (cell.present()) cell.from = source::estimated;
        c.layers.push_back(std::move(layer));
    }
    flag_outliers(*both, file, true, notes);
    c.layers.push_back(layer_of(*both, endpoint::gpu, endpoint::gpu, by, true, both_reads, 0.5, file, notes));
    text::note(notes, at(file, both->line), "the test prints the sum of both directions: each has half of it");
}

// busGrind's rows D2H and H2D. Its BiDir row is a sum that does not say which direction got what.
void add_host(node_class& c, const printed_matrix& m, const std::string& file, findings& notes) {
    flag_outliers(m, file, false, notes);
    for (std::size_t r = 0; r < m.row_names.size(); ++r) {
        const bool out = m.row_names[r] == "D2H";
        if (!out && m.row_names[r] != "H2D") {
            text::note(notes, at(file, m.line),
                       "row " + text::shown(m.row_names[r]) + " is left out: it is no one direction");
            continue;
        }
        printed_matrix row;
        row.line = m.line;
        row.values = matrix<std::optional<double>>(1, m.values.columns());
        for (std::size_t k = 0; k < m.values.columns(); ++k) row.values(0, k) = m.values(r, k);
        const endpoint from = out ? endpoint::gpu : endpoint::host;
        const endpoint to = out ? endpoint::host : endpoint::gpu;
        if (c.layer(from, to, engine::copy_engine) == nullptr)
            c.layers.push_back(layer_of(row, from, to, engine::copy_engine, false, out, 1, file, notes));
    }
}

void note_unconnected(const printed_matrix& connectivity, const std::string& file, findings& notes) {
    std::size_t pairs = 0;
    for (std::size_t a = 0; a < connectivity.values.rows(); ++a)
        for (std::size_t b = 0; b < connectivity.values.columns(); ++b)
            if (a != b && !connectivity.values(a, b)) ++pairs;
    if (pairs > 0)
        text::warn(notes, at(file, connectivity.line),
                   counted(pairs, "pair has no peer access: the test stages it",
                           "pairs have no peer access: the test stages them") +
                       " through the host, and " + (pairs == 1 ? "its" : "their") + " figures are of that",
                   "check ACS, IOMMU and the driver if these GPUs should reach one another");
}

}  // namespace

bool looks_like_p2p(std::string_view head) noexcept {
    return has(head, "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]") || has(head, "P2P=Enabled Bandwidth") ||
           has(head, "P2P=Disabled Bandwidth") || has(head, "P2P=Enabled Latency") ||
           has(head, "P2P=Disabled Latency") || has(head, "Host/Device Bandwidth Matrix (");
}

result<import_output> read_p2p(std::string_view text, const std::string& file, const import_options& options) {
    const auto lines = text::lines_of(text);
    import_output out;
    out.kind = format::p2p;
    auto all = read_all(lines, file, out.notes);
    if (!all) return all.failure();
    node_class c;
    const std::size_t count = all->matrices.front().matrix.values.columns();
    for (const auto& e : all->matrices)
        if (e.matrix.values.columns() != count)
            return bad(at(file, e.matrix.line),
                       "the matrix has " + counted(e.matrix.values.columns(), "GPU") + ", the first one has " +
                           std::to_string(count),
                       "import one machine's output at a time");
    for (std::size_t i = 0; i < count; ++i) {
        gpu g;
        if (all->devices.size() == count && all->devices.contains(i)) g = all->devices[i];
        g.name = "GPU" + std::to_string(i);
        c.gpus.push_back(std::move(g));
    }
    if (const auto* m = first(*all, quantity::connectivity, true)) note_unconnected(*m, file, out.notes);
    add_pairs(c, *all, true, file, out.notes);
    add_pairs(c, *all, false, file, out.notes);
    if (const auto* m = first(*all, quantity::host, true)) add_host(c, *m, file, out.notes);
    if (c.layers.empty())
        return bad(file, "no matrix can be used", "import the complete output of p2pBandwidthLatencyTest");
    c.made_by.tool = "p2pBandwidthLatencyTest";
    finish_node(out, std::move(c), file, options);
    return out;
}

}  // namespace topo

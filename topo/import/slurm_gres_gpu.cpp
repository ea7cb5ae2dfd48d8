// SPDX-License-Identifier: Apache-2.0
#include "topo/import/slurm_gres_gpu.hpp"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "topo/counted.hpp"
#include "topo/export/slurm_cores.hpp"
#include "topo/import/node_marks.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

result<std::vector<int>> read_links(const slurm::field& f, const std::string& file) {
    std::vector<int> links;
    for (const auto item : text::split(f.value, ',')) {
        const std::string place = slurm::at(file, f, static_cast<std::size_t>(item.data() - f.value.data()));
        if (item.empty())
            return text::bad(place, "Links has an empty number (a comma too many)",
                             "write one number a GPU, as -1,4,4,4");
        const auto n = text::whole_number(item);
        if (!n || *n < -1 || *n > 999)
            return text::bad(place, "'" + text::shown(item) + "' is not a number of links",
                             "write -1 for the GPU itself and the number of NVLinks for every other");
        links.push_back(static_cast<int>(*n));
        if (links.size() > max_devices_read)
            return error{errc::limit, place, "Links has more numbers than a node has GPUs", "write one number a GPU"};
    }
    return links;
}

result<done> read_files(const slurm::record& r, const std::string& file, host_reader& expander, gres_gpu_line& line,
                        findings& notes) {
    long count = 0;
    if (const auto* f = r.find("count")) {
        const auto n = text::whole_number(f->value);
        if (!n || *n < 1 || *n > static_cast<long>(max_devices_read))
            return text::bad(slurm::at(file, *f), "Count=" + text::shown(f->value) + " is not a number of GPUs",
                             "write the number of GPUs");
        count = *n;
    }
    if (const auto* f = r.find("file")) {
        auto names = expander.expand(f->value, text::at(file, f->line), f->column);
        if (!names) return names.failure();
        line.files = std::move(*names);
        if (count > 0 && static_cast<std::size_t>(count) != line.files.size())
            text::warn(notes, slurm::at(file, *f),
                       "Count=" + std::to_string(count) + " but File= names " + counted(line.files.size(), "device") +
                           "; the files count",
                       "take Count= out");
    } else if (const auto* many = r.find("multiplefiles")) {
        line.files.push_back(many->value);
        text::note(notes, slurm::at(file, *many), "MultipleFiles= was read as one GPU (a MIG instance, as a rule)");
    } else {
        line.files.assign(static_cast<std::size_t>(std::max(count, 1L)), "");
    }
    return done{};
}

bool amd(const gres_gpu_line& line) {
    const bool files = !line.files.empty() && line.files.front().find("/dri/") != std::string::npos;
    return files || slurm::lower(line.type).starts_with("mi");
}

// The number at the end of a device file: nvidia3 → 3, renderD130 → 2 (render nodes begin at 128).
std::optional<long> device_number(std::string_view file) {
    const std::size_t end = file.find_last_not_of("0123456789");
    const auto n = text::whole_number(file.substr(end == std::string_view::npos ? 0 : end + 1));
    if (!n || *n > 9999) return std::nullopt;
    if (file.find("renderD") == std::string_view::npos) return n;
    return *n >= 128 ? std::optional<long>(*n - 128) : std::nullopt;
}

struct gpu_row {
    const gres_gpu_line* line;
    std::string file;
};

result<std::vector<gpu_row>> rows_of(const std::vector<const gres_gpu_line*>& lines, const std::string& file) {
    std::vector<gpu_row> rows;
    std::unordered_map<std::string, std::size_t> seen;
    for (const auto* line : lines)
        for (const auto& device : line->files) {
            if (!device.empty()) {
                const auto [old, fresh] = seen.emplace(device, line->line);
                if (!fresh)
                    return text::bad(text::at(file, line->line),
                                     text::shown(device) + " was already named at " + text::at(file, old->second),
                                     "name each device once; if the file joins several gres.conf, import each alone");
            }
            rows.push_back({line, device});
            if (rows.size() > max_gpus_per_node)
                return error{errc::limit, text::at(file, line->line),
                             "one node has more than " + std::to_string(max_gpus_per_node) + " GPUs",
                             "check the ranges of File= and Count="};
        }
    return rows;
}

void name_gpus(const std::vector<gpu_row>& rows, node_class& hardware) {
    std::set<long> numbers;
    for (const auto& row : rows)
        if (const auto n = device_number(row.file)) numbers.insert(*n);
    const bool by_file = numbers.size() == rows.size();
    for (std::size_t i = 0; i < rows.size(); ++i) {
        gpu g;
        g.name = "GPU" + std::to_string(by_file ? *device_number(rows[i].file) : static_cast<long>(i));
        g.model = rows[i].line->type;
        g.cpus = rows[i].line->cores;
        hardware.gpus.push_back(std::move(g));
    }
}

// Rows in the order that their own -1 gives, when every line has one.
result<done> order_rows(std::vector<gpu_row>& rows, const std::string& file, findings& notes) {
    std::set<std::ptrdiff_t> own;
    bool all = true;
    for (const auto& row : rows) {
        const auto& links = row.line->links;
        if (links.empty()) {
            all = false;
            continue;
        }
        const std::string place = slurm::at(file, *row.line->links_field);
        if (links.size() != rows.size())
            return text::bad(
                place, "Links has " + counted(links.size(), "number") + ", the node has " + counted(rows.size(), "GPU"),
                "write one number a GPU of the node, -1 for itself");
        if (std::count(links.begin(), links.end(), -1) != 1)
            return text::bad(place, "Links needs exactly one -1, for the GPU itself",
                             "write one number a GPU, as -1,4,4,4");
        if (!own.insert(std::find(links.begin(), links.end(), -1) - links.begin()).second)
            return text::bad(place, "two GPUs have their -1 at the same position of Links",
                             "give each device a line of its own, with -1 at its own position");
    }
    if (own.empty() || !all) return done{};
    const auto position = [](const gpu_row& r) {
        return std::find(r.line->links.begin(), r.line->links.end(), -1) - r.line->links.begin();
    };
    const auto before = [&](const gpu_row& a, const gpu_row& b) { return position(a) < position(b); };
    if (!std::is_sorted(rows.begin(), rows.end(), before)) {
        std::sort(rows.begin(), rows.end(), before);
        text::note(notes, text::at(file, rows.front().line->line),
                   "GPUs were put in the order of the -1 in their Links");
    }
    return done{};
}

void read_matrix(const std::vector<gpu_row>& rows, const std::string& file, node_class& hardware, findings& notes) {
    const std::size_t n = rows.size();
    hardware.gpu_links = matrix<link>(n, n);
    std::size_t without = 0;
    bool any = false;
    for (std::size_t a = 0; a < n; ++a) {
        const auto& links = rows[a].line->links;
        if (links.empty()) ++without;
        const link_class kind = amd(*rows[a].line) ? link_class::xgmi : link_class::nvlink;
        for (std::size_t b = 0; b < n; ++b) {
            if (a == b) {
                hardware.gpu_links(a, b) = {link_class::self, 0};
            } else if (!links.empty()) {
                const int count = links[b];
                any = any || count > 0;
                hardware.gpu_links(a, b) =
                    count > 0 ? link{kind, static_cast<std::uint16_t>(count)} : link{link_class::sys, 0};
            }
        }
    }
    const std::string place = text::at(file, rows.front().line->line);
    if (without > 0)
        text::note(notes, place,
                   std::to_string(without) + " of " + counted(n, "GPU") + (without == 1 ? " has" : " have") +
                       " no Links=: how they are joined is unknown");
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = a + 1; b < n; ++b)
            if (!rows[a].line->links.empty() && !rows[b].line->links.empty() &&
                hardware.gpu_links(a, b) != hardware.gpu_links(b, a)) {
                text::warn(notes, slurm::at(file, *rows[b].line->links_field),
                           "Links of " + hardware.gpus[b].name + " and " + hardware.gpus[a].name +
                               " disagree: " + text_of(hardware.gpu_links(b, a)) + " one way, " +
                               text_of(hardware.gpu_links(a, b)) + " the other",
                           "compare with nvidia-smi topo -m");
                return;
            }
    if (n > 1 && without == 0 && !any) {
        if (n >= 4)
            text::warn(notes, place, "Links is 0 for all " + std::to_string(n) + " GPUs: no pair is joined by NVLink",
                       "if the machine has NVLink, import nvidia-smi topo -m and export the Links from it");
        else
            text::note(notes, place, "Links is 0 for every pair: taken as SYS");
    }
}

void explain_cores(const std::vector<gpu_row>& rows, const std::string& file, node_class& hardware, findings& notes) {
    std::optional<std::uint32_t> common;
    bool all = true;
    bool any = false;
    bool cpus_key = false;
    for (const auto& row : rows) {
        if (row.line->cores.empty()) continue;
        any = true;
        cpus_key = cpus_key || row.line->cpus_key;
        const auto distance = sibling_distance(row.line->cores);
        all = all && distance && (!common || common == distance) && row.line->cores.last() < 2 * *distance;
        if (distance) common = distance;
    }
    if (!any) return;
    const std::string place = text::at(file, rows.front().line->line);
    if (!all || !common) {
        text::note(notes, place,
                   std::string(cpus_key ? "CPUs= is an older name of Cores=: " : "") +
                       "the CPU sets are core numbers as Slurm counts them, without sibling threads");
        return;
    }
    hardware.cores = static_cast<int>(*common);
    hardware.threads_per_core = 2;
    std::string why;
    const auto numbering = core_numbering::of(hardware, why);
    const gres_gpu_line* last = nullptr;
    for (const auto& row : rows) {
        if (row.line == last || row.line->cores.empty() || !numbering) continue;
        last = row.line;
        text::warn(notes, text::at(file, row.line->line),
                   std::string(row.line->cpus_key ? "CPUs=" : "Cores=") + row.line->cores.text() +
                       " names both hardware threads of its cores (they lie " + std::to_string(*common) +
                       " apart); slurmctld counts cores and refuses the node: invalid GRES core specification",
                   "write Cores=" + numbering->cores(row.line->cores).text());
    }
}

}  // namespace

result<gres_gpu_line> read_gres_gpu(const slurm::record& r, const std::string& file, host_reader& files,
                                    findings& notes) {
    gres_gpu_line line;
    line.line = r.line;
    if (auto read = read_files(r, file, files, line, notes); !read) return read.failure();
    for (const auto& f : r.fields) {
        if (f.key == "cores" || f.key == "cpus") {
            auto cores = id_set::parse(f.value);
            if (!cores)
                return text::bad(slurm::at(file, f), cores.failure().what, "write core numbers as Cores=0-15,32-47");
            if (!line.cores.empty())
                return text::bad(slurm::at(file, f), "Cores= and CPUs= stand in one line", "keep Cores=");
            line.cores = std::move(*cores);
            line.cpus_key = f.key == "cpus";
        } else if (f.key == "links") {
            auto links = read_links(f, file);
            if (!links) return links.failure();
            line.links = std::move(*links);
            line.links_field = f;
        } else if (f.key == "type") {
            line.type = clean_name(f.value);
        } else if (f.key != "name" && f.key != "nodename" && f.key != "file" && f.key != "multiplefiles" &&
                   f.key != "count" && f.key != "flags" && f.key != "autodetect") {
            text::note(notes, text::at(file, f.line), "key '" + text::shown(f.key) + "' was not read");
        }
    }
    return line;
}

result<done> make_gres_node(const std::vector<const gres_gpu_line*>& lines, const std::string& file, import_output& out,
                            const import_options& options) {
    auto rows = rows_of(lines, file);
    if (!rows) return rows.failure();
    if (auto ordered = order_rows(*rows, file, out.notes); !ordered) return ordered;
    node_class hardware;
    hardware.made_by.tool = "gres.conf";
    name_gpus(*rows, hardware);
    read_matrix(*rows, file, hardware, out.notes);
    explain_cores(*rows, file, hardware, out.notes);
    finish_node(out, std::move(hardware), file, options);
    return done{};
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <optional>
#include <set>
#include <string_view>

#include "topo/export/export.hpp"
#include "topo/export/slurm_cores.hpp"
#include "topo/hostlist.hpp"

namespace topo {
namespace {

bool amd(const node_class& hardware) {
    for (const auto& g : hardware.gpus)
        if (g.model.find("AMD") != std::string::npos || g.model.find("Instinct") != std::string::npos) return true;
    const auto cells = hardware.gpu_links.cells();
    return std::any_of(cells.begin(), cells.end(), [](link l) { return l.kind == link_class::xgmi; });
}

// The number of each GPU: from names "GPU<n>" when all are so and differ (GPU1 of a node may be out of
// service), else its position.
std::vector<unsigned> device_numbers(const node_class& hardware) {
    std::vector<unsigned> numbers;
    std::set<unsigned> seen;
    for (const auto& g : hardware.gpus) {
        const std::string_view digits = std::string_view(g.name).substr(g.name.starts_with("GPU") ? 3 : g.name.size());
        if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string_view::npos)
            break;
        numbers.push_back(static_cast<unsigned>(std::stoul(std::string(digits))));
        if (!seen.insert(numbers.back()).second) break;
    }
    if (seen.size() == hardware.gpus.size()) return numbers;
    numbers.resize(hardware.gpus.size());
    for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<unsigned>(i);
    return numbers;
}

std::string links_of(const node_class& hardware, std::size_t row) {
    std::string text;
    for (std::size_t column = 0; column < hardware.gpus.size(); ++column) {
        const link l = hardware.gpu_links(row, column);
        const bool counted = l.kind == link_class::nvlink || l.kind == link_class::xgmi;
        text += fmt::format("{}{}", column > 0 ? "," : "", row == column ? -1 : counted ? int{l.count} : 0);
    }
    return text;
}

// An unknown link is not "0 NVLinks".
bool links_known(const node_class& hardware) {
    const auto cells = hardware.gpu_links.cells();
    return !cells.empty() &&
           std::none_of(cells.begin(), cells.end(), [](link l) { return l.kind == link_class::unknown; });
}

// Class and node names become part of the file's text.
bool plain(const std::string& name) {
    return !name.empty() && std::none_of(name.begin(), name.end(), [](char c) {
        return static_cast<unsigned char>(c) <= ' ' || c == 0x7f ||
               std::string_view(",[]#=\"\\").find(c) != std::string_view::npos;
    });
}

void note_class(const node_class& hardware, const std::optional<core_numbering>& numbering, const std::string& why,
                findings& notes) {
    std::string without;
    for (const auto& g : hardware.gpus)
        if (g.cpus.empty()) without += (without.empty() ? "" : ", ") + g.name;
    const bool any_cpus =
        std::any_of(hardware.gpus.begin(), hardware.gpus.end(), [](const gpu& g) { return !g.cpus.empty(); });
    if (!without.empty())
        notes.push_back({severity::warning, hardware.name,
                         "Cores= is left out for " + without + ": CPU affinity unknown",
                         "import nvidia-smi topo -m of such a node, taken outside any job"});
    if (any_cpus && !numbering)
        notes.push_back({severity::warning, hardware.name, "Cores= is left out: " + why,
                         "give cores and threads_per_core in the class, as lscpu prints them"});
    if (!links_known(hardware))
        notes.push_back({severity::warning, hardware.name, "Links= is left out: how its GPUs are joined is unknown",
                         "import nvidia-smi topo -m of such a node"});
    if (hardware.simulated())
        notes.push_back({severity::warning, hardware.name, "the class was simulated; no such node was seen",
                         "check every line before slurmctld reads it"});
}

}  // namespace

result<export_output> to_slurm_gres(const cluster& c) {
    try {
        export_output out;
        bool gpus = false;
        for (const auto& hardware : c.classes()) {
            if (hardware.gpus.empty()) continue;
            std::vector<std::string> names;
            for (const auto& n : c.description().nodes)
                if (n.class_name == hardware.name) names.insert(names.end(), n.nodes.begin(), n.nodes.end());
            if (names.empty()) {
                out.notes.push_back({severity::info, hardware.name, "no node has this class; no line was written", ""});
                continue;
            }
            for (const auto& name : names)
                if (!plain(name))
                    return error{errc::bad_input, hardware.name, "node name '" + name + "' cannot stand in gres.conf",
                                 "use names without blanks, commas, brackets, quotes, '#' and '='"};
            gpus = true;
            std::string why;
            const auto numbering = core_numbering::of(hardware, why);
            note_class(hardware, numbering, why, out.notes);
            const auto numbers = device_numbers(hardware);
            const bool render = amd(hardware);
            const std::string hosts = compress_hostlist(names);
            if (plain(hardware.name)) out.text += "# " + hardware.name + "\n";
            for (std::size_t i = 0; i < hardware.gpus.size(); ++i) {
                out.text += fmt::format("NodeName={} Name=gpu File={}{}", hosts,
                                        render ? "/dev/dri/renderD" : "/dev/nvidia", numbers[i] + (render ? 128 : 0));
                const id_set& cpus = hardware.gpus[i].cpus;
                if (numbering && !cpus.empty()) out.text += " Cores=" + numbering->cores(cpus).text();
                if (links_known(hardware)) out.text += " Links=" + links_of(hardware, i);
                out.text += '\n';
            }
        }
        if (!gpus)
            return error{errc::bad_input, c.name(), "no node of the cluster has a GPU", "export a cluster with GPUs"};
        out.notes.push_back({severity::info, "", "the number of a GPU is taken to be that of its device file",
                             "compare with 'nvidia-smi -q' (Minor Number) where slurmd does not start"});
        return out;
    } catch (const std::bad_alloc&) {
        return error{errc::limit, c.name(), "too little memory to write gres.conf", "free some memory"};
    } catch (const std::exception& e) {
        return error{errc::bad_input, c.name(), std::string("gres.conf cannot be written: ") + e.what(), ""};
    }
}

}  // namespace topo

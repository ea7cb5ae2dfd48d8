// SPDX-License-Identifier: Apache-2.0
#include "topo/import/nvidia_smi_affinity.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "topo/counted.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

constexpr std::size_t none = std::string_view::npos;
constexpr std::size_t max_listed = 1u << 16;  // CPUs or NUMA nodes of one device; more is a typing error

struct tail_text {
    std::string_view cpu;
    std::string_view numa;
    std::string_view gpu_numa;
};

// Tabs kept: the tool prints one or two tabs before a column, so empty cells say little.
tail_text from_tabs(const std::vector<std::string_view>& cells, std::size_t links, const affinity_columns& titles) {
    tail_text out;
    std::size_t next = links;
    if (titles.cpu != none && next < cells.size()) out.cpu = cells[next++];
    std::vector<std::size_t> filled;
    for (std::size_t i = next; i < cells.size(); ++i)
        if (!cells[i].empty()) filled.push_back(i);
    if (filled.empty()) return out;
    if (titles.numa != none && titles.gpu_numa != none) {
        // One value alone belongs to the column it stands in: the first cell is NUMA Affinity.
        if (filled.size() > 1 || filled.front() == next) out.numa = cells[filled.front()];
        if (filled.size() > 1 || filled.front() != next) out.gpu_numa = cells[filled.back()];
    } else if (titles.numa != none) {
        out.numa = cells[filled.front()];
    } else if (titles.gpu_numa != none) {
        out.gpu_numa = cells[filled.front()];
    }
    return out;
}

// Blanks only: with a word a title they map one to one; otherwise the position decides.
tail_text from_words(std::string_view body, const std::vector<std::string_view>& cells, std::size_t links,
                     const affinity_columns& titles) {
    tail_text out;
    const std::array<std::size_t, 3> starts = {titles.cpu, titles.numa, titles.gpu_numa};
    const std::array<std::string_view*, 3> targets = {&out.cpu, &out.numa, &out.gpu_numa};
    std::vector<std::size_t> present;
    for (std::size_t i = 0; i < starts.size(); ++i)
        if (starts[i] != none) present.push_back(i);
    const std::size_t words = cells.size() > links ? cells.size() - links : 0;
    std::size_t column = 0;
    for (std::size_t w = 0; w < words && column < present.size(); ++w, ++column) {
        const std::string_view word = cells[links + w];
        const auto position = static_cast<std::size_t>(word.data() - body.data());
        // Fewer words than titles: skip a column when the word starts under the next title.
        while (words - w < present.size() - column && column + 1 < present.size() &&
               position >= starts[present[column + 1]])
            ++column;
        *targets[present[column]] = word;
    }
    return out;
}

id_set list_of(std::string_view value, const char* title, const std::string& where, findings& notes) {
    if (value.empty() || value == "N/A") return {};
    auto got = id_set::parse(value);
    if (got && got->size() <= max_listed) return *got;
    text::warn(notes, where, std::string(title) + " '" + text::shown(value) + "' is no list of numbers and is left out",
               "paste the tool's own output again");
    return {};
}

}  // namespace

affinity_columns find_affinity_columns(std::string_view header) noexcept {
    affinity_columns t;
    t.cpu = header.find("CPU Affinity");
    t.numa = header.find("NUMA Affinity");
    t.gpu_numa = header.find("GPU NUMA ID");
    t.start = std::min({t.cpu, t.numa, t.gpu_numa});
    return t;
}

bool affinity_like(std::string_view word) noexcept {
    return word == "N/A" || (!word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
               return (c >= '0' && c <= '9') || c == '-' || c == ',';
           }));
}

affinity read_affinity(std::string_view body, std::string_view rest, const std::vector<std::string_view>& cells,
                       std::size_t links, const affinity_columns& titles, const std::string& where, findings& notes) {
    const bool tabs = rest.find('\t') != none && cells.size() > links &&
                      std::none_of(cells.begin(), cells.end(), [](auto c) { return c.find(' ') != none; });
    const tail_text t = tabs ? from_tabs(cells, links, titles) : from_words(body, cells, links, titles);
    affinity out;
    out.cpus = list_of(t.cpu, "CPU Affinity", where, notes);
    out.numa = list_of(t.numa, "NUMA Affinity", where, notes);
    if (const auto id = text::whole_number(t.gpu_numa); id && *id >= 0 && *id < 1 << 20)
        out.gpu_numa = static_cast<int>(*id);
    return out;
}

void place_gpus(node_class& c, const std::vector<affinity>& near, const std::string& file, findings& notes) {
    std::set<std::uint32_t> gpu_memory;
    for (const auto& a : near)
        if (a.gpu_numa != unknown_numa) gpu_memory.insert(static_cast<std::uint32_t>(a.gpu_numa));
    std::map<int, id_set> nodes;
    for (const auto id : gpu_memory) nodes[static_cast<int>(id)];
    std::size_t ambiguous = 0;
    std::string cut;  // GPUs without CPUs beside others that have some
    const bool any_cpus = std::any_of(near.begin(), near.end(), [](const affinity& a) { return !a.cpus.empty(); });
    for (std::size_t g = 0; g < near.size(); ++g) {
        if (any_cpus && near[g].cpus.empty()) cut += (cut.empty() ? "" : ", ") + c.gpus[g].name;
        const auto ids = near[g].numa.ids();
        for (const auto id : ids) nodes[static_cast<int>(id)];
        const auto with_cpus =
            std::find_if(ids.begin(), ids.end(), [&](std::uint32_t id) { return !gpu_memory.contains(id); });
        if (with_cpus == ids.end()) continue;
        if (ids.size() > 1 && gpu_memory.empty()) {
            ++ambiguous;
            continue;
        }
        c.gpus[g].numa = static_cast<int>(*with_cpus);
        for (const auto& [first, last] : near[g].cpus.ranges()) nodes[c.gpus[g].numa].insert_range(first, last);
        if (ids.size() > 1)
            text::note(notes, file,
                       c.gpus[g].name + ": NUMA affinity " + near[g].numa.text() + " holds memory-only nodes; node " +
                           std::to_string(*with_cpus) + " is taken as the one with CPUs");
    }
    if (!cut.empty())
        text::note(
            notes, file,
            "no CPU affinity for " + cut + ": a job's CPU set cuts the list; the CPUs of these GPUs are unknown");
    if (ambiguous > 0)
        text::note(notes, file,
                   counted(ambiguous, "GPU is near several NUMA nodes alike: its",
                           "GPUs are near several NUMA nodes alike: their") +
                       " NUMA node stays unknown");
    for (auto& [id, cpus] : nodes) c.numa.push_back({id, std::move(cpus)});
}

}  // namespace topo

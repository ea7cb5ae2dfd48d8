// SPDX-License-Identifier: Apache-2.0
#include "topo/import/hwloc_links.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>
#include <vector>

#include "topo/import/node_marks.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

constexpr double link_mb_per_s = 25000;  // what hwloc counts for one NVLink

struct square {
    std::vector<std::uint64_t> objects;  // gp_index
    std::vector<std::uint64_t> values;   // MB/s, row by row
};

// All numbers of all elements of that name; "OSDev:802" gives 802. Empty when one is no number.
std::optional<std::vector<std::uint64_t>> numbers(pugi::xml_node distances, const char* name) {
    std::vector<std::uint64_t> out;
    for (const pugi::xml_node part : distances.children(name))
        for (std::string_view word : text::words(part.text().get())) {
            while (!word.empty() && (word.back() == '\n' || word.back() == '\r')) word.remove_suffix(1);
            while (!word.empty() && word.front() == '\n') word.remove_prefix(1);
            if (word.empty()) continue;
            if (const std::size_t colon = word.find(':'); colon != std::string_view::npos)
                word.remove_prefix(colon + 1);
            std::uint64_t value = 0;
            const auto [end, failed] = std::from_chars(word.data(), word.data() + word.size(), value);
            if (failed != std::errc{} || end != word.data() + word.size()) return std::nullopt;
            out.push_back(value);
            if (out.size() > max_devices_read * max_devices_read) return std::nullopt;
        }
    return out;
}

std::optional<square> read_square(pugi::xml_node distances) {
    auto objects = numbers(distances, "indexes");
    auto values = numbers(distances, "u64values");
    if (!objects || !values || objects->empty() || values->size() != objects->size() * objects->size())
        return std::nullopt;
    return square{std::move(*objects), std::move(*values)};
}

std::uint16_t count_of(double mb_per_s) {
    return static_cast<std::uint16_t>(std::clamp(std::round(mb_per_s / link_mb_per_s), 1.0, 999.0));
}

// Switches that reach one another, by the lowest row of each group; a GPU row is its own.
std::vector<std::size_t> switch_groups(const square& m, const std::vector<std::optional<std::size_t>>& gpu) {
    const std::size_t n = m.objects.size();
    std::vector<std::size_t> group(n);
    for (std::size_t i = 0; i < n; ++i) group[i] = i;
    for (std::size_t start = 0; start < n; ++start) {
        if (gpu[start] || group[start] != start) continue;
        std::vector<std::size_t> todo = {start};
        while (!todo.empty()) {
            const std::size_t a = todo.back();
            todo.pop_back();
            for (std::size_t b = start + 1; b < n; ++b)
                if (!gpu[b] && group[b] == b && m.values[a * n + b] > 0) {
                    group[b] = start;
                    todo.push_back(b);
                }
        }
    }
    return group;
}

// MB/s of each row into each group of switches.
std::vector<std::map<std::size_t, double>> into_switches(const square& m,
                                                         const std::vector<std::optional<std::size_t>>& gpu) {
    const std::size_t n = m.objects.size();
    const auto group = switch_groups(m, gpu);
    std::vector<std::map<std::size_t, double>> out(n);
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t s = 0; s < n; ++s)
            if (gpu[a] && !gpu[s] && m.values[a * n + s] > 0)
                out[a][group[s]] += static_cast<double>(m.values[a * n + s]);
    return out;
}

// Returns how many ordered pairs have NVSwitches on both sides, but none that reach one another.
std::size_t apply(const square& m, const std::map<std::uint64_t, std::size_t>& gpu_of, bool xgmi, matrix<link>& links) {
    const std::size_t n = m.objects.size();
    std::vector<std::optional<std::size_t>> gpu(n);
    for (std::size_t i = 0; i < n; ++i)
        if (const auto found = gpu_of.find(m.objects[i]); found != gpu_of.end()) gpu[i] = found->second;
    const auto switched = into_switches(m, gpu);
    std::size_t apart = 0;
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b) {
            if (!gpu[a] || !gpu[b] || *gpu[a] == *gpu[b]) continue;
            double mb_per_s = static_cast<double>(m.values[a * n + b]);
            if (!xgmi && mb_per_s <= 0)
                for (const auto& [group, up] : switched[a])
                    if (const auto down = switched[b].find(group); down != switched[b].end())
                        mb_per_s += std::min(up, down->second);
            if (mb_per_s <= 0) {
                apart += switched[a].empty() || switched[b].empty() ? 0 : 1;
                continue;
            }
            // hwloc gives no count for xGMI: one hive link a pair.
            links(*gpu[a], *gpu[b]) = xgmi ? link{link_class::xgmi, 1} : link{link_class::nvlink, count_of(mb_per_s)};
        }
    return apart;
}

}  // namespace

void apply_hwloc_links(const xml_text& xml, const std::map<std::uint64_t, std::size_t>& gpu_of, matrix<link>& links,
                       findings& notes) {
    for (const pugi::xml_node d : xml.root().children()) {
        const std::string_view element = d.name();
        if (element != "distances2" && element != "distances2hetero") continue;
        const std::string_view name = d.attribute("name").value();
        if (name != "NVLinkBandwidth" && name != "XGMIBandwidth") continue;
        if (const auto m = read_square(d)) {
            const std::size_t apart = apply(*m, gpu_of, name == "XGMIBandwidth", links);
            if (apart > 0)
                text::note(notes, xml.where(d),
                           "the file shows no NVLink between the NVSwitches of " + std::to_string(apart) +
                               " ordered GPU pairs: their PCIe path is taken");
        } else {
            text::warn(notes, xml.where(d),
                       "the " + text::shown(name) + " matrix is not square or holds no numbers, and is left out",
                       "export the topology again with lstopo");
        }
    }
}

}  // namespace topo

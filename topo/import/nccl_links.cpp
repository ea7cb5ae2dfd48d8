// SPDX-License-Identifier: Apache-2.0
#include "topo/import/nccl_links.hpp"

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "topo/import/text.hpp"

namespace topo {
namespace {

constexpr unsigned nvswitch_class = 0x068000;
constexpr unsigned host_link_class = 0x068001;  // NVLink to a POWER9 socket

struct one_link {
    link_class kind;
    std::string_view target;
    unsigned count;
    unsigned target_class;
    std::string where;
};

std::vector<one_link> links_of(pugi::xml_node gpu, const xml_text& xml, findings& notes) {
    std::vector<one_link> out;
    for (const pugi::xml_node e : gpu.children()) {
        const std::string_view name = e.name();
        if (name != "nvlink" && name != "xgmi") continue;
        const auto count = text::whole_number(e.attribute("count").value());
        if (!count || *count < 1 || *count > 999) {
            text::warn(notes, xml.where(e),
                       "count '" + text::shown(e.attribute("count").value()) + "' of a link is left out",
                       "give a whole number from 1 to 999");
            continue;
        }
        out.push_back({name == "xgmi" ? link_class::xgmi : link_class::nvlink, e.attribute("target").value(),
                       static_cast<unsigned>(*count), hex_attribute(e.attribute("tclass")).value_or(0), xml.where(e)});
    }
    return out;
}

void say_one_way(std::span<const nccl_gpu> gpus, const matrix<link>& links, const xml_text& xml, findings& notes) {
    const auto joined = [&](std::size_t a, std::size_t b) {
        return links(a, b).kind == link_class::nvlink || links(a, b).kind == link_class::xgmi;
    };
    for (std::size_t a = 0; a < gpus.size(); ++a)
        for (std::size_t b = a + 1; b < gpus.size(); ++b)
            if ((joined(a, b) || joined(b, a)) && links(a, b) != links(b, a))
                text::warn(notes, xml.where(gpus[a].element),
                           "GPU" + std::to_string(a) + " → GPU" + std::to_string(b) + " is " + text_of(links(a, b)) +
                               ", the way back " + text_of(links(b, a)) + "; both are kept",
                           "dump the topology again; if it stays, a link is down");
}

}  // namespace

void apply_nccl_links(std::span<const nccl_gpu> gpus, const xml_text& xml, matrix<link>& links, findings& notes) {
    std::map<pci_address, std::size_t> index;
    for (std::size_t i = 0; i < gpus.size(); ++i)
        if (gpus[i].pci) index.emplace(*gpus[i].pci, i);
    std::vector<unsigned> to_switches(gpus.size(), 0);
    const auto set = [&](std::size_t a, std::size_t b, link_class kind, unsigned count) {
        link& cell = links(a, b);
        const unsigned before = cell.kind == kind ? cell.count : 0;
        cell = {kind, static_cast<std::uint16_t>(std::min(before + count, 999u))};
    };
    for (std::size_t a = 0; a < gpus.size(); ++a)
        for (const auto& l : links_of(gpus[a].element, xml, notes)) {
            if (l.target_class == nvswitch_class) {
                to_switches[a] = std::min(to_switches[a] + l.count, 999u);
                continue;
            }
            if (l.target_class == host_link_class) continue;
            const auto address = pci_address::parse(l.target);
            const auto target = address ? index.find(*address) : index.end();
            if (target == index.end())
                text::warn(notes, l.where,
                           "a link leads to " + text::shown(l.target) + ", which is not in the file, and is left out",
                           "import the dump of a job that used every GPU");
            else if (target->second == a)
                text::warn(notes, l.where,
                           "a link of GPU" + std::to_string(a) +
                               " leads to itself and is left out: the file does not say which GPU is its peer",
                           "import nvidia-smi topo -m of such a machine, or measure with atoll calibrate");
            else
                set(a, target->second, l.kind, l.count);
        }
    for (std::size_t a = 0; a < gpus.size(); ++a)
        for (std::size_t b = 0; b < gpus.size(); ++b)
            if (a != b && links(a, b).kind != link_class::nvlink && to_switches[a] > 0 && to_switches[b] > 0)
                set(a, b, link_class::nvlink, std::min(to_switches[a], to_switches[b]));
    say_one_way(gpus, links, xml, notes);
}

}  // namespace topo

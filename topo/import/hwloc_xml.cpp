// SPDX-License-Identifier: Apache-2.0
// hwloc's XML (lstopo topology.xml). Read here rather than through libhwloc, which refuses versions
// other than its own and mixes what the file says with what this host is.
#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

#include "topo/import/device_tree.hpp"
#include "topo/import/hwloc_links.hpp"
#include "topo/import/node_marks.hpp"
#include "topo/import/readers.hpp"
#include "topo/import/text.hpp"
#include "topo/import/xml_text.hpp"

namespace topo {
namespace {

using kind = device_tree::kind;
using text::bad;
using text::shown;

constexpr unsigned nvidia = 0x10de;
constexpr unsigned amd = 0x1002;
constexpr unsigned intel = 0x8086;
constexpr unsigned amazon = 0x1d0f;

// What one PCI object and the OS devices below it say.
struct pci_facts {
    unsigned cls = 0;
    unsigned vendor = 0;
    unsigned device = 0;
    std::string verbs;    // "mlx5_0"
    std::string network;  // "ib0"
    std::string model;
    std::string uuid;
    std::string guid;
    long index = -1;       // of NVML, CUDA or RSMI
    bool compute = false;  // an OS device that runs kernels or renders
    std::vector<std::uint64_t> objects;
};

struct placed {
    std::size_t spot;
    int numa;
    id_set cpus;
};

// "0302 [10de:1db1] [10de:1212] a1"
void read_pci_type(std::string_view type, pci_facts& f) {
    const auto hex = [](std::string_view s) {
        unsigned value = 0;
        for (const char c : s) {
            const int digit = c >= '0' && c <= '9'   ? c - '0'
                              : c >= 'a' && c <= 'f' ? c - 'a' + 10
                              : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                                     : -1;
            if (digit < 0) return 0u;
            value = value * 16 + static_cast<unsigned>(digit);
        }
        return value;
    };
    if (type.size() < 4) return;
    f.cls = hex(type.substr(0, 4));
    const std::size_t open = type.find('[');
    if (open == std::string_view::npos || open + 10 > type.size()) return;
    f.vendor = hex(type.substr(open + 1, 4));
    f.device = hex(type.substr(open + 6, 4));
}

bool is_gpu(const pci_facts& f) noexcept {
    switch (f.cls) {
        case 0x0302:
        case 0x1200: return f.vendor == nvidia || f.vendor == amd || f.vendor == intel;
        case 0x0300:
        case 0x0380:  // displays: server boards have one that computes nothing
            return f.vendor == nvidia || ((f.vendor == amd || f.vendor == intel) && f.compute);
        default: return false;
    }
}

bool is_nic(const pci_facts& f) noexcept {
    if (f.cls == 0x0207 || f.cls == 0x0c06) return true;
    if (f.cls >> 8 != 0x02) return false;
    return !f.verbs.empty() || (f.vendor == amazon && f.device >> 4 == 0xefa);
}

// "nvml3" with prefix "nvml": 3; -1 for any other name.
long index_after(std::string_view name, std::string_view prefix) noexcept {
    if (!name.starts_with(prefix)) return -1;
    return text::whole_number(name.substr(prefix.size())).value_or(-1);
}

void read_os_device(pugi::xml_node os, pci_facts& f) {
    const std::string_view name = os.attribute("name").value();
    for (const std::string_view prefix : {"nvml", "rsmi", "cuda"})
        if (const long i = index_after(name, prefix); i >= 0 && f.index < 0) f.index = i;
    f.compute = f.compute || name.starts_with("nvml") || name.starts_with("rsmi") || name.starts_with("cuda") ||
                name.starts_with("opencl") || name.starts_with("renderD") || name.starts_with("ze");
    for (const pugi::xml_node info : os.children("info")) {
        const std::string_view key = info.attribute("name").value();
        const std::string_view value = info.attribute("value").value();
        if (key == "GPUModel" && f.model.empty()) f.model = clean_name(value);
        if ((key == "NVIDIAUUID" || key == "AMDUUID") && f.uuid.empty()) f.uuid = clean_name(value);
        if (key == "NodeGUID" && f.guid.empty()) f.guid = clean_name(value);
    }
    if (const auto id = text::whole_number(os.attribute("gp_index").value()); id && *id >= 0)
        f.objects.push_back(static_cast<std::uint64_t>(*id));
}

class reader {
public:
    reader(const xml_text& xml, int version, findings& notes) : xml_(xml), version_(version), notes_(notes) {}

    result<done> walk() {
        collect_numa(xml_.root());
        for (const pugi::xml_node top : xml_.root().children("object"))
            if (const auto ok = visit(top, {tree_.add(0, kind::nowhere), unknown_numa, {}}, false); !ok) return ok;
        return done{};
    }

    result<node_class> build() {
        node_class c;
        c.cores = static_cast<int>(cores_);
        if (cores_ > 0 && threads_ >= cores_) c.threads_per_core = static_cast<int>(threads_ / cores_);
        for (auto& [id, cpus] : numa_) c.numa.push_back({id, cpus});
        std::sort(gpus_.begin(), gpus_.end(), [](const auto& a, const auto& b) { return a.pci < b.pci; });
        std::set<long> indices;
        if (std::all_of(gpus_.begin(), gpus_.end(),
                        [&](const found& g) { return g.facts.index >= 0 && indices.insert(g.facts.index).second; }))
            std::sort(gpus_.begin(), gpus_.end(),
                      [](const found& a, const found& b) { return a.facts.index < b.facts.index; });
        std::map<std::uint64_t, std::size_t> gpu_of;
        for (std::size_t i = 0; i < gpus_.size(); ++i) {
            const found& f = gpus_[i];
            for (const auto id : f.facts.objects) gpu_of.emplace(id, i);
            c.gpus.push_back({"GPU" + std::to_string(i), f.facts.model, f.facts.uuid, f.pci, f.at.numa, f.at.cpus});
        }
        add_nics(c);
        c.gpu_links = matrix<link>(gpus_.size(), gpus_.size());
        c.nic_links = matrix<link>(gpus_.size(), nics_.size());
        for (std::size_t a = 0; a < gpus_.size(); ++a) {
            for (std::size_t b = 0; b < gpus_.size(); ++b)
                c.gpu_links(a, b) = {a == b ? link_class::self : tree_.between(gpus_[a].at.spot, gpus_[b].at.spot), 0};
            for (std::size_t k = 0; k < nics_.size(); ++k)
                c.nic_links(a, k) = {tree_.between(gpus_[a].at.spot, nics_[k].at.spot), 0};
        }
        apply_hwloc_links(xml_, gpu_of, c.gpu_links, notes_);
        return c;
    }

private:
    struct found {
        pci_address pci;
        pci_facts facts;
        placed at;
    };

    void collect_numa(pugi::xml_node object) {
        for (const pugi::xml_node child : object.children("object")) {
            const std::string_view type = child.attribute("type").value();
            if (type == "NUMANode") {
                const auto id = text::whole_number(child.attribute("os_index").value());
                const auto cpus = id_set::parse_hex_mask(child.attribute("cpuset").value());
                if (id && *id >= 0 && *id <= id_set::max_id && cpus) numa_[static_cast<int>(*id)] = *cpus;
            }
            cores_ += type == "Core" ? 1 : 0;
            threads_ += type == "PU" ? 1 : 0;
            collect_numa(child);
        }
    }

    // The NUMA node with CPUs that an object belongs to, when there is exactly one.
    int numa_of(pugi::xml_node object) const {
        const auto nodes = id_set::parse_hex_mask(object.attribute("nodeset").value());
        if (!nodes || *object.attribute("nodeset").value() == '\0') return unknown_numa;
        int only = unknown_numa;
        for (const auto& [id, cpus] : numa_) {
            if (cpus.empty() || !nodes->contains(static_cast<std::uint32_t>(id))) continue;
            if (only != unknown_numa) return unknown_numa;
            only = id;
        }
        return only;
    }

    placed locality(pugi::xml_node object, const placed& outer) {
        const int numa = numa_of(object);
        if (numa == unknown_numa || numa == outer.numa) return outer;
        const auto known = cpu_spots_.find(numa);
        const std::size_t spot = known != cpu_spots_.end() ? known->second : tree_.add(0, kind::cpu);
        cpu_spots_[numa] = spot;
        return {spot, numa, numa_[numa]};
    }

    result<done> visit(pugi::xml_node object, placed at, bool in_io) {
        const std::string_view type = object.attribute("type").value();
        if (type == "Bridge") {
            const bool host = std::string_view(object.attribute("bridge_type").value()).starts_with("0-");
            at.spot = tree_.add(at.spot, host ? kind::host_bridge : kind::bridge);
            in_io = true;
        } else if (type == "PCIDev") {
            at.spot = tree_.add(at.spot, kind::device);
            if (const auto ok = read_pci(object, at); !ok) return ok;
            in_io = true;
        } else if (!in_io) {
            at = locality(object, at);
        }
        for (const pugi::xml_node child : object.children("object"))
            if (const auto ok = visit(child, at, in_io); !ok) return ok;
        return done{};
    }

    result<done> read_pci(pugi::xml_node object, const placed& at) {
        pci_facts f;
        read_pci_type(object.attribute("pci_type").value(), f);
        if (const auto id = text::whole_number(object.attribute("gp_index").value()); id && *id >= 0)
            f.objects.push_back(static_cast<std::uint64_t>(*id));
        for (const pugi::xml_node os : object.children("object")) {
            read_os_device(os, f);
            name_network(os, f);
        }
        const bool gpu = is_gpu(f);
        if (!gpu && !is_nic(f)) return done{};
        const auto address = pci_address::parse(object.attribute("pci_busid").value());
        if (!address)
            return bad(xml_.where(object), "pci_busid of a device: " + address.failure().what,
                       address.failure().remedy);
        if (!addresses_.insert(*address).second)
            return bad(xml_.where(object), "PCI device " + address->text() + " stands twice", "keep one of them");
        if (gpu && f.model.empty()) f.model = clean_name(object.attribute("name").value());
        auto& list = gpu ? gpus_ : nics_;
        list.push_back({*address, std::move(f), at});
        if (list.size() > max_devices_read)
            return error{errc::limit, xml_.where(object), "more than " + std::to_string(max_devices_read) + " devices",
                         "import one host at a time"};
        return done{};
    }

    // v1 and v2 number the kinds of OS devices, v3 has one bit a kind.
    void name_network(pugi::xml_node os, pci_facts& f) const {
        const auto type = text::whole_number(os.attribute("osdev_type").value());
        if (!type) return;
        const bool verbs = version_ >= 3 ? (*type & 32) != 0 : *type == 3;
        const bool network = version_ >= 3 ? (*type & 48) == 16 : *type == 2;
        const std::string name = clean_name(os.attribute("name").value());
        if (verbs && f.verbs.empty()) f.verbs = name;
        if (network && f.network.empty()) f.network = name;
    }

    void add_nics(node_class& c) {
        std::sort(nics_.begin(), nics_.end(), [](const auto& a, const auto& b) { return a.pci < b.pci; });
        std::set<std::string> taken;
        for (const auto& f : nics_) {
            nic n;
            n.name = !f.facts.verbs.empty() ? f.facts.verbs : f.facts.network;
            if (n.name.empty() || !taken.insert(n.name).second) n.name = "nic-" + f.pci.text();
            n.guid = f.facts.guid;
            n.pci = f.pci;
            n.numa = f.at.numa;
            c.nics.push_back(std::move(n));
        }
        if (!c.nics.empty())
            text::note(
                notes_, "",
                "hwloc does not say port speeds: they are unknown, and the NICs have the figures of their link class");
    }

    const xml_text& xml_;
    int version_;
    findings& notes_;
    device_tree tree_{1, link_class::node};
    std::map<int, std::size_t> cpu_spots_;
    std::map<int, id_set> numa_;
    std::set<pci_address> addresses_;
    std::vector<found> gpus_;
    std::vector<found> nics_;
    std::size_t cores_ = 0;
    std::size_t threads_ = 0;
};

result<int> version_of(const xml_text& xml) {
    const std::string_view text = xml.root().attribute("version").value();
    if (text.empty()) return 1;
    const auto major = text::whole_number(text.substr(0, text.find('.')));
    if (!major || *major < 1)
        return bad(xml.where(xml.root()), "hwloc XML version '" + shown(text) + "' is no version",
                   "export the topology again with lstopo");
    if (*major > 3)
        return error{errc::unsupported_version, xml.where(xml.root()),
                     "hwloc XML version " + shown(text) + " is newer than 3, the newest that can be read",
                     "export it for hwloc 2: lstopo --export-xml-flags v2 topology.xml"};
    return static_cast<int>(*major);
}

// The HostName info of the machine object or, since v3, of the topology.
std::string host_of(const xml_text& xml) {
    for (const pugi::xml_node holder : {xml.root(), xml.root().child("object")})
        for (const pugi::xml_node info : holder.children("info"))
            if (std::string_view(info.attribute("name").value()) == "HostName")
                return clean_name(info.attribute("value").value());
    return {};
}

}  // namespace

bool looks_like_hwloc_xml(std::string_view head) noexcept {
    return first_element(head) == "topology" && head.find("<object") != std::string_view::npos;
}

result<import_output> read_hwloc_xml(std::string_view text, const std::string& file, const import_options& options) {
    const auto xml = xml_text::parse(text, file);
    if (!xml) return xml.failure();
    const std::string_view root = xml->root().name();
    if (root != "topology")
        return bad(file, "the root element is <" + shown(root) + ">, not <topology>",
                   "import a file that lstopo wrote");
    const auto version = version_of(*xml);
    if (!version) return version.failure();
    import_output out;
    out.kind = format::hwloc_xml;
    reader r(*xml, *version, out.notes);
    if (const auto ok = r.walk(); !ok) return ok.failure();
    auto c = r.build();
    if (!c) return c.failure();
    for (auto& f : out.notes)
        if (f.where.empty()) f.where = file;
    c->made_by.tool = "hwloc XML " + std::string(*version == 1 ? "1" : xml->root().attribute("version").value());
    finish_node(out, std::move(*c), file, options);
    out.nodes.front().host = host_of(*xml);
    return out;
}

}  // namespace topo

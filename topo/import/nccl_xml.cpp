// SPDX-License-Identifier: Apache-2.0
// NCCL's topology XML (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE) and RCCL's. Vendors ship files that are
// only a skeleton: no class, no architecture, no GPU. Everything but the tree itself may be absent.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "topo/counted.hpp"
#include "topo/import/device_tree.hpp"
#include "topo/import/nccl_links.hpp"
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

struct found_gpu {
    gpu device;
    std::size_t spot = 0;
    long dev = -1;  // NCCL's own number; -1: none
    pugi::xml_node element;
};

struct found_nic {
    nic device;
    std::size_t spot = 0;
    std::string where;
};

// One walk over the file.
class reader {
public:
    reader(const xml_text& xml, findings& notes) : xml_(xml), notes_(notes) {}

    result<done> walk() {
        classed_ = std::any_of(xml_.root().begin(), xml_.root().end(), [](pugi::xml_node cpu) {
            return static_cast<bool>(cpu.find_node(
                [](pugi::xml_node n) { return std::string_view(n.name()) == "pci" && n.attribute("class"); }));
        });
        for (const pugi::xml_node cpu : xml_.root().children("cpu"))
            if (const auto ok = read_cpu(cpu); !ok) return ok;
        for (const pugi::xml_node stray : xml_.root().children())
            if (const std::string_view name = stray.name(); name == "pci" || name == "nic") {
                const std::size_t spot = tree_.add(0, kind::nowhere);
                if (const auto ok = read_child(stray, spot, unknown_numa); !ok) return ok;
            }
        if (classless_ > 0)
            text::note(notes_, "",
                       counted(classless_, "PCI device without class is taken as a NIC",
                               "PCI devices without class are taken as NICs") +
                           ": the file names no other device");
        return done{};
    }

    result<node_class> build() {
        node_class c;
        order_gpus();
        if (const auto ok = no_duplicates(); !ok) return ok.failure();
        for (auto& [id, cpus] : cpus_) c.numa.push_back({id, cpus});
        std::vector<nccl_gpu> ends;
        for (std::size_t i = 0; i < gpus_.size(); ++i) {
            gpus_[i].device.name = "GPU" + std::to_string(i);
            c.gpus.push_back(gpus_[i].device);
            ends.push_back({gpus_[i].device.pci, gpus_[i].element});
        }
        name_nics();
        for (const auto& n : nics_) c.nics.push_back(n.device);
        c.gpu_links = matrix<link>(gpus_.size(), gpus_.size());
        c.nic_links = matrix<link>(gpus_.size(), nics_.size());
        for (std::size_t a = 0; a < gpus_.size(); ++a) {
            for (std::size_t b = 0; b < gpus_.size(); ++b)
                c.gpu_links(a, b) = {a == b ? link_class::self : tree_.between(gpus_[a].spot, gpus_[b].spot), 0};
            for (std::size_t k = 0; k < nics_.size(); ++k)
                c.nic_links(a, k) = {tree_.between(gpus_[a].spot, nics_[k].spot), 0};
        }
        apply_nccl_links(ends, xml_, c.gpu_links, notes_);
        return c;
    }

private:
    result<done> read_cpu(pugi::xml_node cpu) {
        const auto id = text::whole_number(cpu.attribute("numaid").value());
        const bool known = id && *id >= 0 && *id < 1 << 20;
        const int numa = known ? static_cast<int>(*id) : unknown_numa;
        const std::size_t spot = tree_.add(0, known ? kind::cpu : kind::nowhere);
        id_set cpus;
        if (const auto mask = cpu.attribute("affinity"); mask && *mask.value() != '\0') {
            const auto got = id_set::parse_hex_mask(mask.value());
            if (got)
                cpus = *got;
            else
                text::warn(notes_, xml_.where(cpu), "the CPU affinity is left out: " + got.failure().what,
                           got.failure().remedy);
        } else {
            ++without_affinity_;
            if (without_affinity_ == 1)
                text::note(notes_, xml_.where(cpu), "cpu elements without affinity: their CPUs are unknown");
        }
        if (known) {
            for (const auto& [first, last] : cpus.ranges()) cpus_[numa].insert_range(first, last);
            cpus_.try_emplace(numa);
        }
        near_cpus_ = cpus;
        for (const pugi::xml_node child : cpu.children())
            if (const auto ok = read_child(child, spot, numa); !ok) return ok;
        return done{};
    }

    result<done> read_child(pugi::xml_node element, std::size_t spot, int numa) {
        const std::string_view name = element.name();
        if (name == "pci") return read_pci(element, spot, numa);
        if (name == "nic") return read_nets(element, spot, numa, std::nullopt);
        return done{};
    }

    result<done> read_pci(pugi::xml_node pci, std::size_t parent, int numa) {
        const std::string_view busid = pci.attribute("busid").value();
        const auto address = pci_address::parse(busid);
        const auto gpu_element = pci.child("gpu");
        const auto nic_element = pci.child("nic");
        const auto cls = hex_attribute(pci.attribute("class"));
        const bool inner = static_cast<bool>(pci.child("pci"));
        const bool is_gpu = gpu_element || (cls && gpu_class(*cls));
        const bool is_nic = nic_element || (cls && (*cls >> 8 == 0x0207 || *cls >> 8 == 0x0200));
        const bool bare = !cls && !inner && !is_gpu && !is_nic && !classed_;
        if ((is_gpu || is_nic || bare) && !address)
            return bad(xml_.where(pci), "busid of a device: " + address.failure().what, address.failure().remedy);
        const std::size_t spot = tree_.add(parent, inner ? kind::bridge : kind::device);
        if (is_gpu) add_gpu(pci, gpu_element, *address, spot, numa);
        if (nic_element) {
            if (const auto ok = read_nets(nic_element, spot, numa, *address); !ok) return ok;
        } else if (is_nic || bare) {
            classless_ += bare ? 1 : 0;
            add_nic("", *address, std::nullopt, spot, numa, xml_.where(pci));
        } else if (!inner && !is_gpu && !cls) {
            text::warn(notes_, xml_.where(pci), "PCI device " + shown(busid) + " has no class and is left out",
                       "give it a class attribute, such as class=\"0x020700\" for an InfiniBand port");
        }
        if (gpus_.size() > max_devices_read || nics_.size() > max_devices_read)
            return error{errc::limit, xml_.where(pci), "more than " + std::to_string(max_devices_read) + " devices",
                         "import one host at a time"};
        for (const pugi::xml_node child : pci.children("pci"))
            if (const auto ok = read_pci(child, spot, numa); !ok) return ok;
        return done{};
    }

    // 3D controllers, VGA and other displays, processing accelerators.
    static bool gpu_class(unsigned cls) noexcept {
        const unsigned base = cls >> 8;
        return base == 0x0302 || base == 0x0300 || base == 0x0380 || base == 0x1200;
    }

    void add_gpu(pugi::xml_node pci, pugi::xml_node element, const pci_address& address, std::size_t spot, int numa) {
        found_gpu g;
        g.device.pci = address;
        g.device.numa = numa;
        g.device.cpus = near_cpus_;
        g.spot = spot;
        g.element = element;
        if (element) {
            g.dev = text::whole_number(element.attribute("dev").value()).value_or(-1);
            std::string gcn = clean_name(element.attribute("gcn").value());
            if (!gcn.empty() && !gcn.starts_with("gfx")) gcn.insert(0, "gfx ");
            const std::string_view sm = element.attribute("sm").value();
            if (!gcn.empty())
                g.device.model = "AMD GPU (" + gcn + ")";
            else if (!sm.empty() && hex_attribute(pci.attribute("vendor")).value_or(nvidia) == nvidia)
                g.device.model = "NVIDIA GPU (sm " + clean_name(sm) + ")";
        }
        gpus_.push_back(std::move(g));
    }

    result<done> read_nets(pugi::xml_node nic_element, std::size_t spot, int numa, std::optional<pci_address> address) {
        bool any = false;
        for (const pugi::xml_node net : nic_element.children("net")) {
            any = true;
            const auto speed = text::real_number(net.attribute("speed").value());  // Mbit/s
            std::optional<double> gb_per_s;
            if (speed && *speed > 0) gb_per_s = *speed / 8000;
            add_nic(net.attribute("name").value(), address, gb_per_s, spot, numa, xml_.where(net));
            nics_.back().device.guid = clean_name(net.attribute("guid").value());
            address.reset();  // a second port of the same function does not own its address
        }
        if (!any && address) add_nic("", *address, std::nullopt, spot, numa, xml_.where(nic_element));
        return done{};
    }

    void add_nic(std::string_view name, std::optional<pci_address> address, std::optional<double> gb_per_s,
                 std::size_t spot, int numa, std::string where) {
        found_nic n;
        n.device.name = clean_name(name);
        n.device.pci = address;
        n.device.numa = numa;
        n.device.gb_per_s = gb_per_s;
        n.spot = spot;
        n.where = std::move(where);
        nics_.push_back(std::move(n));
    }

    // NCCL's dev numbers when every GPU has its own, else file order.
    void order_gpus() {
        std::set<long> devs;
        const bool numbered = std::all_of(gpus_.begin(), gpus_.end(),
                                          [&](const found_gpu& g) { return g.dev >= 0 && devs.insert(g.dev).second; });
        if (numbered)
            std::stable_sort(gpus_.begin(), gpus_.end(),
                             [](const found_gpu& a, const found_gpu& b) { return a.dev < b.dev; });
    }

    result<done> no_duplicates() {
        std::set<pci_address> seen;
        const auto twice = [&](const std::optional<pci_address>& a) { return a && !seen.insert(*a).second; };
        for (const auto& g : gpus_)
            if (twice(g.device.pci))
                return bad(xml_.where(g.element), "GPU " + g.device.pci->text() + " stands twice", "keep one of them");
        for (const auto& n : nics_)
            if (twice(n.device.pci))
                return bad(n.where, "NIC " + n.device.pci->text() + " stands twice", "keep one of them");
        return done{};
    }

    void name_nics() {
        std::set<std::string> taken;
        std::size_t unknown_speed = 0;
        for (auto& n : nics_) {
            unknown_speed += n.device.gb_per_s ? 0 : 1;
            if (n.device.name.empty())
                n.device.name = "nic-" + (n.device.pci ? n.device.pci->text() : std::to_string(taken.size()));
            const std::string wanted = n.device.name;
            for (int i = 2; !taken.insert(n.device.name).second; ++i) n.device.name = wanted + "-" + std::to_string(i);
        }
        if (unknown_speed > 0)
            text::note(notes_, "",
                       "the port speed of " +
                           counted(unknown_speed, "NIC is unknown: it stays", "NICs is unknown: they stay") +
                           ", with the figures of the link class");
    }

    const xml_text& xml_;
    findings& notes_;
    device_tree tree_{0, link_class::phb};
    std::vector<found_gpu> gpus_;
    std::vector<found_nic> nics_;
    std::map<int, id_set> cpus_;
    id_set near_cpus_;
    bool classed_ = false;
    std::size_t classless_ = 0;
    std::size_t without_affinity_ = 0;
};

}  // namespace

bool looks_like_nccl_xml(std::string_view head) noexcept {
    return first_element(head) == "system" &&
           (head.find("<cpu") != std::string_view::npos || head.find("<pci") != std::string_view::npos);
}

result<import_output> read_nccl_xml(std::string_view text, const std::string& file, const import_options& options) {
    const auto xml = xml_text::parse(text, file);
    if (!xml) return xml.failure();
    const std::string_view root = xml->root().name();
    if (root != "system")
        return bad(file, "the root element is <" + shown(root) + ">, not <system>",
                   "import a file that NCCL wrote (NCCL_TOPO_DUMP_FILE)");
    import_output out;
    out.kind = format::nccl_xml;
    reader r(*xml, out.notes);
    if (const auto ok = r.walk(); !ok) return ok.failure();
    auto c = r.build();
    if (!c) return c.failure();
    for (auto& f : out.notes)
        if (f.where.empty()) f.where = file;
    c->made_by.tool = "NCCL topology XML";
    finish_node(out, std::move(*c), file, options);
    return out;
}

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include "calibrate/findings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "calibrate/plan.hpp"

namespace calibrate {
namespace {

using topo::endpoint;
using topo::link_class;
using pair_key = std::pair<std::pair<endpoint, std::size_t>, std::pair<endpoint, std::size_t>>;

std::pair<endpoint, std::size_t> key_of(place p) { return {p.kind, p.index}; }

bool nvlink(topo::link l) {
    return l.kind == link_class::nvlink || l.kind == link_class::xgmi || l.kind == link_class::c2c;
}

topo::link link_of(const topo::node_class& hw, place a, place b) {
    if (a.kind != endpoint::gpu) std::swap(a, b);
    if (b.kind == endpoint::gpu && !hw.gpu_links.empty()) return hw.gpu_links(a.index, b.index);
    if (b.kind == endpoint::nic && !hw.nic_links.empty()) return hw.nic_links(a.index, b.index);
    return {};
}

class judgement {
public:
    judgement(const inventory& what, std::span<const cell_report> cells, const counters& now)
        : hw_(what.hardware), host_(what.host), cells_(cells), now_(now), off_(off_class(what, cells)) {}

    topo::findings all() {
        locality();
        nvlinks();
        pcie();
        slow_cells();
        direct_access();
        unsteady();
        return std::move(out_);
    }

private:
    void add(topo::severity level, std::string where, std::string what, std::string remedy) {
        out_.push_back({level, std::move(where), std::move(what), std::move(remedy)});
    }
    void warn(std::string where, std::string what, std::string remedy) {
        add(topo::severity::warning, std::move(where), std::move(what), std::move(remedy));
    }
    [[nodiscard]] std::string pair_name(place a, place b) const { return name_of(a, hw_) + "-" + name_of(b, hw_); }

    void locality() {
        if (flat_guest(hw_))
            add(topo::severity::info, host_,
                "virtual: every pair shows the same link class, so locality is not trusted",
                "costs are measured; for links, give the provider's topology file to atoll import");
        else if (!hw_.gpus.empty() && std::all_of(hw_.gpus.begin(), hw_.gpus.end(),
                                                  [](const topo::gpu& g) { return g.numa == topo::unknown_numa; }))
            add(topo::severity::info, host_, "numa_unknown: no GPU reports its NUMA node, so locality is unknown",
                "enable NUMA (SRAT) in the firmware or the hypervisor");
    }

    // The link count that nearly all pairs have, where GPUs hang on switches; 0 elsewhere.
    [[nodiscard]] int switched_count() const {
        std::map<int, std::size_t> counts;
        const std::size_t n = hw_.gpus.size();
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = a + 1; b < n; ++b)
                ++counts[nvlink(hw_.gpu_links(a, b)) ? hw_.gpu_links(a, b).count : 0];
        for (const auto& [count, pairs] : counts)
            if (count > 0 && pairs * 4 >= n * (n - 1) / 2 * 3) return count;
        return 0;
    }

    void nvlinks() {
        const std::size_t n = hw_.gpus.size();
        if (hw_.gpu_links.empty() || flat_guest(hw_)) return;
        std::vector<int> down(n);
        for (std::size_t g = 0; g < std::min(n, now_.gpus.size()); ++g)
            if (now_.gpus[g].nvlinks_up >= 0)
                down[g] = std::max(0, now_.gpus[g].nvlinks_total - now_.gpus[g].nvlinks_up);
        std::vector<std::size_t> hurt;
        for (std::size_t g = 0; g < n; ++g)
            if (down[g] > 0) hurt.push_back(g);
        const int usual = switched_count();
        const auto degraded = [&](std::size_t a, std::size_t b, int up, int of) {
            const place first{endpoint::gpu, a}, second{endpoint::gpu, b};
            explained_.insert({key_of(first), key_of(second)});
            warn(pair_name(first, second), fmt::format("degraded_nvlink: {} of {} NVLinks are up", up, of),
                 "look at nvidia-smi nvlink -s, then reset the GPUs or replace the board; jobs will avoid the pair");
            down[a] = std::max(0, down[a] - (of - up));
            down[b] = std::max(0, down[b] - (of - up));
        };
        for (std::size_t a = 0; usual > 0 && a < n; ++a)
            for (std::size_t b = a + 1; b < n; ++b) {
                const int up = nvlink(hw_.gpu_links(a, b)) ? hw_.gpu_links(a, b).count : 0;
                if (up < usual) degraded(a, b, up, usual);
            }
        if (usual == 0 && hurt.size() == 2 && down[hurt[0]] == down[hurt[1]]) {
            const topo::link l = hw_.gpu_links(hurt[0], hurt[1]);
            const int up = nvlink(l) ? l.count : 0;
            degraded(hurt[0], hurt[1], up, up + down[hurt[0]]);
        }
        for (const std::size_t g : hurt)
            if (down[g] > 0)
                warn(hw_.gpus[g].name,
                     fmt::format("degraded_nvlink: {} of {} NVLinks are up", now_.gpus[g].nvlinks_up,
                                 now_.gpus[g].nvlinks_total),
                     "look at nvidia-smi nvlink -s to see which, then reset the GPU or replace the board");
    }

    void pcie() {
        for (std::size_t g = 0; g < std::min(hw_.gpus.size(), now_.gpus.size()); ++g) {
            const auto& c = now_.gpus[g];
            if (c.pcie_width > 0 && c.pcie_width < c.pcie_width_max) {
                slow_slots_.insert(g);
                warn(hw_.gpus[g].name, fmt::format("pcie_width: x{} of x{} lanes", c.pcie_width, c.pcie_width_max),
                     "reseat the card or its riser and reboot");
            }
            if (c.pcie_generation > 0 && c.pcie_generation < c.pcie_generation_max) {
                slow_slots_.insert(g);
                warn(hw_.gpus[g].name,
                     fmt::format("pcie_gen: generation {} of {}", c.pcie_generation, c.pcie_generation_max),
                     "check the slot speed in the firmware, reseat the card");
            }
        }
    }

    [[nodiscard]] bool has_reason(const cell& c) const {
        const auto a = key_of(c.from), b = key_of(c.to);
        if (explained_.count({std::min(a, b), std::max(a, b)}) != 0) return true;
        if (nvlink(link_of(hw_, c.from, c.to))) return false;
        return std::any_of(slow_slots_.begin(), slow_slots_.end(), [&](std::size_t g) {
            return c.from == place{endpoint::gpu, g} || c.to == place{endpoint::gpu, g};
        });
    }

    // Takes the cells of the device with most partners among `rest` out, while that is more than one.
    void each_device(std::vector<std::size_t>& rest,
                     const std::function<void(place, const std::vector<std::size_t>&)>& tell) const {
        while (!rest.empty()) {
            std::map<std::pair<endpoint, std::size_t>, std::set<std::pair<endpoint, std::size_t>>> partners;
            for (const std::size_t i : rest) {
                const cell& c = cells_[i].where;
                partners[key_of(c.from)].insert(key_of(c.to));
                partners[key_of(c.to)].insert(key_of(c.from));
            }
            const auto worst = std::max_element(partners.begin(), partners.end(), [](const auto& a, const auto& b) {
                return a.second.size() < b.second.size();
            });
            if (worst->second.size() < 2) return;
            const place device{worst->first.first, worst->first.second};
            std::vector<std::size_t> its;
            for (const std::size_t i : rest)
                if (cells_[i].where.from == device || cells_[i].where.to == device) its.push_back(i);
            std::erase_if(rest, [&](std::size_t i) { return std::count(its.begin(), its.end(), i) != 0; });
            tell(device, its);
        }
    }
    void each_pair(const std::vector<std::size_t>& rest,
                   const std::function<void(std::string, const std::vector<std::size_t>&)>& tell) const {
        std::map<pair_key, std::vector<std::size_t>> pairs;
        for (const std::size_t i : rest) {
            const auto a = key_of(cells_[i].where.from), b = key_of(cells_[i].where.to);
            pairs[{std::min(a, b), std::max(a, b)}].push_back(i);
        }
        for (const auto& [key, its] : pairs) {
            const cell& first = cells_[its.front()].where;
            const bool one_way =
                std::all_of(its.begin(), its.end(), [&](std::size_t i) { return cells_[i].where.from == first.from; });
            tell(one_way ? name_of(first.from, hw_) + " → " + name_of(first.to, hw_)
                         : pair_name({key.first.first, key.first.second}, {key.second.first, key.second.second}),
                 its);
        }
    }

    void slow_cells() {
        std::map<std::size_t, off_cell> by_index;
        std::vector<std::size_t> rest;
        for (const auto& o : off_) {
            by_index.emplace(o.index, o);
            if (!cells_[o.index].disturbed && !has_reason(cells_[o.index].where)) rest.push_back(o.index);
        }
        const auto figures = [&](const std::vector<std::size_t>& its) {
            // Of the fastest kind of path among them: there the loss is largest.
            const auto worst = std::max_element(its.begin(), its.end(), [&](std::size_t x, std::size_t y) {
                const off_cell &a = by_index.at(x), &b = by_index.at(y);
                return std::pair{a.reference_gb_per_s, -a.share} < std::pair{b.reference_gb_per_s, -b.share};
            });
            return fmt::format("{} GB/s where its like has {:.4g} ({})", cells_[*worst].value.gb_per_s,
                               by_index.at(*worst).reference_gb_per_s, text_of(cells_[*worst].where, hw_));
        };
        each_device(rest, [&](place device, const std::vector<std::size_t>& its) {
            const bool nic = device.kind == endpoint::nic;
            warn(name_of(device, hw_),
                 fmt::format("{}: {}",
                             nic                            ? "slow_nic"
                             : device.kind == endpoint::gpu ? "slow_gpu"
                                                            : "slow_numa",
                             figures(its)),
                 nic ? "check its cable, port rate, PCIe width and firmware"
                     : "check its slot, clocks and PCIe settings (ACS, IOMMU)");
        });
        each_pair(rest, [&](const std::string& where, const std::vector<std::size_t>& its) {
            warn(where, "slow_pair: " + figures(its),
                 "check the links, bridges and PCIe settings (ACS, IOMMU) between them");
        });
    }

    void direct_access() {
        std::size_t staged = 0, all = 0;
        for (const auto& c : cells_)
            if (c.where.by == topo::engine::rdma_write || c.where.by == topo::engine::rdma_read) {
                ++all;
                staged += c.path == memory_path::host_staged;
            }
        if (staged > 0)
            warn(host_, fmt::format("gdr_lost: {} of {} GPU-NIC costs go through host memory", staged, all),
                 "load nvidia-peermem, or use open kernel modules and Linux 5.12 or newer for dma-buf");
    }

    void unsteady() {
        std::vector<std::size_t> noisy, disturbed, repeated;
        for (std::size_t i = 0; i < cells_.size(); ++i) {
            const auto& c = cells_[i];
            if (c.disturbed)
                disturbed.push_back(i);
            else if (c.noisy)
                noisy.push_back(i);
            else if (c.repeats > 0 &&
                     std::none_of(off_.begin(), off_.end(), [i](const off_cell& o) { return o.index == i; }))
                repeated.push_back(i);
        }
        const auto tell = [&](std::vector<std::size_t>& rest, topo::severity level, const std::string& what,
                              const std::string& remedy) {
            each_device(rest, [&](place d, const auto&) { add(level, name_of(d, hw_), what, remedy); });
            each_pair(rest, [&](const std::string& where, const auto&) { add(level, where, what, remedy); });
        };
        tell(disturbed, topo::severity::warning,
             "disturbed: clocks were held back, error counters moved or another process ran, in each of three attempts",
             "look at nvidia-smi -q -d PERFORMANCE,ECC and measure again");
        tell(noisy, topo::severity::warning, "noisy: the interval stays wider than ±2 % after 63 samples a size",
             "measure again on an idle node");
        tell(repeated, topo::severity::info, "repeated: the first measurement was off its class, the second was not",
             "");
    }

    const topo::node_class& hw_;
    const std::string& host_;
    std::span<const cell_report> cells_;
    const counters& now_;
    std::vector<off_cell> off_;
    std::set<pair_key> explained_;      // lower place first
    std::set<std::size_t> slow_slots_;  // GPUs
    topo::findings out_;
};

}  // namespace

std::vector<off_cell> off_class(const inventory& what, std::span<const cell_report> cells) {
    const auto& hw = what.hardware;
    std::vector<off_cell> out;
    if (flat_guest(hw)) return out;
    using group_key = std::tuple<endpoint, endpoint, topo::engine, link_class, int, bool, double, bool>;
    std::map<group_key, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < cells.size(); ++i) {
        const cell& c = cells[i].where;
        place gpu = c.from, far = c.to;
        if (gpu.kind != endpoint::gpu) std::swap(gpu, far);
        topo::link l = link_of(hw, gpu, far);
        const int mine = hw.gpus[gpu.index].numa;
        const int theirs = far.kind == endpoint::gpu   ? hw.gpus[far.index].numa
                           : far.kind == endpoint::nic ? hw.nics[far.index].numa
                                                       : hw.numa[far.index].id;
        const bool unknown = mine == topo::unknown_numa || theirs == topo::unknown_numa;
        if (far.kind == endpoint::host) {
            if (unknown || mine != theirs) continue;
            l = {link_class::node, 0};
        } else if (l.kind == link_class::unknown || (l.kind == link_class::sys && unknown)) {
            continue;
        }
        const double port = far.kind == endpoint::nic ? hw.nics[far.index].gb_per_s.value_or(0) : 0;
        groups[{c.from.kind, c.to.kind, c.by, l.kind, l.count, mine == theirs, port, cells[i].staged}].push_back(i);
    }
    for (const auto& [key, members] : groups) {
        if (members.size() < 3) continue;
        std::vector<double> sorted;
        for (const std::size_t i : members) sorted.push_back(cells[i].value.gb_per_s);
        std::sort(sorted.begin(), sorted.end());
        const double reference = sorted[(sorted.size() - 1) * 3 / 4];
        for (const std::size_t i : members)
            if (cells[i].value.gb_per_s < off_class_share * reference)
                out.push_back({i, cells[i].value.gb_per_s / reference, reference});
    }
    std::sort(out.begin(), out.end(), [](const off_cell& a, const off_cell& b) { return a.index < b.index; });
    return out;
}

topo::findings judge(const inventory& what, std::span<const cell_report> cells, const counters& now) {
    return judgement(what, cells, now).all();
}

bool flat_guest(const topo::node_class& hw) {
    if (hw.gpus.size() < 3 || hw.gpu_links.empty() || hw.numa.size() > 1) return false;
    for (std::size_t a = 0; a < hw.gpus.size(); ++a)
        for (std::size_t b = 0; b < hw.gpus.size(); ++b)
            if (a != b && hw.gpu_links(a, b).kind != link_class::phb) return false;
    return true;
}

}  // namespace calibrate

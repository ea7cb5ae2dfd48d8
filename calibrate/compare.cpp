// SPDX-License-Identifier: Apache-2.0
#include "calibrate/compare.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <utility>

#include "calibrate/identity.hpp"
#include "topo/counted.hpp"

namespace calibrate {
namespace {

using topo::endpoint;
using topo::node_class;

constexpr int absent = matched_devices::absent;
constexpr double least_change = 0.05;

class comparer {
public:
    comparer(const node_class& now, const node_class& before)
        : now_(now), before_(before), devices_(match_devices(now, before)) {}

    comparison all() {
        devices(now_.gpus, before_.gpus, gpus_);
        devices(now_.nics, before_.nics, nics_);
        gpu_links();
        nearest();
        for (const auto& layer : now_.layers) costs(layer);
        return std::move(out_);
    }

private:
    void add(change_kind kind, std::string where, std::string before, std::string now, double share = 1) {
        out_.changes.push_back({kind, std::move(where), std::move(before), std::move(now), share});
    }

    template <class Device>
    void devices(const std::vector<Device>& now, const std::vector<Device>& before, const std::vector<int>& matched) {
        for (std::size_t i = 0; i < now.size(); ++i)
            if (matched[i] == absent) add(change_kind::device_added, now[i].name, "absent", "present");
        for (std::size_t k = 0; k < before.size(); ++k)
            if (std::find(matched.begin(), matched.end(), static_cast<int>(k)) == matched.end())
                add(change_kind::device_missing, before[k].name, "present", "absent", 0);
    }

    void gpu_links() {
        if (now_.gpu_links.empty() || before_.gpu_links.empty()) return;
        for (std::size_t a = 0; a < gpus_.size(); ++a)
            for (std::size_t b = a + 1; b < gpus_.size(); ++b) {
                if (gpus_[a] == absent || gpus_[b] == absent) continue;
                const topo::link is = now_.gpu_links(a, b);
                const topo::link was =
                    before_.gpu_links(static_cast<std::size_t>(gpus_[a]), static_cast<std::size_t>(gpus_[b]));
                if (is == was) continue;
                const int up = is.kind == was.kind ? is.count : 0;
                const bool lost = was.count > 0 && up < was.count;
                add(lost ? change_kind::degraded_nvlink : change_kind::link_changed,
                    now_.gpus[a].name + "-" + now_.gpus[b].name, topo::text_of(was), topo::text_of(is),
                    lost ? static_cast<double>(up) / was.count : 1);
            }
    }

    void nearest() {
        const auto is = topo::nearest_nics(now_);
        const auto was = topo::nearest_nics(before_);
        for (std::size_t g = 0; g < gpus_.size(); ++g) {
            if (gpus_[g] == absent) continue;
            const int mine = is[g];
            const int old = was[static_cast<std::size_t>(gpus_[g])];
            if (mine < 0 || old < 0 || nics_[static_cast<std::size_t>(mine)] == old) continue;
            if (std::find(nics_.begin(), nics_.end(), old) == nics_.end()) continue;  // told as a missing device
            if (nics_[static_cast<std::size_t>(mine)] != absent && !nearer(g, static_cast<std::size_t>(mine))) continue;
            add(change_kind::swapped_nic, now_.gpus[g].name, before_.nics[static_cast<std::size_t>(old)].name,
                now_.nics[static_cast<std::size_t>(mine)].name);
        }
    }

    // Whether the NIC really came nearer. Where the old one only became slow, that is what there is to tell.
    [[nodiscard]] bool nearer(std::size_t g, std::size_t n) const {
        const auto* is = now_.best_layer(endpoint::gpu, endpoint::nic);
        const auto* was = before_.best_layer(endpoint::gpu, endpoint::nic);
        if (is == nullptr || was == nullptr || is->by != was->by) return true;
        const double old = was->cells(static_cast<std::size_t>(gpus_[g]), static_cast<std::size_t>(nics_[n])).gb_per_s;
        return is->cells(g, n).gb_per_s > old * (1 + least_change);
    }

    [[nodiscard]] const std::vector<int>& matched(endpoint e) const { return devices_.of(e); }
    [[nodiscard]] std::string name(endpoint e, std::size_t i) const {
        return e == endpoint::gpu   ? now_.gpus[i].name
               : e == endpoint::nic ? now_.nics[i].name
                                    : fmt::format("NUMA {}", now_.numa[i].id);
    }

    void costs(const topo::cost_layer& layer) {
        const topo::cost_layer* old = nullptr;
        for (const auto& l : before_.layers)
            if (l.from == layer.from && l.to == layer.to && l.by == layer.by && l.loaded == layer.loaded) old = &l;
        if (old == nullptr) return;
        for (std::size_t r = 0; r < layer.cells.rows(); ++r)
            for (std::size_t k = 0; k < layer.cells.columns(); ++k) {
                const int row = matched(layer.from)[r];
                const int column = matched(layer.to)[k];
                if (row == absent || column == absent) continue;
                const topo::cost& is = layer.cells(r, k);
                const topo::cost& was = old->cells(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
                if (!is.present() || !was.present() || is.from != was.from) continue;
                const double share = is.gb_per_s / was.gb_per_s;
                if (std::abs(share - 1) <= std::max(least_change, is.spread + was.spread)) continue;
                add(share < 1 ? change_kind::slower : change_kind::faster,
                    fmt::format("{} → {}, {}", name(layer.from, r), name(layer.to, k), topo::name_of(layer.by)),
                    fmt::format("{:.4g} GB/s", was.gb_per_s), fmt::format("{:.4g} GB/s", is.gb_per_s), share);
            }
    }

    const node_class& now_;
    const node_class& before_;
    matched_devices devices_;
    const std::vector<int>& gpus_ = devices_.gpus;
    const std::vector<int>& nics_ = devices_.nics;
    comparison out_;
};

topo::severity severity_of(change_kind k) {
    return k == change_kind::faster || k == change_kind::device_added ? topo::severity::info : topo::severity::warning;
}

constexpr const char* keep = "the stored costs were kept; measure again and accept the change if it is meant";

}  // namespace

std::string_view name_of(change_kind k) noexcept {
    switch (k) {
        case change_kind::device_missing: return "device_missing";
        case change_kind::device_added: return "device_added";
        case change_kind::degraded_nvlink: return "degraded_nvlink";
        case change_kind::link_changed: return "link_changed";
        case change_kind::swapped_nic: return "swapped_nic";
        case change_kind::slower: return "slower";
        case change_kind::faster: return "faster";
    }
    return "changed";
}

bool comparison::degraded() const noexcept {
    return std::any_of(changes.begin(), changes.end(),
                       [](const change& c) { return severity_of(c.kind) == topo::severity::warning; });
}

comparison compare(const topo::node_description& now, const topo::node_description& stored) {
    return comparer(now.hardware, stored.hardware).all();
}

topo::findings to_findings(const comparison& c) {
    topo::findings out;
    const change* worst[2] = {nullptr, nullptr};  // slower, faster
    std::size_t count[2] = {0, 0};
    for (const auto& one : c.changes) {
        if (one.kind == change_kind::slower || one.kind == change_kind::faster) {
            const std::size_t i = one.kind == change_kind::slower ? 0 : 1;
            const change*& w = worst[i];
            ++count[i];
            if (w == nullptr || std::abs(std::log(one.share)) > std::abs(std::log(w->share))) w = &one;
            continue;
        }
        out.push_back({severity_of(one.kind), one.where,
                       fmt::format("{}: {} before, {} now", name_of(one.kind), one.before, one.now), keep});
    }
    for (std::size_t i = 0; i < 2; ++i) {
        if (worst[i] == nullptr) continue;
        std::string text =
            fmt::format("{}: {} before, {} now", name_of(worst[i]->kind), worst[i]->before, worst[i]->now);
        if (count[i] > 1) text += fmt::format(", and {}", topo::counted(count[i] - 1, "more cost"));
        out.push_back({severity_of(worst[i]->kind), worst[i]->where, std::move(text), keep});
    }
    return out;
}

}  // namespace calibrate

// SPDX-License-Identifier: Apache-2.0
#include "calibrate/drift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "calibrate/compare.hpp"
#include "calibrate/findings.hpp"
#include "calibrate/identity.hpp"
#include "calibrate/plan.hpp"
#include "topo/counted.hpp"

namespace calibrate {
namespace {

using topo::endpoint;
using topo::severity;

constexpr int absent = matched_devices::absent;

bool touches(const cell& c, place p) { return c.from == p || c.to == p; }

bool by_nic(const cell& c) { return c.from.kind == endpoint::nic || c.to.kind == endpoint::nic; }

topo::link_class link_of(const topo::node_class& hw, const cell& c) {
    place a = c.from, b = c.to;
    if (a.kind != endpoint::gpu) std::swap(a, b);
    if (b.kind == endpoint::gpu && !hw.gpu_links.empty()) return hw.gpu_links(a.index, b.index).kind;
    if (b.kind == endpoint::nic && !hw.nic_links.empty()) return hw.nic_links(a.index, b.index).kind;
    return topo::link_class::unknown;
}

double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

class drift_check {
public:
    drift_check(machine& m, const topo::node_description& stored, const topo::node_class* class_of,
                const drift_options& options, observer& watcher)
        : machine_(m), stored_(stored), class_of_(class_of), options_(options), watcher_(watcher) {}

    topo::result<drift_report> run() {
        const double started = machine_.now_us();
        auto p = make_plan(machine_, {});
        if (!p) return p.failure();
        plan_ = std::move(*p);
        devices_ = match_devices(now(), before());
        out_.tier = options_.tier;
        for (const auto& l : before().layers)
            for (std::size_t r = 0; r < l.cells.rows(); ++r)
                for (std::size_t c = 0; c < l.cells.columns(); ++c) out_.stored_costs += l.cells(r, c).present();
        auto seen = machine_.read_counters();
        if (!seen) return seen.failure();
        find_facts(*seen);
        out_.complete = true;
        if (options_.tier != check_tier::facts) {
            if (auto done = measure([this](const cell& c) { return chosen(c); }, false); !done) return done.failure();
            if (auto done = confirm(); !done) return done.failure();
            if (options_.tier == check_tier::sample && out_.complete)
                if (auto done = widen(); !done) return done.failure();
            name_cells();
        }
        out_.changed = std::any_of(out_.changes.begin(), out_.changes.end(),
                                   [](const topo::finding& f) { return f.level != severity::info; }) ||
                       std::any_of(out_.cells.begin(), out_.cells.end(),
                                   [&](const drift_cell& c) { return c.changed && !as_class(c); });
        accept();
        out_.seconds = (machine_.now_us() - started) * 1e-6;
        return std::move(out_);
    }

private:
    [[nodiscard]] const topo::node_class& now() const { return plan_.what.hardware; }
    [[nodiscard]] const topo::node_class& before() const { return stored_.hardware; }
    [[nodiscard]] bool cancelled() const {
        return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
    }
    void tell(severity level, std::string where, std::string what, std::string remedy) {
        for (const auto& old : stored_.notes)
            if (old.where == where && old.what == what) return;  // known and accepted
        const auto name = [](const std::string& text) { return text.substr(0, text.find(':')); };
        for (const auto& old : out_.changes)
            if (old.where == where && name(old.what) == name(what)) return;
        out_.changes.push_back({level, std::move(where), std::move(what), std::move(remedy)});
    }

    // ---- facts

    void find_facts(const counters& seen) {
        for (const auto& f : judge(plan_.what, {}, seen))
            if (f.level == severity::warning) tell(f.level, f.where, f.what, f.remedy);
        topo::node_description bare_now, bare_before;
        bare_now.hardware = now();
        bare_before.hardware = before();
        bare_now.hardware.layers.clear();
        bare_before.hardware.layers.clear();  // so that the nearest NIC goes by links on both sides
        for (const auto& c : compare(bare_now, bare_before).changes) {
            const bool more = c.kind == change_kind::device_added;
            tell(more ? severity::info : severity::warning, c.where,
                 fmt::format("{}: {} before, {} now", name_of(c.kind), c.before, c.now),
                 more ? "calibrate the node anew to use it"
                      : "look at the device; if the change is meant, calibrate the node anew");
        }
        for (std::size_t n = 0; n < std::min(seen.nics.size(), now().nics.size()); ++n) {
            const auto& is = seen.nics[n];
            if (!is.up)
                tell(severity::warning, now().nics[n].name, "nic_down: its port is down",
                     "check cable and switch port");
            const int old = devices_.nics[n];
            if (!is.up || is.gb_per_s <= 0 || old == absent) continue;
            const auto was = before().nics[static_cast<std::size_t>(old)].gb_per_s;
            if (was && is.gb_per_s < *was * (1 - drift_least))
                tell(severity::warning, now().nics[n].name,
                     fmt::format("slow_port: {:.4g} GB/s, {:.4g} before", is.gb_per_s, *was),
                     "check the cable and what the switch port negotiated");
        }
        const auto version = [&](const char* name, const std::string& is, const std::string& was) {
            if (!is.empty() && !was.empty() && is != was)
                tell(severity::info, plan_.what.host, fmt::format("{}_changed: {} before, {} now", name, was, is),
                     "costs may have changed with it: check --tier full");
        };
        version("driver", now().made_by.driver, before().made_by.driver);
        version("firmware", now().made_by.firmware, before().made_by.firmware);
    }

    // ---- costs

    [[nodiscard]] const topo::cost* stored_cost(const cell& c) const {
        const int row = devices_.of(c.from.kind)[c.from.index], column = devices_.of(c.to.kind)[c.to.index];
        if (row == absent || column == absent) return nullptr;
        const topo::cost_layer* layer = before().layer(c.from.kind, c.to.kind, c.by);
        if (layer == nullptr) return nullptr;
        const topo::cost& was = layer->cells(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
        return was.present() ? &was : nullptr;
    }

    // A sample: each GPU to one other (and so from one other), to its nearest NIC and back, to its own NUMA node and
    // back.
    [[nodiscard]] bool chosen(const cell& c) {
        if (options_.tier == check_tier::full) return true;
        const std::size_t n = now().gpus.size();
        if (c.from.kind == endpoint::gpu && c.to.kind == endpoint::gpu) {
            if (n < 2) return true;
            const std::size_t shift = 1 + options_.seed % (n - 1);
            return (c.from.index + shift) % n == c.to.index;
        }
        const place gpu = c.from.kind == endpoint::gpu ? c.from : c.to;
        const place far = c.from.kind == endpoint::gpu ? c.to : c.from;
        if (far.kind == endpoint::nic) {
            if (nearest_.empty()) nearest_ = topo::nearest_nics(now());
            return nearest_[gpu.index] == static_cast<int>(far.index);
        }
        const int numa = now().gpus[gpu.index].numa;
        return numa == topo::unknown_numa ? far.index == 0 : now().numa[far.index].id == numa;
    }

    template <class Wanted>
    topo::result<topo::done> measure(Wanted&& wanted, bool alone) {
        plan some;
        some.what = plan_.what;
        for (const auto& r : plan_.rounds) {
            round kept;
            for (const cell& c : r.cells)
                if (stored_cost(c) != nullptr && wanted(c)) kept.cells.push_back(c);
            if (kept.cells.empty()) continue;
            some.cells += kept.cells.size();
            if (!alone) {
                some.rounds.push_back(std::move(kept));
                continue;
            }
            for (const cell& c : kept.cells) some.rounds.push_back({{c}});
        }
        if (some.cells == 0) return topo::done{};
        some.seconds = plan_.seconds * static_cast<double>(some.cells) /
                       static_cast<double>(std::max<std::size_t>(1, plan_.cells));
        run_options how;
        how.seed = options_.seed;
        how.tool = options_.tool;
        how.force = options_.force;
        how.cancel = options_.cancel;
        auto got = run_node(machine_, some, how, watcher_);
        if (!got) return got.failure();
        if (!got->complete) out_.complete = false;
        for (const auto& report : got->cells) keep(report);
        return topo::done{};
    }

    void keep(const cell_report& report) {
        const topo::cost& was = *stored_cost(report.where);
        if (was.from != report.value.from) return;  // a simulated cost says nothing about a measured one
        auto known = std::find_if(out_.cells.begin(), out_.cells.end(),
                                  [&](const drift_cell& c) { return c.where == report.where; });
        drift_cell fresh;
        fresh.where = report.where;
        fresh.before = was;
        fresh.now = report.value;
        fresh.limit = limit_of(report.where, was, report.value);
        fresh.noisy = report.noisy || report.disturbed;
        fresh.staged = report.path == memory_path::host_staged;
        const bool off = std::abs(std::log(fresh.share())) > fresh.limit;
        if (known == out_.cells.end()) {
            fresh.changed = off;  // until it is measured again
            out_.cells.push_back(fresh);
            return;
        }
        const bool same_side = (known->share() < 1) == (fresh.share() < 1);
        fresh.changed = known->changed && off && same_side;
        *known = fresh;
    }

    // How far a cost of its kind may be from what was stored.
    [[nodiscard]] double limit_of(const cell& c, const topo::cost& was, const topo::cost& is) {
        const auto kind = std::tuple(c.from.kind, c.to.kind, c.by, link_of(now(), c));
        auto known = scatter_.find(kind);
        if (known == scatter_.end()) {
            std::vector<double> all;
            for (const auto& r : plan_.rounds)
                for (const cell& other : r.cells)
                    if (std::tuple(other.from.kind, other.to.kind, other.by, link_of(now(), other)) == kind)
                        if (const topo::cost* cost = stored_cost(other)) all.push_back(std::log(cost->gb_per_s));
            const double middle = median(all);
            for (double& v : all) v = std::abs(v - middle);
            known = scatter_.emplace(kind, median(all)).first;
        }
        const double least = std::log1p(drift_least), most = std::log1p(drift_most);
        return std::clamp(std::max(3 * known->second, was.spread + is.spread), least, most);
    }

    topo::result<topo::done> confirm() {
        if (cancelled()) return topo::done{};
        std::vector<cell> doubtful;
        for (const auto& c : out_.cells)
            if (c.changed) doubtful.push_back(c.where);
        if (doubtful.empty()) return topo::done{};
        return measure([&](const cell& c) { return std::find(doubtful.begin(), doubtful.end(), c) != doubtful.end(); },
                       true);
    }

    // What a sample found may be one pair, or a whole device: the rest of its costs tells, and they are stale too.
    topo::result<topo::done> widen() {
        std::vector<place> suspects;
        for (const auto& c : out_.cells)
            if (c.changed)
                for (const place p : {c.where.from, c.where.to})
                    if (p.kind != endpoint::host && std::find(suspects.begin(), suspects.end(), p) == suspects.end())
                        suspects.push_back(p);
        for (const auto& f : out_.changes)
            for (std::size_t g = 0; f.level == severity::warning && g < now().gpus.size(); ++g) {
                const auto& name = now().gpus[g].name;
                const bool its = f.where == name || f.where.starts_with(name + "-") || f.where.ends_with("-" + name);
                const place p{endpoint::gpu, g};
                if (its && std::find(suspects.begin(), suspects.end(), p) == suspects.end()) suspects.push_back(p);
            }
        if (suspects.empty() || cancelled()) return topo::done{};
        const auto measured = [&](const cell& c) {
            return std::any_of(out_.cells.begin(), out_.cells.end(), [&](const drift_cell& d) { return d.where == c; });
        };
        if (auto done = measure(
                [&](const cell& c) {
                    return !measured(c) &&
                           std::any_of(suspects.begin(), suspects.end(), [&](const place& p) { return touches(c, p); });
                },
                false);
            !done)
            return done;
        return confirm();
    }

    // ---- names

    [[nodiscard]] bool as_class(const drift_cell& c) const {
        if (class_of_ == nullptr) return false;
        const topo::cost_layer* layer = class_of_->layer(c.where.from.kind, c.where.to.kind, c.where.by);
        const int row = devices_.of(c.where.from.kind)[c.where.from.index];
        const int column = devices_.of(c.where.to.kind)[c.where.to.index];
        if (layer == nullptr || row == absent || column == absent || row >= static_cast<int>(layer->cells.rows()) ||
            column >= static_cast<int>(layer->cells.columns()))
            return false;
        const topo::cost& usual = layer->cells(static_cast<std::size_t>(row), static_cast<std::size_t>(column));
        return usual.present() && std::abs(std::log(c.now.gb_per_s / usual.gb_per_s)) <= c.limit;
    }

    // A fact already says why.
    [[nodiscard]] bool explained(const cell& c) const {
        const std::string from = name_of(c.from, now()), to = name_of(c.to, now());
        return std::any_of(out_.changes.begin(), out_.changes.end(), [&](const topo::finding& f) {
            if (f.where == from + "-" + to || f.where == to + "-" + from) return true;
            const bool slot = f.what.starts_with("pcie_") || f.what.starts_with("nic_") ||
                              f.what.starts_with("slow_port") || f.what.starts_with("degraded_nvlink");
            return slot && (f.where == from || f.where == to);
        });
    }

    std::string figures(const std::vector<const drift_cell*>& its) const {
        const auto worst = *std::min_element(its.begin(), its.end(), [](const auto* a, const auto* b) {
            return std::abs(std::log(a->share())) > std::abs(std::log(b->share()));
        });
        std::string text = fmt::format("{:.4g} GB/s, {:.4g} before ({})", worst->now.gb_per_s, worst->before.gb_per_s,
                                       text_of(worst->where, now()));
        if (its.size() > 1) text += fmt::format(", and {}", topo::counted(its.size() - 1, "more cost"));
        return text;
    }

    void name_cells() {
        std::vector<const drift_cell*> slower, faster, usual, staged;
        for (const auto& c : out_.cells) {
            if (c.noisy)
                tell(severity::info, text_of(c.where, now()), "noisy: the measurement scatters too much to judge",
                     "check again on an idle node");
            if (!c.changed || c.noisy) continue;
            if (as_class(c))
                usual.push_back(&c);
            else if (c.share() > 1)
                faster.push_back(&c);
            else if (c.staged && by_nic(c.where))
                staged.push_back(&c);
            else if (!explained(c.where))
                slower.push_back(&c);
        }
        if (!staged.empty())
            tell(severity::warning, plan_.what.host,
                 fmt::format("gdr_lost: {} now go through host memory; {}",
                             topo::counted(staged.size(), "GPU-NIC cost"), figures(staged)),
                 "load nvidia-peermem, or use open kernel modules and Linux 5.12 or newer for dma-buf");
        name_devices(slower);
        name_pairs(slower);
        if (!faster.empty())
            tell(severity::info, plan_.what.host, "faster: " + figures(faster),
                 "take it over with --accept if it is meant");
        if (!usual.empty())
            tell(severity::info, plan_.what.host,
                 fmt::format("as_class: {} left the stored values and are as the class has them: {}",
                             topo::counted(usual.size(), "cost"), figures(usual)),
                 "the stored values were off: take the new ones over with --accept");
    }

    // As few devices as explain the slow cells, while one has two partners or more.
    void name_devices(std::vector<const drift_cell*>& rest) {
        const auto key = [](place p) { return std::pair(p.kind, p.index); };
        while (!rest.empty()) {
            std::map<std::pair<endpoint, std::size_t>, std::set<std::pair<endpoint, std::size_t>>> partners;
            for (const auto* c : rest) {
                partners[key(c->where.from)].insert(key(c->where.to));
                partners[key(c->where.to)].insert(key(c->where.from));
            }
            const auto worst = std::max_element(partners.begin(), partners.end(), [](const auto& a, const auto& b) {
                return a.second.size() < b.second.size();
            });
            const place device{worst->first.first, worst->first.second};
            if (worst->second.size() < 2) return;
            std::vector<const drift_cell*> its;
            for (const auto* c : rest)
                if (touches(c->where, device)) its.push_back(c);
            std::erase_if(rest, [&](const auto* c) { return touches(c->where, device); });
            const bool nic = device.kind == endpoint::nic;
            const char* what = nic ? "slow_rail" : device.kind == endpoint::gpu ? "slow_gpu" : "slow_numa";
            tell(severity::warning, name_of(device, now()), fmt::format("{}: {}", what, figures(its)),
                 nic ? "check its cable, port rate, PCIe width and firmware"
                     : "check its slot, clocks and PCIe settings (ACS, IOMMU)");
        }
    }

    void name_pairs(const std::vector<const drift_cell*>& rest) {
        std::map<std::string, std::vector<const drift_cell*>> pairs;
        for (const auto* c : rest) {
            std::string a = name_of(c->where.from, now()), b = name_of(c->where.to, now());
            if (std::pair(c->where.to.kind, c->where.to.index) < std::pair(c->where.from.kind, c->where.from.index))
                std::swap(a, b);
            pairs[a + "-" + b].push_back(c);
        }
        for (const auto& [where, its] : pairs)
            tell(severity::warning, where, "slow_pair: " + figures(its),
                 "check the links, bridges and PCIe settings (ACS, IOMMU) between them");
    }

    // ---- taking over

    void accept() {
        if (!out_.complete) {
            out_.not_acceptable = "the check was stopped; let it run to its end first";
            return;
        }
        if (!devices_.unchanged(now(), before())) {
            out_.not_acceptable = "devices came, went or changed places; calibrate the node anew";
            return;
        }
        out_.accepted = stored_;
        auto& hw = out_.accepted.hardware;
        hw.gpu_links = now().gpu_links;
        hw.nic_links = now().nic_links;
        for (const auto& c : out_.cells) {
            if (!c.changed || c.noisy) continue;
            for (auto& l : hw.layers)
                if (l.from == c.where.from.kind && l.to == c.where.to.kind && l.by == c.where.by && !l.loaded)
                    l.cells(c.where.from.index, c.where.to.index) = c.now;
        }
        hw.made_by.tool = options_.tool;
        hw.made_by.time = machine_.unix_time();
        for (const auto& f : out_.changes) out_.accepted.notes.push_back(f);
    }

    machine& machine_;
    const topo::node_description& stored_;
    const topo::node_class* class_of_;
    const drift_options& options_;
    observer& watcher_;
    plan plan_;
    matched_devices devices_;
    std::vector<int> nearest_;
    std::map<std::tuple<endpoint, endpoint, topo::engine, topo::link_class>, double> scatter_;
    drift_report out_;
};

}  // namespace

std::string_view name_of(check_tier t) noexcept {
    switch (t) {
        case check_tier::facts: return "facts";
        case check_tier::sample: return "sample";
        case check_tier::full: return "full";
    }
    return "unknown";
}

topo::result<drift_report> check_drift(machine& m, const topo::node_description& stored,
                                       const topo::node_class* class_of, const drift_options& options,
                                       observer& watcher) {
    return drift_check(m, stored, class_of, options, watcher).run();
}

}  // namespace calibrate

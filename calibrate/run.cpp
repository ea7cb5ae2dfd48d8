// SPDX-License-Identifier: Apache-2.0
#include "calibrate/run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "calibrate/findings.hpp"
#include "calibrate/journal.hpp"
#include "calibrate/measure.hpp"

namespace calibrate {
namespace {

using topo::endpoint;

class node_run {
public:
    node_run(machine& m, const plan& what, const run_options& options, observer& watcher, journal log)
        : machine_(m),
          plan_(what),
          options_(options),
          watcher_(watcher),
          log_(std::move(log)),
          measurer_(m, what.what, options),
          cells_(log_.finished()) {}

    topo::result<run_output> go() {
        started_us_ = machine_.now_us();
        started_ = machine_.unix_time();
        resumed_ = cells_.size();
        if (auto idle = refuse_busy(); !idle) return idle.failure();
        for (const round& r : plan_.rounds) {
            if (auto ran = run_round(r); !ran) return ran.failure();
            if (cancelled()) return finish(false);
        }
        if (auto again = measure_off_cells_again(); !again) return again.failure();
        return finish(!cancelled());
    }

private:
    [[nodiscard]] bool cancelled() const {
        return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
    }

    [[nodiscard]] const cell_report* finished(const cell& c) const {
        const auto found = std::find_if(cells_.begin(), cells_.end(), [&](const auto& r) { return r.where == c; });
        return found == cells_.end() ? nullptr : &*found;
    }

    topo::result<topo::done> refuse_busy() {
        if (options_.force) return topo::done{};
        auto now = machine_.read_counters();
        if (!now) return now.failure();
        for (std::size_t g = 0; g < now->gpus.size(); ++g)
            if (!now->gpus[g].busy.empty())
                return topo::error{topo::errc::refused, plan_.what.hardware.gpus[g].name,
                                   fmt::format("in use by process {}", fmt::join(now->gpus[g].busy, ", ")),
                                   "drain the node first, or measure all the same with --force"};
        return topo::done{};
    }

    void tell_progress(std::string_view what) {
        const double spent = (machine_.now_us() - started_us_) * 1e-6;
        const auto total = static_cast<double>(plan_.cells);
        const double done = static_cast<double>(std::min(cells_.size(), plan_.cells));
        // Cells differ widely in time, so the plan's estimate counts until a tenth is done.
        const double fresh = done - static_cast<double>(resumed_);
        const double by_plan = plan_.seconds * (total - done) / total;
        const double by_pace = fresh > 0 ? spent / fresh * (total - done) : by_plan;
        const double trust = std::clamp(10 * fresh / total, 0.0, 1.0);
        watcher_.on_progress(
            {std::min(cells_.size(), plan_.cells), plan_.cells, trust * by_pace + (1 - trust) * by_plan, what});
    }

    topo::result<topo::done> run_round(const round& r) {
        std::vector<cell> open;
        for (const cell& c : r.cells)
            if (finished(c) == nullptr) open.push_back(c);
        if (open.empty()) return topo::done{};
        std::string title = text_of(open.front(), plan_.what.hardware);
        if (open.size() > 1) title += fmt::format(" (+{})", open.size() - 1);
        tell_progress(title);
        auto reports = measurer_.measure(open);
        if (!reports) return reports.failure();
        for (const auto& report : *reports) {
            cells_.push_back(report);
            if (auto kept = log_.add(report); !kept) return kept;
            watcher_.on_cell(report);
        }
        return topo::done{};
    }

    // A cell off its class is measured once more, alone: what was a disturbance goes, what is a fault stays.
    topo::result<topo::done> measure_off_cells_again() {
        for (const auto& off : off_class(plan_.what, cells_)) {
            if (cancelled()) return topo::done{};
            cell_report& report = cells_[off.index];
            if (report.repeats > 0) continue;  // already done twice, by this run or the one it resumes
            tell_progress(text_of(report.where, plan_.what.hardware) + " (again)");
            auto again = measurer_.measure({&report.where, 1});
            if (!again) return again.failure();
            if (again->empty()) return topo::done{};
            again->front().repeats += 1;
            report = again->front();
            if (auto kept = log_.add(report); !kept) return kept;
            watcher_.on_cell(report);
        }
        return topo::done{};
    }

    topo::result<run_output> finish(bool complete) {
        run_output out;
        out.complete = complete;
        out.done = cells_.size();
        out.total = plan_.cells;
        out.seconds = (machine_.now_us() - started_us_) * 1e-6;
        std::sort(cells_.begin(), cells_.end(), [](const cell_report& a, const cell_report& b) {
            const auto key = [](const cell& c) {
                return std::tuple{c.from.kind, c.to.kind, c.by, c.from.index, c.to.index};
            };
            return key(a.where) < key(b.where);
        });
        out.cells = cells_;
        out.node = describe();
        auto now = machine_.read_counters();
        if (!now) return now.failure();
        for (const auto& f : judge(plan_.what, cells_, *now)) {
            out.node.notes.push_back(f);
            watcher_.on_finding(f);
        }
        tell_progress(complete ? "done" : "stopped");
        return out;
    }

    [[nodiscard]] topo::node_description describe() const {
        const inventory& what = plan_.what;
        topo::node_description node;
        node.host = what.host;
        node.hardware = what.hardware;
        node.notes = what.notes;
        node.hardware.layers = layers();
        node.hardware.locality_trusted = what.hardware.locality_trusted && !flat_guest(what.hardware);
        node.hardware.made_by.tool = options_.tool;
        node.hardware.made_by.host = what.host;
        node.hardware.made_by.input = what.model;
        node.hardware.made_by.time = started_;
        return node;
    }

    [[nodiscard]] std::vector<topo::cost_layer> layers() const {
        const auto& hw = plan_.what.hardware;
        const auto size = [&](endpoint e) {
            return e == endpoint::gpu ? hw.gpus.size() : e == endpoint::nic ? hw.nics.size() : hw.numa.size();
        };
        std::vector<topo::cost_layer> out;
        for (const auto& r : cells_) {
            const auto& c = r.where;
            auto layer = std::find_if(out.begin(), out.end(), [&](const topo::cost_layer& l) {
                return l.from == c.from.kind && l.to == c.to.kind && l.by == c.by;
            });
            if (layer == out.end()) {
                out.push_back({c.from.kind, c.to.kind, c.by, false,
                               topo::matrix<topo::cost>(size(c.from.kind), size(c.to.kind))});
                layer = std::prev(out.end());
            }
            layer->cells(c.from.index, c.to.index) = r.value;
        }
        std::erase_if(out, [](const topo::cost_layer& l) {  // a layer with a hole says nothing a reader may use
            for (std::size_t row = 0; row < l.cells.rows(); ++row)
                for (std::size_t column = 0; column < l.cells.columns(); ++column)
                    if (!(l.from == l.to && row == column) && !l.cells(row, column).present()) return true;
            return false;
        });
        return out;
    }

    machine& machine_;
    const plan& plan_;
    const run_options& options_;
    observer& watcher_;
    journal log_;
    measurer measurer_;
    std::vector<cell_report> cells_;
    std::size_t resumed_ = 0;
    double started_us_ = 0;
    std::int64_t started_ = 0;
};

}  // namespace

topo::result<run_output> run_node(machine& m, const plan& what, const run_options& options, observer& watcher) {
    journal log;
    if (!options.log_path.empty()) {
        auto opened = journal::open(options.log_path, what.what, options.resume);
        if (!opened) return opened.failure();
        log = std::move(*opened);
    }
    return node_run(m, what, options, watcher, std::move(log)).go();
}

}  // namespace calibrate

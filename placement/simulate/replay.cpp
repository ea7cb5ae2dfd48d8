// SPDX-License-Identifier: Apache-2.0
#include "placement/simulate/replay.hpp"

#include <algorithm>
#include <deque>
#include <limits>
#include <set>

namespace placement::simulate {
namespace {

constexpr double never = std::numeric_limits<double>::infinity();
constexpr std::uint64_t watch_every = 256;  // events

class run {
public:
    run(const trace& t, const topo::cluster& c, decider& by, const replay_options& options)
        : trace_(t), by_(by), options_(options), free_(c, by.net()), later_(free_), empty_(free_) {
        out_.policy = by.by().name;
        out_.gpus = free_.gpus();
        out_.level_bytes.assign(static_cast<std::size_t>(by.net().levels()), 0.0);
        out_.started.reserve(t.jobs.size());
        held_by_.resize(t.jobs.size());
        const double span = t.jobs.empty() ? 0 : t.jobs.back().submit_s;
        window_from_ = 0.1 * span;
        window_to_ = span > 0 ? span : never;
        out_.over_time = series(std::max(1.0, span / 300));
        trial_.reserve(free_.node_count(), 1);
    }

    replayed go() {
        std::uint64_t events = 0;
        while (next_ < trace_.jobs.size() || !running_.empty()) {
            const double arrival = next_ < trace_.jobs.size() ? trace_.jobs[next_].submit_s : never;
            const double end = running_.empty() ? never : running_.begin()->first;
            pass_time(std::min(arrival, end));
            while (!running_.empty() && running_.begin()->first <= now_) finish_first();
            for (; next_ < trace_.jobs.size() && trace_.jobs[next_].submit_s <= now_; ++next_) arrive();
            schedule();
            if (++events % watch_every == 0 && options_.watch && !options_.watch(done())) {
                out_.complete = false;
                break;
            }
        }
        if (out_.complete) out_.not_placed = waiting_.size();
        out_.end_s = now_;
        return std::move(out_);
    }

private:
    [[nodiscard]] shape shape_at(std::uint32_t job) const noexcept {
        return shape_of(trace_.jobs[job], free_.node_gpus());
    }
    [[nodiscard]] std::uint64_t done() const noexcept { return out_.started.size() + out_.never_fits; }

    void pass_time(double to) {
        const double from = std::max(now_, window_from_);
        const double until = std::min(to, window_to_);
        if (until > from) out_.measured.add(held(free_, waiting_.size(), until - from));
        if (to > now_) out_.over_time.add(now_, to, free_, waiting_.size());
        now_ = to;
    }

    void arrive() {
        if (empty_.fits(shape_at(next_)))
            waiting_.push_back(next_);
        else
            ++out_.never_fits;
    }

    void set_free(std::uint32_t node, gpu_mask mask) {
        free_.set_free(node, mask);
        by_.set_free(node, mask);
    }

    void finish_first() {
        const std::uint32_t job = running_.begin()->second;
        running_.erase(running_.begin());
        for (const auto& s : held_by_[job]) set_free(s.node.value, free_.free(s.node.value) | s.gpus);
        held_by_[job].clear();
        held_by_[job].shrink_to_fit();
    }

    // Asks the policy; the answer is in trial_.
    bool ask(const shape& s) {
        const std::uint64_t before = options_.now_ns != nullptr ? options_.now_ns() : 0;
        const bool placed = by_.place(s, free_, trial_);
        const std::uint64_t after = options_.now_ns != nullptr ? options_.now_ns() : 0;
        out_.decision_ns.push_back(after - before);
        return placed;
    }

    void start(std::uint32_t job, const shape& s) {
        by_.score(s, trial_);
        started_job entry;
        entry.job = job;
        entry.start_s = now_;
        entry.step_us = trial_.predicted.step_us;
        entry.nodes = static_cast<std::uint32_t>(trial_.nodes.size());
        entry.leaves = count_links(s);
        out_.simulated |= trial_.predicted.simulated;
        out_.estimated |= trial_.predicted.estimated;
        out_.started.push_back(entry);
        if (options_.on_start) options_.on_start(entry, trial_.nodes);
        for (const auto& share : trial_.nodes) set_free(share.node.value, free_.free(share.node.value) & ~share.gpus);
        held_by_[job] = trial_.nodes;
        running_.emplace(now_ + trace_.jobs[job].duration_s, job);
    }

    // A ring: every hop carries 2(p − 1)/p of the message. Gives the number of leaves touched.
    std::uint32_t count_links(const shape& s) {
        const auto& nodes = trial_.nodes;
        const double p = s.gpus();
        const double bytes = 2 * (p - 1) / p * by_.message_bytes();
        leaves_.clear();
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            leaves_.push_back(by_.net().group_of(nodes[i].node.value, 0));
            if (nodes.size() < 2) break;
            const int common = by_.net().level_of(nodes[i].node.value, nodes[(i + 1) % nodes.size()].node.value);
            for (int l = 0; l <= common && l < by_.net().levels(); ++l)
                out_.level_bytes[static_cast<std::size_t>(l)] += bytes;
        }
        std::sort(leaves_.begin(), leaves_.end());
        return static_cast<std::uint32_t>(std::unique(leaves_.begin(), leaves_.end()) - leaves_.begin());
    }

    void schedule() {
        while (!waiting_.empty()) {
            const shape s = shape_at(waiting_.front());
            if (!free_.fits(s) || !ask(s)) break;
            start(waiting_.front(), s);
            waiting_.pop_front();
        }
        if (options_.queue == discipline::easy && waiting_.size() > 1) backfill();
    }

    // The earliest time at which the first waiting job fits, when nothing but what runs now runs; and what is free
    // then. Durations are exact, so it holds until that job starts.
    void reserve() {
        const std::uint32_t head = waiting_.front();
        if (reserved_for_ == head && reserved_) return;
        reserved_for_ = head;
        reserved_ = true;
        later_ = free_;
        reserved_at_ = never;
        const shape s = shape_at(head);
        for (const auto& [end, job] : running_) {
            if (end > reserved_at_) break;
            for (const auto& share : held_by_[job])
                later_.set_free(share.node.value, later_.free(share.node.value) | share.gpus);
            if (later_.fits(s)) reserved_at_ = end;
        }
    }

    // What a job that still runs at the reserved time would take then. True when the first waiting job still fits.
    bool leaves_room(const shape& head) {
        for (const auto& share : trial_.nodes)
            later_.set_free(share.node.value, later_.free(share.node.value) & ~share.gpus);
        if (later_.fits(head)) return true;
        for (const auto& share : trial_.nodes)
            later_.set_free(share.node.value, later_.free(share.node.value) | share.gpus);
        return false;
    }

    void backfill() {
        reserve();
        const shape head = shape_at(waiting_.front());
        std::size_t seen = 0;
        for (std::size_t i = 1; i < waiting_.size() && seen < options_.backfill_depth; ++seen) {
            const std::uint32_t job = waiting_[i];
            const shape s = shape_at(job);
            const bool ends_before = now_ + trace_.jobs[job].duration_s <= reserved_at_;
            if (!free_.fits(s) || !ask(s) || (!ends_before && !leaves_room(head))) {
                ++i;
                continue;
            }
            start(job, s);
            waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }

    const trace& trace_;
    decider& by_;
    const replay_options& options_;
    pool free_;
    pool later_;        // at the reserved time
    const pool empty_;  // nothing runs
    replayed out_;
    double now_ = 0;
    double window_from_ = 0;
    double window_to_ = never;
    std::uint32_t next_ = 0;
    std::deque<std::uint32_t> waiting_;
    std::set<std::pair<double, std::uint32_t>> running_;  // by end
    std::vector<std::vector<node_share>> held_by_;
    bool reserved_ = false;
    std::uint32_t reserved_for_ = 0;
    double reserved_at_ = 0;
    answer trial_;
    std::vector<std::uint32_t> leaves_;
};

}  // namespace

replayed replay(const trace& t, const topo::cluster& c, decider& by, const replay_options& options) {
    return run(t, c, by, options).go();
}

}  // namespace placement::simulate

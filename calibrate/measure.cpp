// SPDX-License-Identifier: Apache-2.0
#include "calibrate/measure.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "calibrate/random.hpp"

namespace calibrate {
namespace {

using topo::endpoint;
using topo::engine;

constexpr std::uint64_t mib = 1u << 20;
constexpr std::uint32_t pilot_copies = 4;
constexpr std::uint32_t flag_round_trips = 100;
constexpr std::uint32_t attempts = 3;

bool is_rdma(engine by) { return by == engine::rdma_write || by == engine::rdma_read; }

bool settled(double alpha_spread, double spread) { return std::max(alpha_spread, spread) <= wanted_spread; }

}  // namespace

std::vector<std::uint64_t> sizes_of(engine by) {
    // One RDMA operation of 16 MiB already takes as long as a sample should.
    const std::uint64_t last = is_rdma(by) ? 16 * mib : 256 * mib;
    std::vector<std::uint64_t> out;
    for (std::uint64_t bytes = 64; bytes <= last; bytes *= 4) out.push_back(bytes);
    return out;
}

std::size_t first_samples(std::uint64_t bytes) noexcept { return bytes >= mib ? 9 : 31; }

double rounded(double value, int digits) noexcept {
    if (value == 0 || !std::isfinite(value)) return value;
    const int places = digits - 1 - static_cast<int>(std::floor(std::log10(std::abs(value))));
    const double scale = std::pow(10.0, std::abs(places));  // a power of ten ≥ 1 is exact, its inverse is not
    return places >= 0 ? std::round(value * scale) / scale : std::round(value / scale) * scale;
}

measurer::measurer(machine& m, const inventory& what, const run_options& options)
    : machine_(m), what_(what), options_(options) {}

bool measurer::cancelled() const noexcept {
    return options_.cancel != nullptr && options_.cancel->load(std::memory_order_relaxed);
}

topo::result<buffer_id> measurer::buffer_at(place p) {
    const auto key = std::pair{p.kind, p.index};
    if (const auto found = buffers_.find(key); found != buffers_.end()) return found->second;
    auto made = machine_.allocate(p, 256 * mib);
    if (made) buffers_.emplace(key, *made);
    return made;
}

topo::result<measurer::work> measurer::prepare(const cell& c) {
    work w;
    w.where = c;
    for (const std::uint64_t bytes : sizes_of(c.by)) w.sizes.push_back({static_cast<double>(bytes), {}});
    w.copies.assign(w.sizes.size(), 1);
    if (is_rdma(c.by)) {
        const place memory = c.from.kind == endpoint::nic ? c.to : c.from;
        const std::size_t nic = c.from.kind == endpoint::nic ? c.from.index : c.to.index;
        auto buffer = buffer_at(memory);
        if (!buffer) return buffer.failure();
        const auto key = std::pair{nic, buffer->value};
        if (registered_.find(key) == registered_.end()) {
            auto made = machine_.register_memory(nic, *buffer);
            if (!made) return made.failure();
            registered_.emplace(key, *made);
        }
        w.memory = registered_.at(key);
        w.staged = w.memory.path == memory_path::host_staged;
    } else {
        auto from = buffer_at(c.from);
        auto to = buffer_at(c.to);
        if (!from) return from.failure();
        if (!to) return to.failure();
        w.from = *from;
        w.to = *to;
        if (c.from.kind == endpoint::gpu && c.to.kind == endpoint::gpu) {
            auto path = machine_.enable_peer(c.from.index, c.to.index);
            if (!path) return path.failure();
            w.staged = *path == peer_path::host_staged;
        }
    }
    if (auto right = verify(w); !right) return right.failure();
    return w;
}

topo::result<topo::done> measurer::verify(const work& w) {
    const bool to_memory = w.where.from.kind == endpoint::nic;
    auto equal = is_rdma(w.where.by) ? machine_.verify_rdma({w.where.by, w.memory.id, to_memory, 2 * mib, 1})
                                     : machine_.verify({w.where.by, w.from, w.to, 2 * mib, 1});
    if (!equal) return equal.failure();
    if (*equal) return topo::done{};
    return topo::error{topo::errc::hardware, text_of(w.where, what_.hardware),
                       "this path delivers other bytes than were sent",
                       "take the devices out of service; check cables, IOMMU and ACS settings and the kernel log"};
}

topo::result<topo::done> measurer::time(std::span<work* const> works, std::size_t size, std::span<double> us) {
    if (is_rdma(works.front()->where.by)) {
        std::vector<rdma_operation> together;
        for (const work* w : works)
            together.push_back({w->where.by, w->memory.id, w->where.from.kind == endpoint::nic,
                                static_cast<std::uint64_t>(w->sizes[size].bytes), w->copies[size]});
        return machine_.rdma(together, us);
    }
    std::vector<copy> together;
    for (const work* w : works)
        together.push_back(
            {w->where.by, w->from, w->to, static_cast<std::uint64_t>(w->sizes[size].bytes), w->copies[size]});
    return machine_.timed_copy(together, us);
}

topo::result<topo::done> measurer::take(std::span<work* const> works, std::size_t more) {
    std::vector<double> us(works.size());
    for (std::size_t size = 0; size < works.front()->sizes.size(); ++size) {
        if (works.front()->sizes[size].us.empty()) {  // a warm-up, whose time tells how many copies a sample needs
            for (work* w : works) w->copies[size] = w->sizes[size].bytes < static_cast<double>(mib) ? pilot_copies : 1;
            if (auto ran = time(works, size, us); !ran) return ran;
            for (std::size_t i = 0; i < works.size(); ++i)
                works[i]->copies[size] = static_cast<std::uint32_t>(std::clamp(
                    std::ceil(least_sample_us / std::max(us[i] / works[i]->copies[size], 0.01)), 1.0, 1000.0));
        }
        const auto bytes = static_cast<std::uint64_t>(works.front()->sizes[size].bytes);
        const std::size_t have = works.front()->sizes[size].us.size();
        std::size_t wanted = first_samples(bytes);
        for (std::size_t step = 0; step < more; ++step) wanted = next_sample_count(wanted);
        for (std::size_t n = have; n < wanted; ++n) {
            if (cancelled()) return topo::done{};
            if (auto ran = time(works, size, us); !ran) return ran;
            for (std::size_t i = 0; i < works.size(); ++i)
                works[i]->sizes[size].us.push_back(us[i] / works[i]->copies[size]);
        }
    }
    return works.front()->where.by == engine::sm_copy ? take_flags(works, more)
                                                      : topo::result<topo::done>(topo::done{});
}

topo::result<topo::done> measurer::take_flags(std::span<work* const> works, std::size_t more) {
    std::vector<double> us(works.size());
    std::vector<flag_pair> together;
    for (const work* w : works) together.push_back({w->where.from.index, w->where.to.index, flag_round_trips});
    std::size_t wanted = first_samples(0);
    for (std::size_t step = 0; step < more; ++step) wanted = next_sample_count(wanted);
    for (std::size_t n = works.front()->flags.size(); n < wanted; ++n) {
        if (cancelled()) return topo::done{};
        if (auto ran = machine_.flag_ping_pong(together, us); !ran) return ran;
        for (std::size_t i = 0; i < works.size(); ++i) works[i]->flags.push_back(us[i] / (2.0 * flag_round_trips));
    }
    return topo::done{};
}

topo::result<topo::done> measurer::fit_all(std::span<work* const> works) {
    for (work* w : works) {
        const std::string name = text_of(w->where, what_.hardware);
        const std::uint64_t seed = mix(options_.seed, hash_of(name));
        auto line = fit(w->sizes, seed);
        if (!line) return topo::error{topo::errc::hardware, name, line.failure().what, "measure this node again"};
        w->line = std::move(*line);
        if (w->flags.empty()) continue;
        auto flag = fit_median(w->flags, seed);
        if (!flag) return topo::error{topo::errc::hardware, name, flag.failure().what, "measure this node again"};
        w->flag = *flag;
    }
    return topo::done{};
}

topo::result<topo::done> measurer::sample_until_settled(std::vector<work>& works) {
    std::vector<work*> open;
    for (work& w : works) open.push_back(&w);
    // The largest sizes start at 9 samples and need six steps to reach the limit.
    for (std::size_t more = 0; !open.empty() && more <= 6; ++more) {
        if (auto took = take(open, more); !took || cancelled()) return took;
        if (auto fitted = fit_all(open); !fitted) return fitted;
        std::erase_if(open, [](const work* w) {
            return settled(w->flags.empty() ? w->line.alpha_spread : w->flag.spread, w->line.spread);
        });
    }
    return topo::done{};
}

topo::result<std::vector<bool>> measurer::disturbed(const counters& before, std::span<const cell> cells) {
    auto after = machine_.read_counters();
    if (!after) return after.failure();
    const auto moved = [&](const place& p) {
        if (p.kind == endpoint::nic && p.index < std::min(before.nics.size(), after->nics.size()))
            return before.nics[p.index].symbol_errors != after->nics[p.index].symbol_errors;
        if (p.kind != endpoint::gpu || p.index >= std::min(before.gpus.size(), after->gpus.size())) return false;
        const auto& was = before.gpus[p.index];
        const auto& is = after->gpus[p.index];
        return is.throttled || was.ecc_errors != is.ecc_errors || was.nvlink_replays != is.nvlink_replays ||
               was.pcie_replays != is.pcie_replays || (!options_.force && !is.busy.empty());
    };
    std::vector<bool> out;
    for (const cell& c : cells) out.push_back(moved(c.from) || moved(c.to));
    return out;
}

cell_report measurer::report(const work& w, std::uint32_t repeats, bool was_disturbed) {
    cell_report out;
    out.where = w.where;
    const bool by_flag = !w.flags.empty();
    const double alpha_spread = by_flag ? w.flag.spread : w.line.alpha_spread;
    out.value.alpha_us = rounded(by_flag ? w.flag.value : w.line.alpha_us(), 3);
    out.value.gb_per_s = rounded(w.line.gb_per_s(), 4);
    out.value.from = out.value.alpha_from = what_.from;
    out.value.samples = w.line.samples + static_cast<std::uint32_t>(w.flags.size());
    out.value.spread = rounded(w.line.spread, 2);
    out.value.time = machine_.unix_time();
    out.alpha_spread = rounded(alpha_spread, 2);
    out.outliers = w.line.outliers + w.flag.outliers;
    out.repeats = repeats;
    out.noisy = !settled(alpha_spread, w.line.spread);
    out.disturbed = was_disturbed;
    out.path = w.memory.path;
    out.staged = w.staged;
    return out;
}

topo::result<std::vector<cell_report>> measurer::measure(std::span<const cell> cells) {
    std::vector<cell_report> out(cells.size());
    std::vector<std::size_t> open(cells.size());  // positions in `cells` still to be measured undisturbed
    std::iota(open.begin(), open.end(), std::size_t{0});
    for (std::uint32_t attempt = 0; !open.empty() && attempt < attempts; ++attempt) {
        std::vector<cell> now;
        for (const std::size_t i : open) now.push_back(cells[i]);
        std::vector<work> works;
        for (const cell& c : now) {
            if (cancelled()) return std::vector<cell_report>{};
            auto w = prepare(c);
            if (!w) return w.failure();
            works.push_back(std::move(*w));
        }
        auto before = machine_.read_counters();
        if (!before) return before.failure();
        if (auto sampled = sample_until_settled(works); !sampled) return sampled.failure();
        if (cancelled()) return std::vector<cell_report>{};
        auto moved = disturbed(*before, now);
        if (!moved) return moved.failure();
        std::vector<std::size_t> again;
        for (std::size_t i = 0; i < open.size(); ++i) {
            out[open[i]] = report(works[i], attempt, (*moved)[i]);
            if ((*moved)[i]) again.push_back(open[i]);
        }
        open = std::move(again);
    }
    return out;
}

}  // namespace calibrate

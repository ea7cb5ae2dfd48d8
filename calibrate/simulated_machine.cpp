// SPDX-License-Identifier: Apache-2.0
#include "calibrate/simulated_machine.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <map>
#include <thread>
#include <utility>

namespace calibrate {
namespace {

using topo::endpoint;
using topo::engine;
using topo::link_class;

constexpr std::int64_t epoch = 1767225600;  // the virtual clock starts on 2026-01-01, so that runs are repeatable
constexpr double call_us = 20;              // gate and events of one call
constexpr std::uint64_t largest_buffer = 1ull << 36;

std::uint64_t key_of(place p) { return (static_cast<std::uint64_t>(p.kind) << 16) | p.index; }
std::uint64_t key_of(place from, place to, engine by) {
    return (key_of(from) << 40) | (key_of(to) << 8) | static_cast<std::uint64_t>(by);
}

bool is_nvlink(topo::link l) {
    return l.kind == link_class::nvlink || l.kind == link_class::xgmi || l.kind == link_class::c2c;
}

topo::error missing(std::string what) {
    return {topo::errc::missing, "simulated machine", std::move(what), "enumerate and allocate first"};
}

}  // namespace

simulated_machine::simulated_machine(machine_model model, std::uint64_t seed, std::vector<machine_fault> faults,
                                     double real_time_factor)
    : model_(std::move(model)),
      shown_(model_.hardware),
      seed_(seed),
      faults_(std::move(faults)),
      real_time_factor_(std::clamp(real_time_factor, 0.0, 100.0)),
      replays_(model_.hardware.gpus.size()),
      links_down_(model_.hardware.gpus.size()) {
    apply_faults();
}

void simulated_machine::apply_faults() {
    for (const auto& f : faults_) {
        if (f.kind != fault_kind::nvlink_lost) continue;
        for (const auto& [a, b] : {std::pair{f.a.index, f.b.index}, std::pair{f.b.index, f.a.index}}) {
            topo::link& l = model_.hardware.gpu_links(a, b);
            const int left = std::max(0, l.count - static_cast<int>(f.value));
            links_down_[a] += l.count - left;
            l = left > 0 ? topo::link{link_class::nvlink, static_cast<std::uint16_t>(left)}
                         : topo::link{without_nvlink(model_, a, b), 0};
        }
    }
    shown_.gpu_links = model_.hardware.gpu_links;
    for (auto& l : shown_.nic_links.cells())
        for (const auto& [truth, said] : model_.reported)
            if (l.kind == truth) {
                l.kind = said;
                break;
            }
    for (const auto& f : faults_) {
        if (f.kind == fault_kind::flat_guest) {
            for (auto& l : shown_.nic_links.cells()) l = {link_class::phb, 0};
            for (std::size_t a = 0; a < shown_.gpus.size(); ++a)
                for (std::size_t b = 0; b < shown_.gpus.size(); ++b)
                    if (a != b) shown_.gpu_links(a, b) = {link_class::phb, 0};
            topo::numa_node all{0, {}};
            for (const auto& n : shown_.numa)
                for (const auto& [first, last] : n.cpus.ranges()) all.cpus.insert_range(first, last);
            shown_.numa = {all};
            for (auto& g : shown_.gpus) g.numa = 0, g.cpus = all.cpus;
            for (auto& n : shown_.nics) n.numa = topo::unknown_numa;
        }
        if (f.kind == fault_kind::numa_unknown) {
            for (auto& g : shown_.gpus) g.numa = topo::unknown_numa, g.cpus = {};
            for (auto& n : shown_.nics) n.numa = topo::unknown_numa;
        }
    }
}

bool simulated_machine::known(place p) const {
    const auto& hw = model_.hardware;
    return p.index < (p.kind == endpoint::gpu   ? hw.gpus.size()
                      : p.kind == endpoint::nic ? hw.nics.size()
                                                : hw.numa.size());
}

std::string simulated_machine::name(place p) const {
    const auto& hw = model_.hardware;
    return p.kind == endpoint::gpu   ? hw.gpus[p.index].name
           : p.kind == endpoint::nic ? hw.nics[p.index].name
                                     : fmt::format("NUMA {}", hw.numa[p.index].id);
}

topo::link simulated_machine::link(place a, place b) const { return link_between(model_, a, b); }

topo::result<simulated_machine::pair_state*> simulated_machine::state(place from, place to, engine by) {
    const auto found = pairs_.find(key_of(from, to, by));
    if (found != pairs_.end()) return &found->second;
    if (!known(from) || !known(to) || from == to) return missing("no such pair of devices");
    const auto path = path_between(model_, from, to, link(from, to), by);
    if (!path) return missing(fmt::format("no {} path from {} to {}", topo::name_of(by), name(from), name(to)));
    return &pairs_.emplace(key_of(from, to, by), make_state(from, to, by, *path)).first->second;
}

simulated_machine::pair_state simulated_machine::make_state(place from, place to, engine by, true_path path) const {
    pair_state s;
    s.truth = path;
    s.sigma = model_.noise.sigma;
    s.random = random_stream(mix(mix(seed_, hash_of(model_.name)), key_of(from, to, by)));
    const auto touches = [&](place p) { return p == from || p == to; };
    for (const auto& f : faults_) {
        const bool forward = f.a == from && f.b == to;
        const bool pair = forward || (f.a == to && f.b == from);
        switch (f.kind) {
            case fault_kind::pcie_half: {
                if (!touches(f.a) || is_nvlink(link(from, to)) || link(from, to).kind == link_class::self) break;
                const auto slot =
                    path_of(model_, endpoint::host, endpoint::gpu, {link_class::node, 0}, engine::copy_engine);
                if (slot) s.truth.gb_per_s = std::min(s.truth.gb_per_s, slot->gb_per_s * f.value);
                break;
            }
            case fault_kind::nic_slow:
                if (touches(f.a)) s.truth.gb_per_s *= f.value;
                break;
            case fault_kind::link_slow:
                if (pair) s.truth.gb_per_s *= f.value;
                break;
            case fault_kind::one_way:
                if (forward) s.truth.gb_per_s *= f.value;
                break;
            case fault_kind::noisy:
                if (pair) s.sigma = f.value;
                break;
            case fault_kind::burst:
                if (pair) s.burst_left = f.value;
                break;
            case fault_kind::busy:
                if (touches(f.a)) s.truth.gb_per_s *= 0.8;
                break;
            case fault_kind::throttled:
                if (touches(f.a) && by == engine::sm_copy) s.truth.gb_per_s *= f.value;
                break;
            default: break;
        }
    }
    return s;
}

topo::result<inventory> simulated_machine::enumerate() {
    inventory out;
    out.host = "simulated-" + model_.name;
    out.model = fmt::format("{}, seed {}", model_.name, seed_);
    out.from = topo::source::simulated;
    out.hardware = shown_;
    advance(5e4);
    return out;
}

topo::result<buffer_id> simulated_machine::allocate(place where, std::uint64_t bytes) {
    if (!known(where) || where.kind == endpoint::nic) return missing("no memory at such a place");
    if (bytes == 0 || bytes > largest_buffer)
        return topo::error{topo::errc::limit, name(where), fmt::format("a buffer of {} bytes", bytes),
                           "ask for 1 byte to 64 GiB"};
    buffers_.push_back({where, bytes});
    advance(100 + static_cast<double>(bytes) * 1e-5);
    return buffer_id(buffers_.size() - 1);
}

topo::result<peer_path> simulated_machine::enable_peer(std::size_t from_gpu, std::size_t to_gpu) {
    auto s = state({endpoint::gpu, from_gpu}, {endpoint::gpu, to_gpu}, engine::copy_engine);
    if (!s) return s.failure();
    advance(100);
    return (*s)->truth.staged ? peer_path::host_staged : peer_path::direct;
}

topo::result<place> simulated_machine::buffer_place(buffer_id id, std::uint64_t bytes) const {
    if (!id.valid() || id.value >= buffers_.size()) return missing("no such buffer");
    if (bytes > buffers_[id.value].bytes) return missing("a transfer larger than its buffer");
    return buffers_[id.value].where;
}

bool simulated_machine::corrupts(place a, place b) const {
    return std::any_of(faults_.begin(), faults_.end(), [&](const machine_fault& f) {
        return f.kind == fault_kind::corrupt && ((f.a == a && f.b == b) || (f.a == b && f.b == a));
    });
}

topo::result<bool> simulated_machine::verify(const copy& what) {
    const auto from = buffer_place(what.from, what.bytes);
    const auto to = buffer_place(what.to, what.bytes);
    if (!from) return from.failure();
    if (!to) return to.failure();
    advance(300);
    return !corrupts(*from, *to);
}

topo::result<bool> simulated_machine::verify_rdma(const rdma_operation& what) {
    if (!what.memory.valid() || what.memory.value >= registered_.size()) return missing("no such registration");
    const registered& m = registered_[what.memory.value];
    advance(300);
    return !corrupts({endpoint::nic, m.nic}, m.where);
}

topo::result<topo::done> simulated_machine::timed_copy(std::span<const copy> together, std::span<double> us) {
    std::vector<job> jobs;
    for (const auto& c : together) {
        const auto from = buffer_place(c.from, c.bytes);
        const auto to = buffer_place(c.to, c.bytes);
        if (!from) return from.failure();
        if (!to) return to.failure();
        jobs.push_back({*from, *to, c.by, static_cast<double>(c.bytes), static_cast<double>(c.copies), false});
    }
    return run(jobs, us);
}

topo::result<double> simulated_machine::load_chase(std::size_t gpu, buffer_id memory, std::uint64_t bytes,
                                                   std::uint32_t steps) {
    const auto where = buffer_place(memory, bytes);
    if (!where) return where.failure();
    const job j{{endpoint::gpu, gpu}, *where, engine::sm_load, 0, static_cast<double>(steps), false};
    double us = 0;
    if (auto ran = run({&j, 1}, {&us, 1}); !ran) return ran.failure();
    return us;
}

topo::result<topo::done> simulated_machine::flag_ping_pong(std::span<const flag_pair> together, std::span<double> us) {
    std::vector<job> jobs;
    for (const auto& p : together)
        jobs.push_back({{endpoint::gpu, p.a}, {endpoint::gpu, p.b}, engine::sm_flag, 0, 2.0 * p.round_trips, false});
    return run(jobs, us);
}

topo::result<registration> simulated_machine::register_memory(std::size_t nic, buffer_id memory) {
    const auto where = buffer_place(memory, 0);
    if (!where) return where.failure();
    if (!known({endpoint::nic, nic})) return missing("no such NIC");
    const bool refused = std::any_of(faults_.begin(), faults_.end(),
                                     [](const machine_fault& f) { return f.kind == fault_kind::gdr_refused; });
    const memory_path path = where->kind == endpoint::host ? memory_path::host
                             : refused                     ? memory_path::host_staged
                                                           : memory_path::dma_buf;
    registered_.push_back({nic, *where, path});
    advance(500);
    return registration{registration_id(registered_.size() - 1), path};
}

topo::result<topo::done> simulated_machine::rdma(std::span<const rdma_operation> together, std::span<double> us) {
    std::vector<job> jobs;
    for (const auto& o : together) {
        if (!o.memory.valid() || o.memory.value >= registered_.size()) return missing("no such registration");
        const registered& m = registered_[o.memory.value];
        const place nic{endpoint::nic, m.nic};
        jobs.push_back({o.to_memory ? nic : m.where, o.to_memory ? m.where : nic, o.by, static_cast<double>(o.bytes),
                        static_cast<double>(o.count), m.path == memory_path::host_staged});
    }
    return run(jobs, us);
}

topo::result<topo::done> simulated_machine::touch(const job& j) {
    for (const auto& f : faults_) {
        if (f.a != j.from && f.a != j.to) continue;
        if (f.kind == fault_kind::dies && ++touched_[key_of(f.a)] > f.value)
            return topo::error{topo::errc::hardware, name(f.a), "the device stopped answering",
                               "look at the kernel log, then reset or drain it"};
        if (f.kind == fault_kind::replays) ++replays_[f.a.index];
    }
    return topo::done{};
}

topo::result<topo::done> simulated_machine::run(std::span<const job> jobs, std::span<double> us) {
    if (us.size() < jobs.size()) return missing("fewer places for times than operations");
    std::vector<pair_state*> states;
    for (const auto& j : jobs) {
        auto s = state(j.from, j.to, j.by);
        if (!s) return s.failure();
        if (j.bytes > 0 && (*s)->truth.gb_per_s <= 0) return missing("this engine moves no bulk");
        if (auto alive = touch(j); !alive) return alive.failure();
        states.push_back(*s);
    }
    const std::vector<double> gb_per_s = bandwidths(jobs, states);
    double longest = 0;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        double alpha = states[i]->truth.alpha_us;
        double per_byte = jobs[i].bytes > 0 ? 1 / (gb_per_s[i] * 1e3) : 0;
        if (jobs[i].staged) {  // a second hop through host memory, and its own start
            const auto hop = path_of(model_, endpoint::host, endpoint::gpu, {link_class::node, 0}, engine::copy_engine);
            if (hop) alpha += hop->alpha_us, per_byte += 1 / (hop->gb_per_s * 1e3);
        }
        us[i] = sample(*states[i], jobs[i].count * (alpha + jobs[i].bytes * per_byte));
        longest = std::max(longest, us[i]);
    }
    advance(call_us + longest);
    return topo::done{};
}

// Every port, bridge and socket link is shared equally by those that pass it.
std::vector<double> simulated_machine::bandwidths(std::span<const job> jobs,
                                                  std::span<pair_state* const> states) const {
    std::vector<double> out;
    for (const auto* s : states) out.push_back(s->truth.gb_per_s);
    if (jobs.size() < 2) return out;
    std::map<std::pair<int, std::uint64_t>, double> users;
    std::vector<std::vector<std::pair<int, std::uint64_t>>> passes(jobs.size());
    const auto numa_key = [&](place p) {
        const auto& hw = model_.hardware;
        const int id = p.kind == endpoint::gpu   ? hw.gpus[p.index].numa
                       : p.kind == endpoint::nic ? hw.nics[p.index].numa
                                                 : hw.numa[p.index].id;
        return static_cast<std::uint64_t>(id + 1);
    };
    constexpr int egress = 0, ingress = 1, bridge = 2, socket = 3;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        auto& p = passes[i];
        p.emplace_back(egress, key_of(jobs[i].from));
        p.emplace_back(ingress, key_of(jobs[i].to));
        const link_class kind = link(jobs[i].from, jobs[i].to).kind;
        if (kind == link_class::phb || kind == link_class::node || kind == link_class::sys) {
            p.emplace_back(bridge, numa_key(jobs[i].from));
            if (numa_key(jobs[i].from) != numa_key(jobs[i].to)) p.emplace_back(bridge, numa_key(jobs[i].to));
        }
        if (kind == link_class::sys) p.emplace_back(socket, 0);
        for (const auto& r : p) users[r] += 1;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i)
        for (const auto& r : passes[i]) {
            const double capacity = r.first == bridge   ? model_.shared.bridge_gb_per_s
                                    : r.first == socket ? model_.shared.socket_gb_per_s
                                                        : states[i]->truth.gb_per_s;
            out[i] = std::min(out[i], capacity / users.at(r));
        }
    return out;
}

double simulated_machine::sample(pair_state& s, double us) const {
    const noise_law& law = model_.noise;
    double out = us * std::exp(s.sigma * s.random.normal()) + law.jitter_us * s.random.exponential();
    const double chance = s.random.uniform();
    const double factor = s.random.uniform(law.outlier_low, law.outlier_high);
    if (chance < law.outliers) out *= factor;
    if (s.burst_left > 0) {
        s.burst_left -= 1;
        out *= 10;
    }
    return law.timer_us > 0 ? std::ceil(out / law.timer_us) * law.timer_us : out;
}

topo::result<counters> simulated_machine::read_counters() {
    counters out;
    for (std::size_t g = 0; g < model_.hardware.gpus.size(); ++g) {
        gpu_counters c;
        if (model_.nvlinks_per_gpu > 0) {
            c.nvlinks_total = model_.nvlinks_per_gpu;
            c.nvlinks_up = c.nvlinks_total - links_down_[g];
        }
        c.nvlink_replays = replays_[g];
        c.pcie_width = c.pcie_width_max = 16;
        c.pcie_generation = c.pcie_generation_max = model_.pcie_generation;
        for (const auto& f : faults_) {
            if (!(f.a == place{endpoint::gpu, g})) continue;
            if (f.kind == fault_kind::pcie_half) c.pcie_width = 8;
            if (f.kind == fault_kind::throttled) c.throttled = true;
            if (f.kind == fault_kind::busy) c.busy.push_back("4242 python");
        }
        out.gpus.push_back(std::move(c));
    }
    for (const auto& n : model_.hardware.nics) out.nics.push_back({true, n.gb_per_s.value_or(-1), 0});
    advance(1000);
    return out;
}

std::int64_t simulated_machine::unix_time() { return epoch + static_cast<std::int64_t>(now_us_ / 1e6); }

void simulated_machine::advance(double us) {
    now_us_ += us;
    if (real_time_factor_ > 0)
        std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us * real_time_factor_));
}

}  // namespace calibrate

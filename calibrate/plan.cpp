// SPDX-License-Identifier: Apache-2.0
#include "calibrate/plan.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "calibrate/measure.hpp"
#include "topo/link_table.hpp"

namespace calibrate {
namespace {

using topo::endpoint;
using topo::engine;
using topo::link_class;

constexpr double call_seconds = 50e-6;  // start and gate of one timed call, assumed
constexpr double round_seconds = 5e-3;  // counters, peer access, verification
constexpr double host_gb_per_s = 20;    // assumed for host ↔ GPU

// Devices and bus segments, so that two cells of a round never meet: (kind, which).
using segment = std::pair<int, int>;
constexpr int device_segment = 0;  // + endpoint kind
constexpr int bridge_segment = 10;
constexpr int socket_segment = 11;

topo::link link_of(const topo::node_class& hw, place a, place b) {
    if (a.kind != endpoint::gpu) std::swap(a, b);
    if (b.kind == endpoint::gpu && !hw.gpu_links.empty()) return hw.gpu_links(a.index, b.index);
    if (b.kind == endpoint::nic && !hw.nic_links.empty()) return hw.nic_links(a.index, b.index);
    if (b.kind == endpoint::host && hw.gpus[a.index].numa != topo::unknown_numa)
        return {hw.numa[b.index].id == hw.gpus[a.index].numa ? link_class::node : link_class::sys, 0};
    return {};
}

int numa_of(const topo::node_class& hw, place p) {
    switch (p.kind) {
        case endpoint::gpu: return hw.gpus[p.index].numa;
        case endpoint::nic: return hw.nics[p.index].numa;
        case endpoint::host: return hw.numa[p.index].id;
    }
    return topo::unknown_numa;
}

std::set<segment> segments_of(const topo::node_class& hw, const cell& c) {
    std::set<segment> out;
    for (const place& p : {c.from, c.to})
        out.insert({device_segment + static_cast<int>(p.kind), static_cast<int>(p.index)});
    const link_class kind = link_of(hw, c.from, c.to).kind;
    // Switched links are non-blocking between different ports.
    if (kind == link_class::nvlink || kind == link_class::xgmi || kind == link_class::c2c || kind == link_class::pix)
        return out;
    const int a = numa_of(hw, c.from);
    const int b = numa_of(hw, c.to);
    if (kind == link_class::unknown || a == topo::unknown_numa || b == topo::unknown_numa) {
        for (const auto& n : hw.numa) out.insert({bridge_segment, n.id});  // somewhere: so nothing beside it
        out.insert({socket_segment, 0});
        return out;
    }
    out.insert({bridge_segment, a});
    out.insert({bridge_segment, b});
    if (kind == link_class::sys) out.insert({socket_segment, 0});
    return out;
}

// Puts each cell into the first round that has none of its segments in use.
void colour(const topo::node_class& hw, const std::vector<cell>& cells, std::vector<round>& rounds) {
    std::vector<round> made;
    std::vector<std::set<segment>> used;
    for (const cell& c : cells) {
        const auto mine = segments_of(hw, c);
        std::size_t r = 0;
        while (r < made.size() &&
               std::any_of(mine.begin(), mine.end(), [&](const segment& s) { return used[r].count(s) != 0; }))
            ++r;
        if (r == made.size()) {
            made.emplace_back();
            used.emplace_back();
        }
        made[r].cells.push_back(c);
        used[r].insert(mine.begin(), mine.end());
    }
    std::move(made.begin(), made.end(), std::back_inserter(rounds));
}

// Unordered pairs in the order of the circle method (Kirkman 1847), so that first-fit colouring of a
// switched node needs n - 1 rounds and not more.
std::vector<std::pair<std::size_t, std::size_t>> circle_pairs(std::size_t n) {
    std::vector<std::pair<std::size_t, std::size_t>> out;
    const std::size_t seats = n + n % 2;
    if (seats < 2) return out;
    for (std::size_t turn = 0; turn + 1 < seats; ++turn)
        for (std::size_t i = 0; i < seats / 2; ++i) {
            const auto seat = [&](std::size_t k) { return k == 0 ? seats - 1 : (turn + k) % (seats - 1); };
            const std::size_t a = std::min(seat(i), seat(seats - 1 - i));
            const std::size_t b = std::max(seat(i), seat(seats - 1 - i));
            if (b < n) out.emplace_back(a, b);
        }
    return out;
}

double cell_seconds(const topo::node_class& hw, const cell& c) {
    topo::cost guess{10, host_gb_per_s, topo::source::estimated, topo::source::estimated, 0, 0, 0};
    const auto& gpu = hw.gpus[(c.from.kind == endpoint::gpu ? c.from : c.to).index];
    const auto generation = topo::generation_of(gpu.model);
    const topo::link l = link_of(hw, c.from, c.to);
    if (c.from.kind == endpoint::gpu && c.to.kind == endpoint::gpu)
        guess = topo::estimated_gpu_cost(l, generation);
    else if (c.from.kind == endpoint::nic || c.to.kind == endpoint::nic)
        guess = topo::estimated_nic_cost(l, generation,
                                         hw.nics[(c.from.kind == endpoint::nic ? c.from : c.to).index].gb_per_s);
    double us = 0;
    for (const std::uint64_t bytes : sizes_of(c.by))
        us += static_cast<double>(first_samples(bytes) + 1) *
              (std::max(least_sample_us, guess.time_us(static_cast<double>(bytes))) + call_seconds * 1e6);
    if (c.by == engine::sm_copy) us += static_cast<double>(first_samples(0)) * 400;
    return us * 1e-6;
}

std::vector<cell> gpu_gpu_cells(const topo::node_class& hw, engine by) {
    std::vector<cell> out;
    for (const bool back : {false, true})  // one direction at a time: no pair is loaded both ways
        for (const auto& [a, b] : circle_pairs(hw.gpus.size()))
            out.push_back({{endpoint::gpu, back ? b : a}, {endpoint::gpu, back ? a : b}, by});
    return out;
}

// Every GPU with every device of the other kind, shifted so that neighbours in the list are disjoint.
std::vector<cell> mixed_cells(const topo::node_class& hw, endpoint other, std::size_t others, bool from_gpu,
                              engine by) {
    std::vector<cell> out;
    const std::size_t turns = std::max(others, hw.gpus.size());
    for (std::size_t turn = 0; turn < turns; ++turn)
        for (std::size_t g = 0; g < hw.gpus.size(); ++g) {
            const std::size_t k = (g + turn) % turns;
            if (k >= others) continue;
            const place gpu{endpoint::gpu, g};
            const place far{other, k};
            out.push_back({from_gpu ? gpu : far, from_gpu ? far : gpu, by});
        }
    return out;
}

}  // namespace

topo::result<plan> make_plan(machine& m, const plan_options& options) {
    auto what = m.enumerate();
    if (!what) return what.failure();
    plan out;
    out.what = std::move(*what);
    const auto& hw = out.what.hardware;
    if (hw.gpus.empty())
        return topo::error{topo::errc::missing, out.what.host, "no GPU to measure",
                           "run this on a host with GPUs, or try --simulate dgx-h100"};
    if (options.gpu_gpu)
        for (const engine by : {engine::copy_engine, engine::sm_copy}) colour(hw, gpu_gpu_cells(hw, by), out.rounds);
    if (options.gpu_nic)
        for (const engine by : {engine::rdma_write, engine::rdma_read})
            for (const bool from_gpu : {true, false})
                colour(hw, mixed_cells(hw, endpoint::nic, hw.nics.size(), from_gpu, by), out.rounds);
    if (options.host_gpu)
        for (const bool from_gpu : {false, true})
            colour(hw, mixed_cells(hw, endpoint::host, hw.numa.size(), from_gpu, engine::copy_engine), out.rounds);
    for (const auto& r : out.rounds) {
        double longest = 0;
        for (const cell& c : r.cells) longest = std::max(longest, cell_seconds(hw, c));
        out.seconds += longest + round_seconds;
        out.cells += r.cells.size();
    }
    if (out.cells == 0)
        return topo::error{topo::errc::missing, out.what.host, "nothing to measure of what was asked for",
                           "leave --only out: this node has one GPU, no NIC or no NUMA node"};
    return out;
}

std::string name_of(const place& p, const topo::node_class& hw) {
    switch (p.kind) {
        case endpoint::gpu: return hw.gpus[p.index].name;
        case endpoint::nic: return hw.nics[p.index].name;
        case endpoint::host: return "NUMA " + std::to_string(hw.numa[p.index].id);
    }
    return {};
}

std::string text_of(const cell& c, const topo::node_class& hw) {
    return name_of(c.from, hw) + " → " + name_of(c.to, hw) + ", " + std::string(topo::name_of(c.by));
}

}  // namespace calibrate

// SPDX-License-Identifier: Apache-2.0
#include "topo/export/slurm_cores.hpp"

#include <algorithm>
#include <utility>

#include "topo/counted.hpp"

namespace topo {
namespace {

constexpr std::uint32_t max_threads = 64;  // of a core; POWER has 8

// The sets that hold whole cores, NUMA nodes first.
std::vector<const id_set*> known_sets(const node_class& hardware) {
    std::vector<const id_set*> sets;
    for (const auto& n : hardware.numa)
        if (!n.cpus.empty()) sets.push_back(&n.cpus);
    for (const auto& g : hardware.gpus)
        if (!g.cpus.empty()) sets.push_back(&g.cpus);
    return sets;
}

bool closed_under_halves(const id_set& s, std::uint32_t cores, std::uint32_t threads) {
    for (const std::uint32_t cpu : s.ids())
        for (std::uint32_t t = 0; t < threads; ++t)
            if (!s.contains(cpu % cores + t * cores)) return false;
    return true;
}

bool closed_under_adjacent(const id_set& s, std::uint32_t threads) {
    for (const auto& [first, last] : s.ranges())
        if (first % threads != 0 || (last + 1) % threads != 0) return false;
    return true;
}

// C and T where the class does not tell both.
bool complete_counts(const std::vector<const id_set*>& sets, std::uint32_t& cores, std::uint32_t& threads) {
    std::optional<std::uint32_t> common;
    bool all = !sets.empty();
    std::uint32_t last = 0;
    for (const id_set* s : sets) {
        const auto distance = sibling_distance(*s);
        all = all && distance && (!common || *common == *distance);
        if (distance) common = distance;
        last = std::max(last, s->last());
    }
    if (threads == 1) {
        cores = std::max(cores, last + 1);
        return true;
    }
    if (!all || last >= 2 * *common || (cores != 0 && cores != *common) || (threads != 0 && threads != 2)) return false;
    cores = *common;
    threads = 2;
    return true;
}

}  // namespace

std::optional<std::uint32_t> sibling_distance(const id_set& cpus) {
    const auto& r = cpus.ranges();
    if (r.size() < 2 || r.size() % 2 != 0 || cpus.size() < 4) return std::nullopt;
    const std::size_t half = r.size() / 2;
    const std::uint32_t distance = r[half].first - r[0].first;
    if (distance <= r[half - 1].second) return std::nullopt;
    for (std::size_t i = 0; i < half; ++i)
        if (r[half + i].first - r[i].first != distance || r[half + i].second - r[i].second != distance)
            return std::nullopt;
    return distance;
}

std::optional<core_numbering> core_numbering::of(const node_class& hardware, std::string& why) {
    const auto sets = known_sets(hardware);
    core_numbering n;
    n.cores_ = static_cast<std::uint32_t>(std::max(hardware.cores, 0));
    n.threads_ = static_cast<std::uint32_t>(std::max(hardware.threads_per_core, 0));
    if ((n.cores_ == 0 || n.threads_ == 0) && !complete_counts(sets, n.cores_, n.threads_)) {
        why = "the numbers of cores and of threads of a core are unknown";
        return std::nullopt;
    }
    if (n.cores_ > id_set::max_id || n.threads_ > max_threads) {
        why = counted(n.cores_, "core") + " of " + counted(n.threads_, "thread") + " is no machine";
        return std::nullopt;
    }
    for (const id_set* s : sets)
        if (s->last() >= n.cores_ * std::uint64_t{n.threads_}) {
            why = "CPU " + std::to_string(s->last()) + " is beyond " + counted(n.cores_, "core") + " of " +
                  counted(n.threads_, "thread");
            return std::nullopt;
        }
    if (n.threads_ > 1 && !sets.empty()) {
        bool halves = true;
        bool adjacent = true;
        const std::size_t numa_sets =
            sets.size() - static_cast<std::size_t>(std::count_if(hardware.gpus.begin(), hardware.gpus.end(),
                                                                 [](const gpu& g) { return !g.cpus.empty(); }));
        const std::size_t judges = numa_sets > 0 ? numa_sets : sets.size();
        for (std::size_t i = 0; i < judges; ++i) {
            halves = halves && closed_under_halves(*sets[i], n.cores_, n.threads_);
            adjacent = adjacent && closed_under_adjacent(*sets[i], n.threads_);
        }
        const auto is_whole = [&](const id_set* s) { return s->size() == n.cores_ * std::uint64_t{n.threads_}; };
        // One NUMA node that holds everything tells nothing; neither does it matter, if each GPU's set is whole too.
        if (halves && adjacent && is_whole(sets[0]) && !std::all_of(sets.begin(), sets.end(), is_whole)) {
            for (std::size_t i = judges; i < sets.size(); ++i) {
                halves = halves && closed_under_halves(*sets[i], n.cores_, n.threads_);
                adjacent = adjacent && closed_under_adjacent(*sets[i], n.threads_);
            }
        }
        if (!halves && !adjacent) {
            why = "the CPU sets do not tell which hardware threads share a core";
            return std::nullopt;
        }
        n.adjacent_ = !halves;
    }
    n.order_by_numa(hardware);
    return n;
}

std::uint32_t core_numbering::core_of(std::uint32_t cpu) const noexcept {
    return adjacent_ ? cpu / threads_ : cpu % cores_;
}

void core_numbering::order_by_numa(const node_class& hardware) {
    std::vector<std::vector<std::uint32_t>> groups;
    std::vector<char> seen(cores_, 0);
    std::size_t covered = 0;
    for (const auto& node : hardware.numa) {
        std::vector<std::uint32_t> members;
        for (const std::uint32_t cpu : node.cpus.ids()) members.push_back(core_of(cpu));
        std::sort(members.begin(), members.end());
        members.erase(std::unique(members.begin(), members.end()), members.end());
        for (const std::uint32_t core : members) {
            if (seen[core] != 0) return;  // overlapping nodes: no order to be had from them
            seen[core] = 1;
        }
        covered += members.size();
        if (!members.empty()) groups.push_back(std::move(members));
    }
    if (covered != cores_) return;
    std::sort(groups.begin(), groups.end());
    slurm_number_.resize(cores_);
    std::uint32_t next = 0;
    for (const auto& g : groups)
        for (const std::uint32_t core : g) slurm_number_[core] = next++;
}

id_set core_numbering::cores(const id_set& cpus) const {
    id_set out;
    for (const std::uint32_t cpu : cpus.ids()) {
        const std::uint32_t core = core_of(cpu);
        out.insert(slurm_number_.empty() ? core : slurm_number_[core]);
    }
    return out;
}

}  // namespace topo

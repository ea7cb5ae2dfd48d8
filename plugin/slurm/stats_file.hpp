// SPDX-License-Identifier: GPL-2.0-or-later
// The counters where `atoll status` can read them: a small file, mapped once at load. A store in a decision is a store
// to memory: no lock and no waiting. Losing the file (removed, cut) only ends the stores.
#pragma once

#include <cstdint>
#include <string>

#include "topo/plugin_stats.hpp"

namespace slurm_plugin {

class stats_file {
public:
    stats_file() = default;
    ~stats_file();
    stats_file(const stats_file&) = delete;
    stats_file& operator=(const stats_file&) = delete;

    // Makes the file anew beside its path and puts it in place, all counters as they were. Its blocks are allotted at
    // once, so that a full disk shows here. Fails as `io`; nothing is mapped then. "" unmaps.
    [[nodiscard]] topo::result<topo::done> open(const std::string& path);

    // All of these do nothing where no file is mapped. O(1).
    void set(std::size_t word, std::uint64_t value) noexcept;
    void add(std::size_t word, std::uint64_t more = 1) noexcept;
    void add_time(std::size_t histogram, std::uint64_t ns) noexcept;
    void add_reason(const char* text) noexcept;  // the last entry takes all that do not fit
    // As added so far, with or without a file.
    [[nodiscard]] std::uint64_t get(std::size_t word) const noexcept { return own_[word]; }
    [[nodiscard]] topo::stats::histogram times(std::size_t histogram) const noexcept;
    // Looks whether the file still has its size: a store beyond its end would end slurmctld. Once a decision.
    void check() noexcept;

private:
    void close() noexcept;
    void store(std::size_t word) noexcept;

    std::uint64_t own_[topo::stats::file_words] = {};  // what the file is to hold; outlives it
    std::uint64_t* mapped_ = nullptr;
    int fd_ = -1;
};

}  // namespace slurm_plugin

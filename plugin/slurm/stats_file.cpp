// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/stats_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace slurm_plugin {
namespace {

namespace stats = topo::stats;
constexpr std::size_t file_bytes = stats::file_words * 8;

topo::error failed(const std::string& path, const char* doing, int code) {
    return {topo::errc::io, path, fmt::format("{} failed: {}", doing, std::strerror(code)),
            "let SlurmUser write to its folder, or write another stats_file into atoll.yaml"};
}

}  // namespace

stats_file::~stats_file() {
    set(stats::at_state, static_cast<std::uint64_t>(stats::state::stopped));
    close();
}

void stats_file::close() noexcept {
    if (mapped_ != nullptr) ::munmap(mapped_, file_bytes);
    if (fd_ >= 0) ::close(fd_);
    mapped_ = nullptr;
    fd_ = -1;
}

topo::result<topo::done> stats_file::open(const std::string& path) {
    close();
    if (path.empty()) return topo::done{};
    const std::string fresh = path + ".new";
    (void)::unlink(fresh.c_str());
    fd_ = ::open(fresh.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
    if (fd_ < 0) return failed(fresh, "making it", errno);
    const auto give_up = [&](const char* doing, int code) {
        (void)::unlink(fresh.c_str());
        close();
        return failed(path, doing, code);
    };
    if (const int code = ::posix_fallocate(fd_, 0, file_bytes); code != 0) return give_up("allotting it", code);
    void* at = ::mmap(nullptr, file_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at == MAP_FAILED) return give_up("mapping it", errno);
    mapped_ = static_cast<std::uint64_t*>(at);
    own_[stats::at_magic] = stats::magic;
    own_[stats::at_version] = stats::version;
    std::copy_n(own_, stats::file_words, mapped_);
    if (std::rename(fresh.c_str(), path.c_str()) != 0) return give_up("putting it in place", errno);
    return topo::done{};
}

void stats_file::store(std::size_t word) noexcept {
    if (mapped_ != nullptr) std::atomic_ref(mapped_[word]).store(own_[word], std::memory_order_relaxed);
}

void stats_file::set(std::size_t word, std::uint64_t value) noexcept {
    own_[word] = value;
    store(word);
}

void stats_file::add(std::size_t word, std::uint64_t more) noexcept { set(word, own_[word] + more); }

void stats_file::add_time(std::size_t histogram, std::uint64_t ns) noexcept {
    add(stats::at_histograms + histogram * stats::buckets + stats::bucket_of(ns));
    add(stats::at_sums + histogram, ns);
}

void stats_file::add_reason(const char* text) noexcept {
    constexpr std::size_t room = (stats::reason_words - 1) * 8;
    char padded[room] = {};
    for (std::size_t i = 0; i < stats::reasons; ++i) {
        const std::size_t word = stats::at_reasons + i * stats::reason_words;
        const bool last = i + 1 == stats::reasons;
        const bool unused = own_[word] == 0;
        if (unused || last) std::strncpy(padded, last ? "other reasons" : text, room - 1);
        if (unused) {
            std::memcpy(own_ + word, padded, room);
            for (std::size_t k = 0; k + 1 < stats::reason_words; ++k) store(word + k);
        }
        if (!unused && !last && std::strncmp(reinterpret_cast<const char*>(own_ + word), text, room - 1) != 0) continue;
        return add(word + stats::reason_words - 1);
    }
}

stats::histogram stats_file::times(std::size_t histogram) const noexcept {
    stats::histogram h;
    std::copy_n(own_ + stats::at_histograms + histogram * stats::buckets, stats::buckets, h.counts.begin());
    h.sum_ns = own_[stats::at_sums + histogram];
    return h;
}

void stats_file::check() noexcept {
    struct stat info {};
    if (mapped_ != nullptr && (::fstat(fd_, &info) != 0 || info.st_size < static_cast<off_t>(file_bytes))) close();
}

}  // namespace slurm_plugin

// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/log.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <ctime>
#include <string>

#include <fmt/format.h>

namespace kube {
namespace {

std::atomic<log_level>& lowest_level() noexcept {
    static std::atomic<log_level> lowest{log_level::info};
    return lowest;
}

}  // namespace

void set_log_level(log_level lowest) noexcept { lowest_level() = lowest; }

void log(log_level level, std::string_view text) noexcept try {
    if (level < lowest_level()) return;
    constexpr std::array<std::string_view, 4> names = {"debug", "info", "warning", "error"};
    const auto now = std::chrono::system_clock::now();
    const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(now.time_since_epoch()).count() % 1000;
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    std::string line =
        fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z {} ", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday,
                    utc.tm_hour, utc.tm_min, utc.tm_sec, ms, names[static_cast<std::size_t>(level)]);
    for (const char c : text) line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
    line += '\n';
    // One write a line, so that lines of several threads do not mix.
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) return;
} catch (...) {
    return;  // no memory for a log line is no reason to end
}

}  // namespace kube

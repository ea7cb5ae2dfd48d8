// SPDX-License-Identifier: Apache-2.0
// Which GPUs are healthy: the rules, and the thread that applies them. A source (health_source.hpp) says what is wrong
// at each look; the rules decide what that means.
//
//   any fault but an ignored Xid                   → unhealthy, with the first fault as its reason
//   `clean_checks` looks in a row without a fault  → healthy again
//   the source does not answer                     → nothing changes: a driver that is mute is no broken GPU
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "k8s-device-plugin/feed.hpp"
#include "k8s-device-plugin/metrics.hpp"
#include "k8s-device-plugin/settings.hpp"

namespace kube {

enum class fault_kind : std::uint8_t { xid, ecc, nvlink, nic, lost, other };
[[nodiscard]] std::string_view name_of(fault_kind k) noexcept;

struct fault {
    std::string gpu;  // gpu_parts::id
    fault_kind kind = fault_kind::other;
    unsigned xid = 0;    // of an xid fault
    std::string detail;  // for the log
};

class health_source {
public:
    virtual ~health_source() = default;
    // The faults there are now and the events since the last look. GPUs that are not named are clean. May take its
    // time, or never return: nobody but the health thread waits. An error: the source itself does not answer.
    [[nodiscard]] virtual topo::result<std::vector<fault>> look(const inventory& node) = 0;
};

// The rules alone.
class health_rules {
public:
    explicit health_rules(const settings& s) : clean_checks_(s.clean_checks), ignored_(s.ignored_xids) {}

    struct change {
        std::string gpu;
        bool healthy = false;
        fault_kind kind = fault_kind::other;  // why, when unhealthy
        std::string why;
    };
    // One look that was answered. Faults of unknown GPUs are left out. Changes come in the order of the GPUs.
    [[nodiscard]] std::vector<change> take(const inventory& node, const std::vector<fault>& faults);
    [[nodiscard]] topo::gpu_mask unhealthy(const inventory& node) const;

private:
    struct bad {
        unsigned clean = 0;  // looks since the last fault
    };
    unsigned clean_checks_;
    std::vector<unsigned> ignored_;
    std::map<std::string, bad, std::less<>> bad_;
};

// Looks every health_interval in a thread of its own and tells the feed. Without a source: does nothing.
class health_monitor {
public:
    health_monitor(const settings& s, feed& devices, metrics& counted, std::unique_ptr<health_source> source);
    ~health_monitor();
    health_monitor(const health_monitor&) = delete;
    health_monitor& operator=(const health_monitor&) = delete;

    // Asks the thread to end; false when it still hangs in a look after `most`. Then the program must leave by _Exit.
    [[nodiscard]] bool stop(std::chrono::milliseconds most);
    // Says in log and metrics when a look has lasted longer than 30 s. Called about every second.
    void watch_for_hang();

private:
    void run();
    void look();

    const settings& settings_;
    feed& feed_;
    metrics& metrics_;
    std::unique_ptr<health_source> source_;
    health_rules rules_;
    std::mutex guard_;
    std::condition_variable wake_;
    bool stop_ = false;
    bool ended_ = false;
    bool answers_ = true;
    bool hang_told_ = false;
    std::atomic<std::int64_t> looking_since_ms_{0};  // 0: not in a look
    std::thread thread_;
};

}  // namespace kube

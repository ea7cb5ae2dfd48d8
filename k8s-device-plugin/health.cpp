// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/health.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "k8s-device-plugin/log.hpp"

namespace kube {
namespace {

std::int64_t now_ms() {
    return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

constexpr std::int64_t hang_ms = 30'000;

}  // namespace

std::string_view name_of(fault_kind k) noexcept {
    switch (k) {
        case fault_kind::xid: return "xid";
        case fault_kind::ecc: return "ecc";
        case fault_kind::nvlink: return "nvlink";
        case fault_kind::nic: return "nic";
        case fault_kind::lost: return "lost";
        case fault_kind::other: break;
    }
    return "other";
}

std::vector<health_rules::change> health_rules::take(const inventory& node, const std::vector<fault>& faults) {
    std::vector<change> out;
    for (std::size_t g = 0; g < node.hardware().gpus.size(); ++g) {
        const std::string& id = node.parts(g).id;
        const auto counts = [&](const fault& f) {
            return f.gpu == id &&
                   !(f.kind == fault_kind::xid && std::find(ignored_.begin(), ignored_.end(), f.xid) != ignored_.end());
        };
        const auto first = std::find_if(faults.begin(), faults.end(), counts);
        const auto known = bad_.find(id);
        if (first != faults.end()) {
            if (known != bad_.end()) {
                known->second.clean = 0;
                continue;
            }
            bad_.emplace(id, bad{});
            std::string why =
                first->kind == fault_kind::xid ? fmt::format("Xid {}", first->xid) : std::string(name_of(first->kind));
            if (!first->detail.empty()) why += ": " + first->detail;
            out.push_back({id, false, first->kind, std::move(why)});
        } else if (known != bad_.end() && ++known->second.clean >= clean_checks_) {
            bad_.erase(known);
            out.push_back({id, true, fault_kind::other, fmt::format("clean in {} looks in a row", clean_checks_)});
        }
    }
    return out;
}

topo::gpu_mask health_rules::unhealthy(const inventory& node) const {
    topo::gpu_mask mask = 0;
    for (std::size_t g = 0; g < node.hardware().gpus.size(); ++g)
        if (bad_.contains(node.parts(g).id)) mask |= topo::gpu_mask{1} << g;
    return mask;
}

health_monitor::health_monitor(const settings& s, feed& devices, metrics& counted,
                               std::unique_ptr<health_source> source)
    : settings_(s), feed_(devices), metrics_(counted), source_(std::move(source)), rules_(s) {
    if (source_) thread_ = std::thread([this] { run(); });
}

health_monitor::~health_monitor() {
    if (thread_.joinable()) {
        {
            const std::lock_guard lock(guard_);
            stop_ = true;
        }
        wake_.notify_all();
        thread_.join();
    }
}

bool health_monitor::stop(std::chrono::milliseconds most) {
    if (!thread_.joinable()) return true;
    std::unique_lock lock(guard_);
    stop_ = true;
    wake_.notify_all();
    return wake_.wait_for(lock, most, [this] { return ended_; });
}

void health_monitor::watch_for_hang() {
    const std::int64_t since = looking_since_ms_;
    const bool hangs = since != 0 && now_ms() - since > hang_ms;
    if (hangs && !hang_told_) {
        log(log_level::error,
            "the source of health has not answered for 30 s (a driver call hangs?); health stays as it was");
        metrics_.health_source(false);
    }
    hang_told_ = hangs;
}

void health_monitor::run() {
    const auto pause = std::chrono::duration<double>(settings_.health_interval_s);
    std::unique_lock lock(guard_);
    while (!stop_) {
        lock.unlock();
        looking_since_ms_ = now_ms();
        look();
        looking_since_ms_ = 0;
        lock.lock();
        wake_.wait_for(lock, pause, [this] { return stop_; });
    }
    ended_ = true;
    wake_.notify_all();
}

void health_monitor::look() try {
    const snapshot now = feed_.now();
    const auto faults = source_->look(*now.node);
    if (faults.has_value() != answers_ || !answers_) metrics_.health_source(faults.has_value());
    if (!faults) {
        if (answers_) log(log_level::error, faults.failure().message() + "; health stays as it was");
        answers_ = false;
        return;
    }
    if (!answers_) log(log_level::info, "the source of health answers again");
    answers_ = true;
    for (const auto& c : rules_.take(*now.node, *faults)) {
        log(c.healthy ? log_level::info : log_level::error,
            fmt::format("GPU {} is {}: {}", c.gpu, c.healthy ? "healthy again" : "unhealthy", c.why));
        if (c.healthy)
            metrics_.became_healthy();
        else
            metrics_.became_unhealthy(name_of(c.kind));
    }
    feed_.set_unhealthy(*now.node, rules_.unhealthy(*now.node));
} catch (const std::exception& e) {
    log(log_level::error, std::string("a look at the health failed: ") + e.what());
}

}  // namespace kube

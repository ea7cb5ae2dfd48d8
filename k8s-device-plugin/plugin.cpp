// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/plugin.hpp"

#include <fmt/format.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>

#include "k8s-device-plugin/cdi.hpp"
#include "k8s-device-plugin/feed.hpp"
#include "k8s-device-plugin/health.hpp"
#include "k8s-device-plugin/health_source.hpp"
#include "k8s-device-plugin/http_server.hpp"
#include "k8s-device-plugin/lifecycle.hpp"
#include "k8s-device-plugin/log.hpp"
#include "k8s-device-plugin/metrics.hpp"
#include "k8s-device-plugin/service.hpp"
#include "k8s-device-plugin/socket_watch.hpp"

namespace kube {
namespace {

log_level level_of(const std::string& word) {
    if (word == "debug") return log_level::debug;
    if (word == "warning") return log_level::warning;
    if (word == "error") return log_level::error;
    return log_level::info;
}

void tell(const inventory& node) {
    for (const auto& f : node.notes())
        log(f.level == topo::severity::info ? log_level::info : log_level::warning, f.message());
    log(log_level::info,
        fmt::format("{} devices on {} GPUs, costs: {}{}", node.devices().size(), topo::count(node.present()),
                    name_of(node.origin()), node.table().exact() ? "" : " (more than 16 GPUs: searched)"));
    if (node.origin() == cost_origin::estimated)
        log(log_level::warning,
            "no measured costs: links are judged by their kind alone; calibrate this node and name the cluster-file");
}

// The files whose change means new devices or costs.
class reloader {
public:
    reloader(const settings& s, feed& devices, metrics& counted)
        : settings_(s), feed_(devices), metrics_(counted), seen_(look()) {}

    void if_changed() {
        auto now = look();
        if (now == seen_) return;
        seen_ = now;
        log(log_level::info, "a file changed: reading devices and costs again");
        again();
    }

    void again() {
        auto node = load_inventory(settings_);
        if (node)
            if (const auto written = write_cdi(*node, settings_); !written)
                log(log_level::error, written.failure().message());
        metrics_.reload(node.has_value());
        if (!node) {
            log(log_level::error, node.failure().message() + "; what was loaded before stays in force");
            return;
        }
        auto made = std::make_shared<const inventory>(std::move(*node));
        tell(*made);
        metrics_.loaded(*made);
        feed_.set_inventory(std::move(made));
    }

private:
    [[nodiscard]] std::vector<std::optional<file_identity>> look() const {
        std::vector<std::optional<file_identity>> out;
        for (const std::string* path : {&settings_.devices_file, &settings_.cluster_file})
            out.push_back(path->empty() ? std::nullopt : identity_of(*path));
        return out;
    }
    const settings& settings_;
    feed& feed_;
    metrics& metrics_;
    std::vector<std::optional<file_identity>> seen_;
};

http_answer page(const std::string& path, const metrics& counted, const connection_state& state) {
    if (path == "/metrics") return {200, counted.text(), "text/plain; version=0.0.4; charset=utf-8"};
    if (path == "/healthz") return {200, "ok\n"};
    if (path != "/readyz") return {404, "pages: /metrics /healthz /readyz\n"};
    if (state.ready()) return {200, "ok\n"};
    return {503,
            state.registered ? "registered, but the kubelet does not watch\n" : "not registered with the kubelet\n"};
}

// Turns signals into a stop descriptor and reloads.
class signal_thread {
public:
    explicit signal_thread(const sigset_t& signals)
        : signals_(::signalfd(-1, &signals, SFD_CLOEXEC)), stop_(::eventfd(0, EFD_CLOEXEC)) {
        thread_ = std::thread([this] { listen(); });
    }
    ~signal_thread() {
        thread_.join();
        ::close(signals_);
        ::close(stop_);
    }
    signal_thread(const signal_thread&) = delete;
    signal_thread& operator=(const signal_thread&) = delete;
    [[nodiscard]] int stop() const noexcept { return stop_; }
    [[nodiscard]] bool reload_wanted() noexcept { return hang_up_.exchange(false); }

private:
    void listen() {
        signalfd_siginfo what{};
        while (::read(signals_, &what, sizeof what) == sizeof what) {
            if (what.ssi_signo == SIGHUP) {
                hang_up_ = true;
                continue;
            }
            const std::uint64_t one = 1;
            if (::write(stop_, &one, sizeof one) == sizeof one) return;
        }
    }
    int signals_;
    int stop_;
    std::atomic<bool> hang_up_{false};
    std::thread thread_;
};

}  // namespace

int run_plugin(const settings& s, const sigset_t& signals) {
    set_log_level(level_of(s.log_level));
    auto node = load_inventory(s);
    if (!node) {
        log(log_level::error, node.failure().message());
        return node.failure().code == topo::errc::missing || node.failure().code == topo::errc::io ? 3 : 2;
    }
    metrics counted(s.resource);
    feed devices;
    auto made = std::make_shared<const inventory>(std::move(*node));
    tell(*made);
    if (const auto written = write_cdi(*made, s); !written) {
        log(log_level::error, written.failure().message());
        return 3;
    }
    counted.loaded(*made);
    devices.set_inventory(made);

    connection_state state;
    std::unique_ptr<http_server> pages;
    if (s.metrics_address != "off") {
        auto started =
            http_server::start(s.metrics_address, [&](const std::string& path) { return page(path, counted, state); });
        if (!started) {
            log(log_level::error, started.failure().message());
            return 3;
        }
        pages = std::move(*started);
        log(log_level::info, fmt::format("/metrics, /healthz and /readyz at port {}", pages->port()));
    }
    plugin_service service(s, devices, counted);
    reloader files(s, devices, counted);
    health_monitor health(s, devices, counted, make_health_source(s));
    signal_thread told(signals);
    unsigned seconds = 0;
    const bool listened = keep_registered(s, devices, counted, service, state, told.stop(), [&] {
        if (told.reload_wanted())
            files.again();
        else if (++seconds % 2 == 0)
            files.if_changed();
        const snapshot now = devices.now();
        counted.devices(*now.node, now.unhealthy);
        health.watch_for_hang();
    });
    if (!health.stop(std::chrono::seconds(2))) {
        log(log_level::warning, "ended by a signal while a driver call hangs");
        std::_Exit(listened ? 0 : 3);  // joining that thread would never end
    }
    log(log_level::info, "ended by a signal");
    return listened ? 0 : 3;
}

}  // namespace kube

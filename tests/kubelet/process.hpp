// SPDX-License-Identifier: Apache-2.0
// The plugin as a program of its own, ended by its own process id.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace kube_test {

class plugin_process {
public:
    // Log lines go to `log`. The program is ATOLL_DEVICE_PLUGIN.
    plugin_process(const std::vector<std::string>& arguments, const std::string& log);
    ~plugin_process();
    plugin_process(const plugin_process&) = delete;
    plugin_process& operator=(const plugin_process&) = delete;

    void send(int signal) const;
    // Exit code, or -signal; empty when it still runs after `most`.
    std::optional<int> wait(std::chrono::milliseconds most = std::chrono::seconds(20));
    [[nodiscard]] long resident_kb() const;
    [[nodiscard]] std::string log() const;

private:
    pid_t pid_ = -1;
    std::string log_;
};

// GET of a page of 127.0.0.1:port; status 0 when it is not there.
struct page {
    int status = 0;
    std::string body;
};
[[nodiscard]] page get(int port, const std::string& path);
// Whatever is sent, whatever comes back until the connection ends or two seconds are over.
[[nodiscard]] std::string raw_exchange(int port, const std::string& text);
[[nodiscard]] int free_port();

}  // namespace kube_test

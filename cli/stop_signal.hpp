// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM as a flag that long work can look at.
#pragma once

#include <atomic>
#include <csignal>
#include <thread>

namespace cli {

// While it lives, the first SIGINT or SIGTERM sets asked(), and a second one ends the program at once
// with exit code 3. No handler runs: a thread waits for the signals, so there is no global state. Make
// it before any other thread. A signal that the caller ignored (nohup) stays ignored.
class stop_signal {
public:
    stop_signal();
    ~stop_signal();
    stop_signal(const stop_signal&) = delete;
    stop_signal& operator=(const stop_signal&) = delete;

    [[nodiscard]] const std::atomic<bool>& asked() const noexcept { return asked_; }

private:
    std::atomic<bool> asked_{false};
    std::atomic<bool> over_{false};
    sigset_t waited_{};
    sigset_t before_{};
    std::thread waiter_;
};

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
#include "cli/stop_signal.hpp"

#include <unistd.h>

#include <ctime>

#include "cli/exit_code.hpp"

namespace cli {

stop_signal::stop_signal() {
    sigemptyset(&waited_);
    sigaddset(&waited_, SIGINT);
    sigaddset(&waited_, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &waited_, &before_);
    waiter_ = std::thread([this] {
        const timespec a_while{0, 50'000'000};
        while (!over_.load()) {
            if (sigtimedwait(&waited_, nullptr, &a_while) < 0) continue;
            if (asked_.exchange(true)) _exit(failed);
        }
    });
}

stop_signal::~stop_signal() {
    over_.store(true);
    waiter_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
}

}  // namespace cli

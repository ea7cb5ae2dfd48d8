// SPDX-License-Identifier: Apache-2.0
// atoll-device-plugin: offers this node's GPUs to the kubelet.
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "k8s-device-plugin/plugin.hpp"

int main(int count, char** words) {
    const std::vector<std::string> arguments(words + 1, words + count);
    for (const std::string& word : arguments) {
        if (word == "--help" || word == "-h") {
            std::fputs(kube::usage().c_str(), stdout);
            return 0;
        }
        if (word == "--version") {
            std::puts("atoll-device-plugin " ATOLL_VERSION);
            return 0;
        }
    }
    // Blocked before any thread starts, so that they reach the descriptor alone.
    sigset_t signals;
    sigemptyset(&signals);
    for (const int one : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&signals, one);
    if (pthread_sigmask(SIG_BLOCK, &signals, nullptr) != 0) return 3;
    std::signal(SIGPIPE, SIG_IGN);
    const auto settings = kube::read_settings(arguments, [](const char* name) { return std::getenv(name); });
    if (!settings) {
        std::fprintf(stderr, "atoll-device-plugin: %s\n", settings.failure().message().c_str());
        return 2;
    }
    return kube::run_plugin(*settings, signals);
}

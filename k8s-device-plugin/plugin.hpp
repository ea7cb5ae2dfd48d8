// SPDX-License-Identifier: Apache-2.0
// The parts put together: load, serve, watch, until a signal ends it.
#pragma once

#include <csignal>

#include "k8s-device-plugin/settings.hpp"

namespace kube {

// `signals` (SIGTERM, SIGINT, SIGHUP) must be blocked in every thread. Returns the exit code of the program.
[[nodiscard]] int run_plugin(const settings& s, const sigset_t& signals);

}  // namespace kube

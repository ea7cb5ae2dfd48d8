// SPDX-License-Identifier: Apache-2.0
// Keeps the plugin registered, whatever the kubelet does. One thread: it looks at the two sockets after every event
// of their folder and at least once a second, so that an event that is missed costs a second and no more.
//
//   own socket gone or replaced        → listen again, register again
//   kubelet.sock new                   → register again at once
//   registration refused or unanswered → again after 50 ms, doubled up to 30 s; at once when the folder changes
//   nobody watches for 3 s             → register again; each further time after a longer pause (up to 5 min): then
//                                        the kubelet is down, or another plugin took the resource
#pragma once

#include <atomic>
#include <functional>
#include <string>

#include "k8s-device-plugin/feed.hpp"
#include "k8s-device-plugin/metrics.hpp"
#include "k8s-device-plugin/service.hpp"
#include "k8s-device-plugin/settings.hpp"

namespace kube {

struct connection_state {  // for /readyz
    std::atomic<bool> registered{false};
    std::atomic<bool> watched{false};
    [[nodiscard]] bool ready() const noexcept { return registered && watched; }
};

// Runs until `stop` (a descriptor, readable when it is time) says so; then ends streams and takes the socket away.
// `every_second` is called about that often, from the same thread. Returns false when it could never listen.
[[nodiscard]] bool keep_registered(const settings& s, feed& devices, metrics& counted, plugin_service& service,
                                   connection_state& state, int stop, const std::function<void()>& every_second);

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// What is offered right now, shared by every thread: the inventory and which of its GPUs are healthy. Readers take a
// snapshot; writers replace it. No lock is held longer than a pointer is copied.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "k8s-device-plugin/inventory.hpp"

namespace kube {

struct snapshot {
    std::shared_ptr<const inventory> node;
    topo::gpu_mask unhealthy = 0;
    std::uint64_t version = 0;  // grows with every change
};

class feed {
public:
    [[nodiscard]] snapshot now() const;
    // GPUs that were unhealthy stay so, by their id, until told otherwise.
    void set_inventory(std::shared_ptr<const inventory> node);
    // What is known of that inventory; nothing when another one has come since. No change, no new version.
    void set_unhealthy(const inventory& of, topo::gpu_mask unhealthy);

    // The snapshot once its version differs from `seen` or `stream` is ended, or as it is after `most`.
    [[nodiscard]] snapshot wait(std::uint64_t seen, std::uint64_t stream, std::chrono::milliseconds most) const;

    // Open ListAndWatch streams. A new one ends all before it: the kubelet has one.
    [[nodiscard]] std::uint64_t open_stream();
    void close_stream(std::uint64_t stream);
    [[nodiscard]] bool current(std::uint64_t stream) const;
    [[nodiscard]] bool streaming() const;
    void end_streams();  // before the server stops; wakes them

private:
    [[nodiscard]] bool was_unhealthy(const std::string& gpu) const;  // with the lock held

    mutable std::mutex guard_;
    mutable std::condition_variable changed_;
    snapshot now_;
    std::uint64_t streams_ = 0;  // opened so far
    std::uint64_t current_ = 0;  // 0: none
};

}  // namespace kube

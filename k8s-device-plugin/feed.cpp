// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/feed.hpp"

#include <utility>

namespace kube {

snapshot feed::now() const {
    const std::lock_guard lock(guard_);
    return now_;
}

void feed::set_inventory(std::shared_ptr<const inventory> node) {
    {
        const std::lock_guard lock(guard_);
        topo::gpu_mask unhealthy = 0;
        for (std::size_t g = 0; g < node->hardware().gpus.size(); ++g)
            if (was_unhealthy(node->parts(g).id)) unhealthy |= topo::gpu_mask{1} << g;
        std::swap(now_.node, node);
        now_.unhealthy = unhealthy;
        ++now_.version;
    }
    changed_.notify_all();  // the old inventory dies here, outside the lock
}

void feed::set_unhealthy(const inventory& of, topo::gpu_mask unhealthy) {
    {
        const std::lock_guard lock(guard_);
        if (now_.node.get() != &of || now_.unhealthy == unhealthy) return;
        now_.unhealthy = unhealthy;
        ++now_.version;
    }
    changed_.notify_all();
}

bool feed::was_unhealthy(const std::string& gpu) const {
    if (!now_.node) return false;
    for (std::size_t g = 0; g < now_.node->hardware().gpus.size(); ++g)
        if (now_.node->parts(g).id == gpu) return (now_.unhealthy >> g & 1) != 0;
    return false;
}

snapshot feed::wait(std::uint64_t seen, std::uint64_t stream, std::chrono::milliseconds most) const {
    std::unique_lock lock(guard_);
    changed_.wait_for(lock, most, [&] { return now_.version != seen || current_ != stream; });
    return now_;
}

std::uint64_t feed::open_stream() {
    const std::lock_guard lock(guard_);
    changed_.notify_all();
    return current_ = ++streams_;
}

void feed::close_stream(std::uint64_t stream) {
    const std::lock_guard lock(guard_);
    if (current_ == stream) current_ = 0;
}

bool feed::current(std::uint64_t stream) const {
    const std::lock_guard lock(guard_);
    return current_ == stream;
}

bool feed::streaming() const {
    const std::lock_guard lock(guard_);
    return current_ != 0;
}

void feed::end_streams() {
    const std::lock_guard lock(guard_);
    current_ = 0;
    changed_.notify_all();
}

}  // namespace kube

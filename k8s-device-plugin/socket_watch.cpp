// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/socket_watch.hpp"

#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <utility>

namespace kube {

std::optional<file_identity> identity_of(const std::string& path) {
    struct stat found {};
    if (::stat(path.c_str(), &found) != 0) return {};
    return file_identity{found.st_dev, found.st_ino,
                         std::int64_t{found.st_ctim.tv_sec} * 1'000'000'000 + found.st_ctim.tv_nsec};
}

socket_watch::socket_watch(std::string folder) : folder_(std::move(folder)) {
    notify_ = ::inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    retry();
}

socket_watch::~socket_watch() {
    if (notify_ >= 0) ::close(notify_);
}

void socket_watch::retry() noexcept {
    if (notify_ < 0 || watched_ >= 0) return;
    watched_ = ::inotify_add_watch(notify_, folder_.c_str(),
                                   IN_CREATE | IN_DELETE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE_SELF | IN_MOVE_SELF);
}

bool socket_watch::drain() noexcept {
    alignas(inotify_event) std::array<char, 8192> buffer;
    bool any = false;
    for (ssize_t got; notify_ >= 0 && (got = ::read(notify_, buffer.data(), buffer.size())) > 0;) {
        any = true;
        for (std::size_t at = 0; at < static_cast<std::size_t>(got);) {
            const auto* event = reinterpret_cast<const inotify_event*>(buffer.data() + at);
            // The folder itself went: watch the one that comes in its place.
            if ((event->mask & (IN_DELETE_SELF | IN_MOVE_SELF | IN_IGNORED)) != 0) {
                if ((event->mask & IN_MOVE_SELF) != 0) ::inotify_rm_watch(notify_, watched_);
                watched_ = -1;
            }
            at += sizeof(inotify_event) + event->len;
        }
    }
    return any;
}

}  // namespace kube

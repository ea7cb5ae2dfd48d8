// SPDX-License-Identifier: Apache-2.0
// Watches the kubelet's folder of sockets, by inotify.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>

namespace kube {

// Which file a path names now: two sockets of one name differ in it.
struct file_identity {
    dev_t device = 0;
    ino_t inode = 0;
    std::int64_t changed_ns = 0;  // an inode number may be used again at once
    friend bool operator==(const file_identity&, const file_identity&) = default;
};
[[nodiscard]] std::optional<file_identity> identity_of(const std::string& path);

class socket_watch {
public:
    explicit socket_watch(std::string folder);
    ~socket_watch();
    socket_watch(const socket_watch&) = delete;
    socket_watch& operator=(const socket_watch&) = delete;

    // The descriptor to poll; -1 while the folder does not exist (retry() looks again).
    [[nodiscard]] int descriptor() const noexcept { return watched_ >= 0 ? notify_ : -1; }
    void retry() noexcept;
    // Reads what happened away; what it means is seen by looking at the files. False when nothing had.
    bool drain() noexcept;

private:
    std::string folder_;
    int notify_ = -1;
    int watched_ = -1;
};

}  // namespace kube

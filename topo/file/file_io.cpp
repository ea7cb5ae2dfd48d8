// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <string>

#include "topo/file.hpp"

namespace topo {
namespace {

class descriptor {
public:
    explicit descriptor(int fd) : fd_(fd) {}
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }
    // Closes now, for callers that want to know whether it worked.
    [[nodiscard]] bool close() noexcept {
        const int fd = fd_;
        fd_ = -1;
        return ::close(fd) == 0;
    }

private:
    int fd_;
};

std::string remedy_of(int number) {
    switch (number) {
        case ENOENT: return "create the folder or correct the path";
        case EACCES:
        case EPERM: return "run as a user who may, or choose another path";
        case EROFS: return "choose a path on a file system that can be written";
        case ENOSPC:
        case EDQUOT: return "free some space";
        case EISDIR: return "give the path of a file, not of a folder";
        default: return "check the path and the file system";
    }
}

error failed(const std::string& path, const char* action, int number) {
    return {errc::io, path, std::string(action) + " failed: " + std::strerror(number), remedy_of(number)};
}

result<done> write_all(int fd, std::string_view text, const std::string& path) {
    while (!text.empty()) {
        const ssize_t n = ::write(fd, text.data(), text.size());
        if (n < 0) {
            if (errno == EINTR) continue;
            return failed(path, "writing", errno);
        }
        text.remove_prefix(static_cast<std::size_t>(n));
    }
    return done{};
}

std::string folder_of(const std::string& path) {
    const auto slash = path.rfind('/');
    if (slash == std::string::npos) return ".";
    return slash == 0 ? "/" : path.substr(0, slash);
}

// Removes the temp file unless it was renamed.
struct temp_guard {
    std::string path;
    ~temp_guard() {
        if (!path.empty()) ::unlink(path.c_str());
    }
};

// Opened by O_EXCL and not by mkstemp, so that the umask decides about a new file's mode. -1: failed.
int create_beside(const std::string& path, std::string& name) {
    constexpr int attempts = 100;
    for (int i = 0; i < attempts; ++i) {
        std::string candidate = path + ".tmp-" + std::to_string(::getpid()) + "-" + std::to_string(i);
        const int fd = ::open(candidate.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) name = std::move(candidate);
        if (fd >= 0 || errno != EEXIST) return fd;
    }
    return -1;
}

result<done> replace_file(const std::string& path, std::string_view text, const struct stat* old) {
    temp_guard temp;
    descriptor out(create_beside(path, temp.path));
    if (out.get() < 0) return failed(path, "creating a temporary file beside it", errno);
    if (auto written = write_all(out.get(), text, path); !written) return written;
    if (old != nullptr && ::fchmod(out.get(), old->st_mode & 07777) != 0)
        return failed(path, "setting the mode", errno);
    if (::fsync(out.get()) != 0) return failed(path, "writing to disk", errno);
    if (!out.close()) return failed(path, "closing", errno);
    if (::rename(temp.path.c_str(), path.c_str()) != 0) return failed(path, "renaming the new file", errno);
    temp.path.clear();
    // Some file systems cannot sync a folder; the file itself is safe then, so that is no failure.
    const descriptor folder(::open(folder_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0) (void)::fsync(folder.get());
    return done{};
}

// The file a path names, through every symbolic link, also one that names a file that is not there yet.
struct target {
    std::string path;
    std::optional<struct stat> old;  // of the file that is there
    bool special = false;            // a device or pipe: written to, never replaced
};

result<target> target_of(const std::string& path) {
    struct stat info {};
    if (::stat(path.c_str(), &info) == 0) {
        if (S_ISDIR(info.st_mode)) return failed(path, "writing", EISDIR);
        if (!S_ISREG(info.st_mode)) return target{path, info, true};
        char* real = ::realpath(path.c_str(), nullptr);
        if (real == nullptr) return failed(path, "resolving", errno);
        target out{real, info, false};
        std::free(real);
        return out;
    }
    if (errno != ENOENT) return failed(path, "writing", errno);
    target out{path, {}, false};
    constexpr int most_links = 40;  // as the kernel
    for (int i = 0; i < most_links; ++i) {
        if (::lstat(out.path.c_str(), &info) != 0 || !S_ISLNK(info.st_mode)) return out;
        char name[PATH_MAX];
        const ssize_t length = ::readlink(out.path.c_str(), name, sizeof name);
        if (length < 0 || length == sizeof name) return failed(path, "resolving", length < 0 ? errno : ENAMETOOLONG);
        const std::string next(name, static_cast<std::size_t>(length));
        out.path = next.starts_with('/') ? next : folder_of(out.path) + "/" + next;
    }
    return failed(path, "resolving", ELOOP);
}

}  // namespace

result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
    const descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (in.get() < 0) {
        if (errno == ENOENT) return error{errc::missing, path, "there is no such file", "check the path"};
        return failed(path, "opening", errno);
    }
    std::string text;
    struct stat info {};
    if (::fstat(in.get(), &info) == 0 && S_ISDIR(info.st_mode)) return failed(path, "reading", EISDIR);
    if (S_ISREG(info.st_mode) && info.st_size > 0)
        text.reserve(std::min(static_cast<std::size_t>(info.st_size), max_bytes) + 1);
    char chunk[1 << 16];
    while (true) {
        const ssize_t n = ::read(in.get(), chunk, sizeof chunk);
        if (n < 0) {
            if (errno == EINTR) continue;
            return failed(path, "reading", errno);
        }
        if (n == 0) return text;
        if (text.size() + static_cast<std::size_t>(n) > max_bytes)
            return error{errc::limit, path, "larger than " + std::to_string(max_bytes) + " bytes",
                         "check that this is the right file"};
        text.append(chunk, static_cast<std::size_t>(n));
    }
}

result<done> write_file(const std::string& path, std::string_view text) {
    if (path == "-") return write_all(STDOUT_FILENO, text, "standard output");
    auto to = target_of(path);
    if (!to) return to.failure();
    if (!to->special) return replace_file(to->path, text, to->old ? &*to->old : nullptr);
    const descriptor out(::open(path.c_str(), O_WRONLY | O_CLOEXEC));
    if (out.get() < 0) return failed(path, "opening", errno);
    return write_all(out.get(), text, path);
}

result<done> check_writable(const std::string& path) {
    if (path == "-") return done{};
    auto to = target_of(path);
    if (!to) return to.failure();
    if (to->special) return ::access(path.c_str(), W_OK) == 0 ? result<done>(done{}) : failed(path, "opening", errno);
    temp_guard temp;
    const descriptor out(create_beside(to->path, temp.path));
    if (out.get() < 0) return failed(to->path, "creating a temporary file beside it", errno);
    return done{};
}

}  // namespace topo

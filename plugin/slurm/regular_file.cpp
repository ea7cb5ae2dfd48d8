// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/regular_file.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace slurm_plugin {
namespace {

class descriptor {
public:
    explicit descriptor(int fd) noexcept : fd_(fd) {}
    ~descriptor() {
        if (fd_ >= 0) ::close(fd_);
    }
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    [[nodiscard]] int get() const noexcept { return fd_; }

private:
    int fd_;
};

topo::error failed(const std::string& path, const char* doing, int code) {
    return {topo::errc::io, path, fmt::format("{} failed: {}", doing, std::strerror(code)),
            "check the path, and that SlurmUser may read the file"};
}

}  // namespace

topo::result<std::string> read_regular(const std::string& path, std::size_t most) {
    const descriptor in(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    if (in.get() < 0) {
        if (errno == ENOENT) return topo::error{topo::errc::missing, path, "there is no such file", "check the path"};
        return failed(path, "opening", errno);
    }
    struct stat info {};
    if (::fstat(in.get(), &info) != 0) return failed(path, "reading", errno);
    if (!S_ISREG(info.st_mode))
        return topo::error{topo::errc::io, path, "this is not a regular file", "give the path of a file"};
    std::string text;
    std::array<char, 1u << 16> chunk;
    while (true) {
        const ssize_t n = ::read(in.get(), chunk.data(), chunk.size());
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) return failed(path, "reading", errno);
        if (n == 0) return text;
        if (text.size() + static_cast<std::size_t>(n) > most)
            return topo::error{topo::errc::limit, path, fmt::format("larger than {} bytes", most),
                               "check that this is the right file"};
        text.append(chunk.data(), static_cast<std::size_t>(n));
    }
}

}  // namespace slurm_plugin

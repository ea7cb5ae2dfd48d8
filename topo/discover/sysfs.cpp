// SPDX-License-Identifier: Apache-2.0
#include "topo/discover/sysfs.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <climits>
#include <cstdlib>
#include <memory>
#include <string_view>

namespace topo::sysfs {
namespace {

constexpr std::size_t max_bytes = 64u << 10;
constexpr std::size_t max_names = 64u << 10;

struct descriptor {
    int fd;
    explicit descriptor(int f) : fd(f) {}
    descriptor(const descriptor&) = delete;
    descriptor& operator=(const descriptor&) = delete;
    ~descriptor() {
        if (fd >= 0) ::close(fd);
    }
};

bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\0'; }

}  // namespace

std::optional<std::string> read(const std::string& path) {
    const descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
    struct stat what {};
    if (file.fd < 0 || ::fstat(file.fd, &what) != 0 || !S_ISREG(what.st_mode)) return std::nullopt;
    std::string text(max_bytes + 1, '\0');
    std::size_t size = 0;
    while (size < text.size()) {
        const ssize_t got = ::read(file.fd, text.data() + size, text.size() - size);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return std::nullopt;  // e.g. EINVAL for the speed of a port that is down
        if (got == 0) break;
        size += static_cast<std::size_t>(got);
    }
    if (size > max_bytes) return std::nullopt;
    text.resize(size);
    while (!text.empty() && blank(text.back())) text.pop_back();
    text.erase(0, static_cast<std::size_t>(std::find_if_not(text.begin(), text.end(), blank) - text.begin()));
    return text;
}

std::optional<long> read_number(const std::string& path) {
    const auto text = read(path);
    long value = 0;
    if (!text) return std::nullopt;
    const auto [end, failed] = std::from_chars(text->data(), text->data() + text->size(), value);
    if (failed != std::errc{} || end != text->data() + text->size()) return std::nullopt;
    return value;
}

std::optional<unsigned> read_hex(const std::string& path) {
    const auto text = read(path);
    if (!text) return std::nullopt;
    std::string_view digits = *text;
    if (digits.starts_with("0x")) digits.remove_prefix(2);
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (failed != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

std::optional<id_set> read_list(const std::string& path) {
    const auto text = read(path);
    if (!text) return std::nullopt;
    auto set = id_set::parse(*text);
    return set ? std::optional<id_set>(std::move(*set)) : std::nullopt;
}

std::vector<std::string> names(const std::string& folder) {
    std::vector<std::string> found;
    const auto close = [](DIR* d) { ::closedir(d); };
    const std::unique_ptr<DIR, decltype(close)> dir(::opendir(folder.c_str()), close);
    if (!dir) return found;
    while (const dirent* entry = ::readdir(dir.get())) {
        const std::string_view name = entry->d_name;
        if (name != "." && name != ".." && found.size() < max_names) found.emplace_back(name);
    }
    std::sort(found.begin(), found.end());
    return found;
}

std::optional<std::string> resolve(const std::string& path) {
    std::string out(PATH_MAX, '\0');
    if (::realpath(path.c_str(), out.data()) == nullptr) return std::nullopt;
    out.resize(out.find('\0'));
    return out;
}

bool exists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

}  // namespace topo::sysfs

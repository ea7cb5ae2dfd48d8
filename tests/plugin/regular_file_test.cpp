// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/regular_file.hpp"

#include <doctest/doctest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

using slurm_plugin::read_regular;

namespace {

struct folder {
    folder() {
        std::string pattern = (std::filesystem::temp_directory_path() / "atoll-regular-XXXXXX").string();
        REQUIRE(mkdtemp(pattern.data()) != nullptr);
        path = pattern;
    }
    ~folder() {
        std::error_code ignored;
        std::filesystem::remove_all(path, ignored);
    }
    folder(const folder&) = delete;
    folder& operator=(const folder&) = delete;
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
        std::ofstream(path / name, std::ios::binary) << text;
        return (path / name).string();
    }
    std::filesystem::path path;
};

topo::error refusal(const std::string& path, std::size_t most = 100) {
    const auto r = read_regular(path, most);
    REQUIRE_FALSE(r);
    CHECK(r.failure().where == path);
    CHECK_FALSE(r.failure().remedy.empty());
    return r.failure();
}

}  // namespace

TEST_CASE("a file is read whole, bytes as they are, also through a link") {
    const folder f;
    const std::string text("a\0b\xff\n", 5);
    CHECK(*read_regular(f.write("a", text), 5) == text);
    CHECK(read_regular(f.write("empty", ""), 0)->empty());
    std::filesystem::create_symlink(f.path / "a", f.path / "link");
    CHECK(*read_regular((f.path / "link").string(), 5) == text);
    const std::string long_text(200000, 'x');
    CHECK(read_regular(f.write("long", long_text), 200000)->size() == 200000);
}

TEST_CASE("what is missing, too long, or no file is refused by name") {
    const folder f;
    CHECK(refusal((f.path / "absent").string()).code == topo::errc::missing);
    CHECK(refusal(f.write("a", "abcdef"), 5).code == topo::errc::limit);
    CHECK(refusal(f.path.string()).code == topo::errc::io);
    CHECK(refusal("/dev/zero").code == topo::errc::io);
    std::filesystem::create_symlink(f.path / "loop", f.path / "loop");
    CHECK(refusal((f.path / "loop").string()).code == topo::errc::io);
}

TEST_CASE("a pipe that nobody writes to does not hold the reader up") {
    const folder f;
    const std::string pipe = (f.path / "pipe").string();
    REQUIRE(mkfifo(pipe.c_str(), 0600) == 0);
    alarm(20);  // ends this program, should the reader wait
    CHECK(refusal(pipe).what == "this is not a regular file");
    alarm(0);
}

// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "topo/file.hpp"

namespace {

using namespace topo;
namespace fs = std::filesystem;

class temp_folder {
public:
    temp_folder() {
        std::string name = (fs::temp_directory_path() / "atoll-file-XXXXXX").string();
        REQUIRE(::mkdtemp(name.data()) != nullptr);
        path_ = name;
    }
    ~temp_folder() { fs::remove_all(path_); }
    [[nodiscard]] std::string at(const std::string& name) const { return (path_ / name).string(); }
    [[nodiscard]] std::size_t entries() const {
        return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), fs::directory_iterator()));
    }

private:
    fs::path path_;
};

}  // namespace

TEST_CASE("a file is written, read and replaced") {
    const temp_folder t;
    const std::string path = t.at("a");
    REQUIRE(write_file(path, "one"));
    CHECK(*read_file(path) == "one");
    fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write);
    REQUIRE(write_file(path, std::string(200000, 'x')));
    CHECK(read_file(path)->size() == 200000);
    CHECK(fs::status(path).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
    CHECK(t.entries() == 1);
}

TEST_CASE("a link stays a link, its target is replaced") {
    const temp_folder t;
    REQUIRE(write_file(t.at("real"), "old"));
    fs::create_symlink("real", t.at("link"));
    REQUIRE(write_file(t.at("link"), "new"));
    CHECK(fs::is_symlink(t.at("link")));
    CHECK(*read_file(t.at("real")) == "new");
    CHECK(t.entries() == 2);
}

TEST_CASE("a link to a file that is not there yet stays a link, its target is made") {
    const temp_folder t;
    fs::create_directory(t.at("far"));
    fs::create_symlink("far/real", t.at("second"));
    fs::create_symlink("second", t.at("link"));
    REQUIRE(write_file(t.at("link"), "new"));
    CHECK(fs::is_symlink(t.at("link")));
    CHECK(fs::is_symlink(t.at("second")));
    CHECK(*read_file(t.at("far/real")) == "new");
    CHECK(t.entries() == 3);
    fs::create_symlink("no/such/folder/real", t.at("lost"));
    const auto lost = write_file(t.at("lost"), "x");
    REQUIRE_FALSE(lost);
    CHECK(lost.failure().where == t.at("no/such/folder/real"));
    CHECK(fs::is_symlink(t.at("lost")));
    fs::create_symlink("round", t.at("round"));
    CHECK_FALSE(write_file(t.at("round"), "x"));
    CHECK(fs::is_symlink(t.at("round")));
}

TEST_CASE("whether a file could be written is told without leaving anything") {
    const temp_folder t;
    CHECK(check_writable(t.at("new")));
    CHECK(t.entries() == 0);
    REQUIRE(write_file(t.at("old"), "old"));
    CHECK(check_writable(t.at("old")));
    CHECK(*read_file(t.at("old")) == "old");
    CHECK(check_writable("/dev/null"));
    CHECK(check_writable("-"));
    for (const char* name : {"", "no/file", "old/file"}) {
        CAPTURE(name);
        const auto got = check_writable(t.at(name));
        REQUIRE_FALSE(got);
        CHECK(got.failure().code == errc::io);
        CHECK_FALSE(got.failure().remedy.empty());
    }
    CHECK(t.entries() == 1);
}

TEST_CASE("devices are written to, never replaced") {
    REQUIRE(write_file("/dev/null", "gone"));
    CHECK(fs::is_character_file("/dev/null"));
    CHECK(read_file("/dev/null")->empty());
    const auto endless = read_file("/dev/zero", 1000);
    REQUIRE_FALSE(endless);
    CHECK(endless.failure().code == errc::limit);
}

TEST_CASE("failures name the path and leave nothing behind") {
    const temp_folder t;
    const auto none = read_file(t.at("none"));
    REQUIRE_FALSE(none);
    CHECK(none.failure().code == errc::missing);
    CHECK(none.failure().where == t.at("none"));
    CHECK(read_file(t.at("")).failure().code == errc::io);
    const auto no_folder = write_file(t.at("no/such/file"), "x");
    REQUIRE_FALSE(no_folder);
    CHECK(no_folder.failure().code == errc::io);
    CHECK(no_folder.failure().remedy.find("folder") != std::string::npos);
    CHECK_FALSE(write_file(t.at(""), "x"));
    REQUIRE(write_file(t.at("big"), std::string(11, 'x')));
    CHECK(read_file(t.at("big"), 10).failure().code == errc::limit);
    CHECK(read_file(t.at("big"), 11));
    CHECK(t.entries() == 1);
}

// A full disk, by a limit on the size of files in a child process; and a child killed in the middle.
TEST_CASE("a write that fails half-way leaves the old file") {
    const temp_folder t;
    const std::string path = t.at("a");
    REQUIRE(write_file(path, "old"));
    const pid_t child = ::fork();
    if (child == 0) {
        std::signal(SIGXFSZ, SIG_IGN);
        const rlimit small{4096, 4096};
        ::setrlimit(RLIMIT_FSIZE, &small);
        const auto got = write_file(path, std::string(1 << 20, 'x'));
        ::_exit(!got && got.failure().code == errc::io && got.failure().where == path ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status));
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(*read_file(path) == "old");
    CHECK(t.entries() == 1);
}

TEST_CASE("a reader never sees half a file while a writer is killed") {
    const temp_folder t;
    const std::string path = t.at("a");
    const std::string first(300000, 'a');
    const std::string second(500000, 'b');
    REQUIRE(write_file(path, first));
    for (int round = 0; round < 20; ++round) {
        const pid_t child = ::fork();
        if (child == 0)
            for (int i = 0;; ++i) (void)write_file(path, i % 2 == 0 ? second : first);
        for (int i = 0; i < 20; ++i) {
            const auto seen = read_file(path);
            REQUIRE(seen);
            CHECK((*seen == first || *seen == second));
        }
        ::kill(child, SIGKILL);
        int status = 0;
        REQUIRE(::waitpid(child, &status, 0) == child);
        const auto seen = read_file(path);
        REQUIRE(seen);
        CHECK((*seen == first || *seen == second));
    }
}

TEST_CASE("a folder that may not be written to") {
    const temp_folder t;
    REQUIRE(write_file(t.at("a"), "old"));
    const pid_t child = ::fork();
    if (child == 0) {
        ::chmod(t.at("").c_str(), 0555);
        ::chmod(t.at("a").c_str(), 0644);
        if (::geteuid() == 0 && ::setuid(65534) != 0) ::_exit(2);
        const auto got = write_file(t.at("a"), "new");
        ::_exit(!got && got.failure().code == errc::io && !got.failure().remedy.empty() ? 0 : 1);
    }
    int status = -1;
    REQUIRE(::waitpid(child, &status, 0) == child);
    ::chmod(t.at("").c_str(), 0755);
    CHECK(WEXITSTATUS(status) == 0);
    CHECK(*read_file(t.at("a")) == "old");
}

// SPDX-License-Identifier: Apache-2.0
#include "atoll_run.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

namespace cli_test {
namespace {

constexpr int patience_seconds = 120;

pid_t start(const std::vector<std::string>& words, const std::string& in, const std::string& out,
            const std::string& err, const std::vector<std::string>& environment) {
    std::vector<char*> argv;
    for (const std::string& w : words) argv.push_back(const_cast<char*>(w.c_str()));
    argv.push_back(nullptr);
    const char* path = std::getenv("PATH");
    const std::string path_entry = std::string("PATH=") + (path == nullptr ? "/usr/bin:/bin" : path);
    std::vector<char*> envp{const_cast<char*>(path_entry.c_str())};
    for (const std::string& e : environment) envp.push_back(const_cast<char*>(e.c_str()));
    envp.push_back(nullptr);
    const pid_t child = fork();
    if (child != 0) return child;
    const int i = open(in.c_str(), O_RDONLY);
    const int o = open(out.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int e = open(err.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (i < 0 || o < 0 || e < 0 || dup2(i, 0) < 0 || dup2(o, 1) < 0 || dup2(e, 2) < 0) _exit(126);
    execvpe(argv[0], argv.data(), envp.data());
    _exit(127);
}

int wait_for(pid_t child) {
    for (int waited = 0; waited < patience_seconds * 100; ++waited) {
        int status = 0;
        if (waitpid(child, &status, WNOHANG) == child)
            return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    FAIL("the program did not end in time");
    return -1;
}

}  // namespace

scratch::scratch() {
    std::string name = (std::filesystem::temp_directory_path() / "atoll-cli-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
}

scratch::~scratch() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

std::string scratch::write(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary) << text;
    return file(name);
}

std::vector<std::string> scratch::names() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(path_))
        out.push_back(entry.path().filename().string());
    std::sort(out.begin(), out.end());
    return out;
}

ran program(const std::vector<std::string>& words, const std::string& input,
            const std::vector<std::string>& environment) {
    const scratch dir;
    const std::string in = dir.write("in", input);
    ran r;
    r.code = wait_for(start(words, in, dir.file("out"), dir.file("err"), environment));
    r.out = read_all(dir.file("out"));
    r.err = read_all(dir.file("err"));
    return r;
}

ran run_atoll(const std::vector<std::string>& words, const std::string& input,
              const std::vector<std::string>& environment) {
    std::vector<std::string> all{ATOLL_BIN};
    all.insert(all.end(), words.begin(), words.end());
    return program(all, input, environment);
}

ran atoll_interrupted(const std::vector<std::string>& words, int milliseconds, int signal) {
    std::vector<std::string> all{ATOLL_BIN};
    all.insert(all.end(), words.begin(), words.end());
    const scratch dir;
    const pid_t child = start(all, dir.write("in", ""), dir.file("out"), dir.file("err"), {});
    std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds));
    kill(child, signal);
    ran r;
    r.code = wait_for(child);
    r.out = read_all(dir.file("out"));
    r.err = read_all(dir.file("err"));
    return r;
}

std::string read_all(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
}

bool exists(const std::string& path) { return std::filesystem::exists(path); }

bool installed(const std::string& program_name) {
    return program({"sh", "-c", "command -v " + program_name}).code == 0;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

std::string example(const std::string& name) { return std::string(ATOLL_CONFIGS) + "/" + name; }

const std::string& simulated_node() {
    static const scratch dir;
    static const std::string path = [] {
        const std::string file = dir.file("h100.json");
        REQUIRE(run_atoll({"calibrate", "--simulate", "dgx-h100", "--only", "gpu-gpu", "--only", "gpu-nic", "-o", file})
                    .code == 0);
        return file;
    }();
    return path;
}

}  // namespace cli_test

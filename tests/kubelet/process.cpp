// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <arpa/inet.h>
#include <doctest/doctest.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

namespace kube_test {

using namespace std::chrono_literals;

plugin_process::plugin_process(const std::vector<std::string>& arguments, const std::string& log) : log_(log) {
    std::vector<std::string> words = {ATOLL_DEVICE_PLUGIN};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> pointers;
    for (std::string& w : words) pointers.push_back(w.data());
    pointers.push_back(nullptr);
    pid_ = ::fork();
    REQUIRE(pid_ >= 0);
    if (pid_ == 0) {
        const int out = ::open(log_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
        ::dup2(out, STDERR_FILENO);
        ::dup2(out, STDOUT_FILENO);
        ::execv(pointers[0], pointers.data());
        ::_exit(127);
    }
}

plugin_process::~plugin_process() {
    if (pid_ <= 0) return;
    send(SIGKILL);
    (void)wait();
}

void plugin_process::send(int signal) const {
    if (pid_ > 0) ::kill(pid_, signal);
}

std::optional<int> plugin_process::wait(std::chrono::milliseconds most) {
    const auto until = std::chrono::steady_clock::now() + most;
    while (pid_ > 0) {
        int status = 0;
        if (::waitpid(pid_, &status, WNOHANG) == pid_) {
            pid_ = -1;
            return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
        }
        if (std::chrono::steady_clock::now() > until) return {};
        std::this_thread::sleep_for(2ms);
    }
    return {};
}

long plugin_process::resident_kb() const {
    std::ifstream in("/proc/" + std::to_string(pid_) + "/status");
    for (std::string line; std::getline(in, line);)
        if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
    return -1;
}

std::string plugin_process::log() const {
    std::ostringstream out;
    out << std::ifstream(log_).rdbuf();
    return out.str();
}

namespace {

int connected(int port) {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<std::uint16_t>(port));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval limit{2, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    if (::connect(socket, reinterpret_cast<sockaddr*>(&to), sizeof to) == 0) return socket;
    ::close(socket);
    return -1;
}

}  // namespace

std::string raw_exchange(int port, const std::string& text) {
    const int socket = connected(port);
    if (socket < 0) return {};
    (void)!::send(socket, text.data(), text.size(), MSG_NOSIGNAL);
    std::string all;
    char buffer[4096];
    for (ssize_t got; (got = ::recv(socket, buffer, sizeof buffer, 0)) > 0;)
        all.append(buffer, static_cast<std::size_t>(got));
    ::close(socket);
    return all;
}

page get(int port, const std::string& path) {
    const std::string all = raw_exchange(port, "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::size_t body = all.find("\r\n\r\n");
    if (!all.starts_with("HTTP/1.1 ") || body == std::string::npos) return {};
    return {std::stoi(all.substr(9)), all.substr(body + 4)};
}

int free_port() {
    const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    REQUIRE(::bind(socket, reinterpret_cast<sockaddr*>(&at), size) == 0);
    REQUIRE(::getsockname(socket, reinterpret_cast<sockaddr*>(&at), &size) == 0);
    ::close(socket);
    return ntohs(at.sin_port);
}

}  // namespace kube_test

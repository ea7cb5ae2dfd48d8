// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/http_server.hpp"

#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

#include <fmt/format.h>

namespace kube {
namespace {

using clock = std::chrono::steady_clock;

constexpr std::size_t most_connections = 32;
constexpr std::size_t most_request = 8192;
constexpr std::chrono::seconds patience{2};

struct connection {
    int socket = -1;
    std::string text;
    clock::time_point until;
};

const char* words(int status) {
    switch (status) {
        case 200: return "OK";
        case 404: return "Not Found";
        case 405: return "Method Not Allowed";
        case 503: return "Service Unavailable";
        default: return "Bad Request";
    }
}

void send_answer(int socket, const http_answer& a) {
    const std::string all =
        fmt::format("HTTP/1.1 {} {}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{}", a.status,
                    words(a.status), a.type, a.body.size(), a.body);
    const timeval limit{1, 0};
    ::setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    for (std::size_t at = 0; at < all.size();) {
        const ssize_t sent = ::send(socket, all.data() + at, all.size() - at, MSG_NOSIGNAL);
        if (sent <= 0) return;
        at += static_cast<std::size_t>(sent);
    }
}

http_answer answer_to(const std::string& request, const std::function<http_answer(const std::string&)>& answer) {
    const std::string line = request.substr(0, request.find_first_of("\r\n"));
    const std::size_t space = line.find(' ');
    const std::size_t end = space == std::string::npos ? space : line.find(' ', space + 1);
    if (end == std::string::npos || !line.substr(end + 1).starts_with("HTTP/1.")) return {400, "bad request\n"};
    if (line.substr(0, space) != "GET") return {405, "only GET is answered\n"};
    const std::string target = line.substr(space + 1, end - space - 1);
    return answer(target.substr(0, target.find('?')));
}

// True when the connection is done with.
bool read_some(connection& c, const std::function<http_answer(const std::string&)>& answer) {
    char buffer[2048];
    const ssize_t got = ::recv(c.socket, buffer, sizeof buffer, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
    if (got <= 0) return true;
    c.text.append(buffer, static_cast<std::size_t>(got));
    if (c.text.find("\r\n\r\n") == std::string::npos && c.text.find("\n\n") == std::string::npos) {
        if (c.text.size() <= most_request) return false;
        send_answer(c.socket, {400, "request too long\n"});
        return true;
    }
    send_answer(c.socket, answer_to(c.text, answer));
    return true;
}

topo::error failed(const std::string& address, const std::string& what) {
    return {topo::errc::io, "metrics-address " + address, what, "name a free ADDRESS:PORT of this host, or off"};
}

}  // namespace

topo::result<std::unique_ptr<http_server>> http_server::start(
    const std::string& address, std::function<http_answer(const std::string& path)> answer) {
    const std::size_t colon = address.rfind(':');
    if (colon == std::string::npos || colon + 1 == address.size())
        return topo::error{topo::errc::bad_input, "metrics-address", "'" + address + "' is not ADDRESS:PORT",
                           "write 127.0.0.1:9402, [::1]:9402, :9402 or off"};
    std::string host = address.substr(0, colon);
    if (host.size() >= 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
    addrinfo* found = nullptr;
    if (const int code =
            ::getaddrinfo(host.empty() ? nullptr : host.c_str(), address.c_str() + colon + 1, &hints, &found);
        code != 0)
        return topo::error{topo::errc::bad_input, "metrics-address", "'" + address + "': " + gai_strerror(code),
                           "write 127.0.0.1:9402, [::1]:9402, :9402 or off"};
    std::unique_ptr<http_server> out(new http_server);
    out->answer_ = std::move(answer);
    out->listener_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const int on = 1;
    if (out->listener_ >= 0) ::setsockopt(out->listener_, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const bool bound = out->listener_ >= 0 && ::bind(out->listener_, found->ai_addr, found->ai_addrlen) == 0 &&
                       ::listen(out->listener_, 64) == 0;
    const int why = errno;
    ::freeaddrinfo(found);
    if (!bound) return failed(address, std::strerror(why));
    sockaddr_storage local{};
    socklen_t size = sizeof local;
    ::getsockname(out->listener_, reinterpret_cast<sockaddr*>(&local), &size);
    out->port_ = ntohs(local.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(local).sin6_port
                                                   : reinterpret_cast<sockaddr_in&>(local).sin_port);
    out->wake_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (out->wake_ < 0) return failed(address, std::strerror(errno));
    out->thread_ = std::thread([self = out.get()] { self->serve(); });
    return out;
}

http_server::~http_server() {
    if (thread_.joinable()) {
        const std::uint64_t one = 1;
        if (::write(wake_, &one, sizeof one) == sizeof one)
            thread_.join();
        else
            thread_.detach();
    }
    if (listener_ >= 0) ::close(listener_);
    if (wake_ >= 0) ::close(wake_);
}

void http_server::serve() {
    std::vector<connection> open;
    while (true) {
        std::vector<pollfd> watched{{wake_, POLLIN, 0}, {open.size() < most_connections ? listener_ : -1, POLLIN, 0}};
        for (const connection& c : open) watched.push_back({c.socket, POLLIN, 0});
        ::poll(watched.data(), watched.size(), open.empty() ? -1 : 200);
        if (watched[0].revents != 0) break;
        const auto now = clock::now();
        for (std::size_t i = open.size(); i-- > 0;) {
            const bool ready = watched[i + 2].revents != 0;
            if (!(ready ? read_some(open[i], answer_) : now > open[i].until)) continue;
            ::close(open[i].socket);
            open.erase(open.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (watched[1].revents != 0)
            if (const int socket = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC); socket >= 0)
                open.push_back({socket, {}, now + patience});
    }
    for (const connection& c : open) ::close(c.socket);
}

}  // namespace kube

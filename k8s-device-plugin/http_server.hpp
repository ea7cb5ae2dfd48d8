// SPDX-License-Identifier: Apache-2.0
// Answers GET of a few pages in one thread: probes and Prometheus. Nothing else is served; a request is read up to
// 8 kB and for two seconds, at most 32 at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "topo/result.hpp"

namespace kube {

struct http_answer {
    int status = 200;
    std::string body;
    std::string type = "text/plain; charset=utf-8";
};

class http_server {
public:
    // "ADDRESS:PORT" with numbers, "[::1]:9402", ":9402" (all addresses), port 0: any free one. `answer` gets the path
    // and is called from the server's thread; it must not throw. Fails with bad_input or io.
    [[nodiscard]] static topo::result<std::unique_ptr<http_server>> start(
        const std::string& address, std::function<http_answer(const std::string& path)> answer);
    ~http_server();

    [[nodiscard]] int port() const noexcept { return port_; }

private:
    http_server() = default;
    void serve();

    std::function<http_answer(const std::string&)> answer_;
    int listener_ = -1;
    int wake_ = -1;
    int port_ = 0;
    std::thread thread_;
};

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// The device plugin as a program of its own, asked over its socket: how long GetPreferredAllocation takes for 8 and 16
// GPUs, any free set and size, with and without required devices; its memory over 100,000 allocations; and the
// published best-effort rule on the same boards, cut off after two seconds a question.
//
// Usage: kube-bench [CALLS]     (default 20,000 a row)
#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <stdlib.h>  // mkdtemp
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <future>
#include <random>
#include <string>
#include <vector>

#include "deviceplugin.grpc.pb.h"
#include "kube_best_effort.hpp"
#include "topo/file.hpp"
#include "topo/ids.hpp"

namespace {

using clock = std::chrono::steady_clock;
using topo::gpu_mask;

double us_since(clock::time_point start) {
    return std::chrono::duration<double, std::micro>(clock::now() - start).count();
}

struct quantiles {
    double p50, p99, most;
};
quantiles of(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return {values[values.size() / 2], values[values.size() * 99 / 100], values.back()};
}

// NVLink pairs, boards of eight: 0-1, 2-3 … with SYS between boards, NODE inside one.
topo::node_description board(std::size_t n) {
    topo::node_description out;
    out.host = "bench";
    auto& hw = out.hardware;
    hw.name = fmt::format("pairs-{}", n);
    hw.gpus.resize(n);
    topo::cost_layer layer;
    layer.cells = topo::matrix<topo::cost>(n, n);
    for (std::size_t a = 0; a < n; ++a) {
        hw.gpus[a].name = fmt::format("GPU{}", a);
        hw.gpus[a].uuid = fmt::format("GPU-{:02}", a);
        for (std::size_t b = 0; b < n; ++b) {
            if (a == b) continue;
            topo::cost& c = layer.cells(a, b);
            c.gb_per_s = a / 2 == b / 2 ? 200 : a / 8 == b / 8 ? 20 : 12;
            c.alpha_us = a / 2 == b / 2 ? 2 : 6;
            c.from = c.alpha_from = topo::source::imported;
        }
    }
    hw.layers.push_back(std::move(layer));
    return out;
}

best_effort::scores scores_of(std::size_t n) {
    best_effort::scores out(n, n, 0);
    for (std::size_t a = 0; a < n; ++a)
        for (std::size_t b = 0; b < n; ++b)
            if (a != b) out(a, b) = (a / 8 == b / 8 ? 20 : 10) + (a / 2 == b / 2 ? 400 : 0);
    return out;
}

class kubelet final : public v1beta1::Registration::Service {
public:
    grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* in, v1beta1::Empty*) override {
        if (!told_) endpoint_.set_value(in->endpoint());
        told_ = true;
        return grpc::Status::OK;
    }
    std::future<std::string> endpoint() { return endpoint_.get_future(); }

private:
    bool told_ = false;
    std::promise<std::string> endpoint_;
};

// The plugin and a socket to it.
class bench {
public:
    explicit bench(std::size_t gpus) : gpus_(gpus) {
        std::string pattern = (std::filesystem::temp_directory_path() / "atoll-bench-XXXXXX").string();
        if (::mkdtemp(pattern.data()) == nullptr) std::exit(2);
        folder_ = pattern;
        std::ofstream(folder_ + "/node.json") << topo::write_node(board(gpus));
        grpc::ServerBuilder builder;
        builder.AddListeningPort("unix:" + folder_ + "/kubelet.sock", grpc::InsecureServerCredentials());
        builder.RegisterService(&kubelet_);
        server_ = builder.BuildAndStart();
        auto endpoint = kubelet_.endpoint();
        const auto start = clock::now();
        pid_ = ::fork();
        if (pid_ == 0) {
            const std::string node = folder_ + "/node.json";
            ::execl(ATOLL_DEVICE_PLUGIN, ATOLL_DEVICE_PLUGIN, "--plugin-dir", folder_.c_str(), "--devices",
                    node.c_str(), "--health", "none", "--metrics-address", "off", "--log-level", "error", nullptr);
            ::_exit(127);
        }
        if (endpoint.wait_for(std::chrono::seconds(30)) != std::future_status::ready) std::exit(2);
        registered_ms_ = us_since(start) / 1e3;
        stub_ = v1beta1::DevicePlugin::NewStub(
            grpc::CreateChannel("unix:" + folder_ + "/" + endpoint.get(), grpc::InsecureChannelCredentials()));
    }
    ~bench() {
        ::kill(pid_, SIGTERM);
        ::waitpid(pid_, nullptr, 0);
        server_->Shutdown();
        std::error_code ignored;
        std::filesystem::remove_all(folder_, ignored);
    }
    bench(const bench&) = delete;
    bench& operator=(const bench&) = delete;

    [[nodiscard]] double registered_ms() const { return registered_ms_; }

    [[nodiscard]] quantiles prefer(int calls, double free_share, bool required, std::mt19937_64& random) {
        std::vector<double> took;
        std::bernoulli_distribution is_free(free_share);
        for (int i = -200; i < calls; ++i) {  // the first ones warm up
            std::vector<std::string> ids;
            while (ids.empty())
                for (std::size_t g = 0; g < gpus_; ++g)
                    if (is_free(random)) ids.push_back(fmt::format("GPU-{:02}", g));
            std::shuffle(ids.begin(), ids.end(), random);
            v1beta1::PreferredAllocationRequest in;
            auto* one = in.add_container_requests();
            for (const auto& id : ids) one->add_available_deviceids(id);
            const auto size = 1 + random() % ids.size();
            one->set_allocation_size(static_cast<int>(size));
            for (std::size_t m = 0; required && m < size / 2 + 1; ++m) one->add_must_include_deviceids(ids[m]);
            grpc::ClientContext context;
            v1beta1::PreferredAllocationResponse out;
            const auto start = clock::now();
            const auto status = stub_->GetPreferredAllocation(&context, in, &out);
            if (i >= 0) took.push_back(us_since(start));
            if (!status.ok() || out.container_responses(0).deviceids_size() != static_cast<int>(size)) std::exit(3);
        }
        return of(std::move(took));
    }

    void allocate(int calls) {
        for (int i = 0; i < calls; ++i) {
            v1beta1::AllocateRequest in;
            in.add_container_requests()->add_devices_ids(fmt::format("GPU-{:02}", static_cast<std::size_t>(i) % gpus_));
            grpc::ClientContext context;
            v1beta1::AllocateResponse out;
            if (!stub_->Allocate(&context, in, &out).ok()) std::exit(3);
        }
    }

    [[nodiscard]] long resident_kb() const {
        std::ifstream in("/proc/" + std::to_string(pid_) + "/status");
        for (std::string line; std::getline(in, line);)
            if (line.starts_with("VmRSS:")) return std::stol(line.substr(6));
        return -1;
    }

private:
    std::size_t gpus_;
    std::string folder_;
    kubelet kubelet_;
    std::unique_ptr<grpc::Server> server_;
    pid_t pid_ = -1;
    double registered_ms_ = 0;
    std::unique_ptr<v1beta1::DevicePlugin::Stub> stub_;
};

void peer(std::size_t n) {
    constexpr std::chrono::milliseconds most{2000};
    const auto pair = scores_of(n);
    std::vector<unsigned> all(n);
    for (unsigned g = 0; g < n; ++g) all[g] = g;
    fmt::print("best-effort rule, {} GPUs free, choosing alone:", n);
    for (const unsigned size : {1u, 2u, 3u, 4u, 8u}) {
        const auto start = clock::now();
        const bool done = best_effort::choose(pair, all, size, most).has_value();
        fmt::print("  {}: {}", size, done ? fmt::format("{:.0f} us", us_since(start)) : std::string("over 2 s (cut)"));
        std::fflush(stdout);
    }
    fmt::print("\n");
}

// Four pairs, k one-GPU pods, then pods of two until nothing is left; free lists shuffled as the kubelet does.
void peer_stream() {
    const auto pair = scores_of(8);
    fmt::print("best-effort rule, 8 GPUs in pairs, k one-GPU pods first: pods of two that got a pair, 2,000 streams:");
    for (unsigned k = 1; k <= 4; ++k) {
        std::mt19937_64 random(k);
        unsigned pairs = 0, asked = 0;
        for (int stream = 0; stream < 2000; ++stream) {
            std::vector<unsigned> free = {0, 1, 2, 3, 4, 5, 6, 7};
            const auto take = [&](unsigned size) {
                std::shuffle(free.begin(), free.end(), random);
                const auto got = *best_effort::choose(pair, free, size, std::chrono::seconds(60));
                for (const unsigned g : got) std::erase(free, g);
                return got;
            };
            for (unsigned i = 0; i < k; ++i) take(1);
            while (free.size() >= 2) {
                const auto two = take(2);
                ++asked;
                pairs += two[0] / 2 == two[1] / 2 ? 1 : 0;
            }
        }
        fmt::print("  k={}: {:.1f} %", k, 100.0 * pairs / asked);
    }
    fmt::print("\n");
}

}  // namespace

int main(int count, char** words) {
    const int calls = count > 1 ? std::max(std::atoi(words[1]), 100) : 20'000;
    std::mt19937_64 random(20261201);
    for (const std::size_t n : {8u, 16u}) {
        bench b(n);
        fmt::print("{} GPUs: start to registered {:.0f} ms\n", n, b.registered_ms());
        for (const auto& [share, required] : {std::pair{1.0, false}, {0.75, false}, {0.5, false}, {0.75, true}}) {
            const auto q = b.prefer(calls, share, required, random);
            fmt::print("  GetPreferredAllocation, {:3.0f} % free{}: p50 {:.0f} us  p99 {:.0f} us  longest {:.1f} ms\n",
                       100 * share, required ? ", half of it required" : "", q.p50, q.p99, q.most / 1e3);
        }
        b.allocate(2000);
        const long before = b.resident_kb();
        b.allocate(5 * calls);
        fmt::print("  resident {:.1f} MB, {:+} kB over {} allocations\n", static_cast<double>(before) / 1024,
                   b.resident_kb() - before, 5 * calls);
        peer(n);
    }
    peer_stream();
    return 0;
}

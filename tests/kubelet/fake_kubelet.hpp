// SPDX-License-Identifier: Apache-2.0
// A kubelet's device manager as a plugin sees it: registration, one long stream, allocation calls. Behaves as real
// ones were seen to: clears its folder at the start, replaces an endpoint of the same name without a word.
#pragma once

#include <grpcpp/grpcpp.h>

#include <chrono>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "deviceplugin.grpc.pb.h"

namespace kube_test {

enum class call_order {
    reply_first,    // 1.20: Register is answered, then ListAndWatch
    options_first,  // 1.32: GetDevicePluginOptions and ListAndWatch while Register waits
};

class fake_kubelet final : private v1beta1::Registration::Service {
public:
    explicit fake_kubelet(std::string folder, call_order order = call_order::options_first);
    ~fake_kubelet() override;

    void start();            // clears the folder and listens on kubelet.sock
    void stop();             // cancels the stream, takes kubelet.sock away
    void refuse(int times);  // the next Register calls fail

    [[nodiscard]] int registrations() const;  // that were taken
    [[nodiscard]] int refused() const;
    [[nodiscard]] v1beta1::RegisterRequest last_request() const;
    [[nodiscard]] int lists() const;  // messages on streams so far
    [[nodiscard]] bool wait(const std::function<bool()>& true_when,
                            std::chrono::milliseconds most = std::chrono::seconds(20)) const;
    // Devices of the last message, by id: "Healthy" or "Unhealthy" (and of which NUMA node, -1 none).
    struct listed {
        std::string id, health;
        long numa = -1;
    };
    [[nodiscard]] std::vector<listed> devices() const;
    [[nodiscard]] std::vector<std::string> healthy() const;

    // To the endpoint that registered last.
    grpc::Status prefer(const std::vector<std::string>& available, const std::vector<std::string>& must, int size,
                        std::vector<std::string>& out);
    grpc::Status allocate(const std::vector<std::string>& ids, v1beta1::ContainerAllocateResponse& out);
    [[nodiscard]] v1beta1::DevicePlugin::Stub& plugin();

private:
    grpc::Status Register(grpc::ServerContext*, const v1beta1::RegisterRequest* in, v1beta1::Empty*) override;
    void end_stream();

    const std::string folder_;
    const call_order order_;
    std::unique_ptr<grpc::Server> server_;
    mutable std::mutex guard_;
    mutable std::condition_variable changed_;
    int taken_ = 0, refused_ = 0, to_refuse_ = 0, lists_ = 0;
    v1beta1::RegisterRequest last_;
    std::vector<listed> devices_;
    std::shared_ptr<v1beta1::DevicePlugin::Stub> plugin_;
    std::shared_ptr<grpc::ClientContext> stream_;
    std::vector<std::thread> watchers_;
};

}  // namespace kube_test

// SPDX-License-Identifier: Apache-2.0
// The DevicePlugin service that the kubelet calls. It reads the feed, and nothing else.
#pragma once

#include "deviceplugin.grpc.pb.h"
#include "k8s-device-plugin/feed.hpp"
#include "k8s-device-plugin/metrics.hpp"
#include "k8s-device-plugin/settings.hpp"

namespace kube {

// Outlives the server that serves it. Every handler answers: an inner fault becomes a valid answer
// (GetPreferredAllocation: sorted) or an error in words, never an exception.
class plugin_service final : public v1beta1::DevicePlugin::Service {
public:
    plugin_service(const settings& s, feed& devices, metrics& counted)
        : settings_(s), feed_(devices), metrics_(counted) {}

    [[nodiscard]] v1beta1::DevicePluginOptions offered_options() const;

    grpc::Status GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                        v1beta1::DevicePluginOptions* out) override;
    grpc::Status ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                              grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) override;
    grpc::Status GetPreferredAllocation(grpc::ServerContext*, const v1beta1::PreferredAllocationRequest* in,
                                        v1beta1::PreferredAllocationResponse* out) override;
    grpc::Status Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* in,
                          v1beta1::AllocateResponse* out) override;
    grpc::Status PreStartContainer(grpc::ServerContext*, const v1beta1::PreStartContainerRequest*,
                                   v1beta1::PreStartContainerResponse*) override;

private:
    const settings& settings_;
    feed& feed_;
    metrics& metrics_;
};

}  // namespace kube

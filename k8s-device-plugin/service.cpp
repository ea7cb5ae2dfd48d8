// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/service.hpp"

#include <fmt/format.h>

#include <chrono>
#include <string_view>
#include <vector>

#include "k8s-device-plugin/allocation.hpp"
#include "k8s-device-plugin/log.hpp"
#include "k8s-device-plugin/preferred.hpp"

namespace kube {
namespace {

using clock = std::chrono::steady_clock;

template <class Ids>
std::vector<std::string_view> views(const Ids& ids) {
    return {ids.begin(), ids.end()};
}

double seconds_since(clock::time_point start) { return std::chrono::duration<double>(clock::now() - start).count(); }

v1beta1::ListAndWatchResponse listed(const snapshot& now, bool numa_hints) {
    v1beta1::ListAndWatchResponse out;
    for (const device& d : now.node->devices()) {
        v1beta1::Device* one = out.add_devices();
        one->set_id(d.id);
        one->set_health((now.unhealthy >> d.gpu & 1) != 0 ? "Unhealthy" : "Healthy");
        if (const auto& numa = now.node->parts(d.gpu).numa; numa_hints && numa)
            one->mutable_topology()->add_nodes()->set_id(*numa);
    }
    return out;
}

void answer(const allocation& given, v1beta1::ContainerAllocateResponse& out) {
    for (const auto& [name, value] : given.environment) (*out.mutable_envs())[name] = value;
    for (const auto& [name, value] : given.annotations) (*out.mutable_annotations())[name] = value;
    for (const auto& m : given.mounts) {
        v1beta1::Mount* one = out.add_mounts();
        one->set_container_path(m.container_path);
        one->set_host_path(m.host_path);
        one->set_read_only(true);
    }
    for (const auto& f : given.files) {
        v1beta1::DeviceSpec* one = out.add_devices();
        one->set_container_path(f.container_path);
        one->set_host_path(f.host_path);
        one->set_permissions("rw");
    }
    for (const auto& name : given.cdi) out.add_cdi_devices()->set_name(name);
}

}  // namespace

v1beta1::DevicePluginOptions plugin_service::offered_options() const {
    v1beta1::DevicePluginOptions out;
    out.set_pre_start_required(settings_.pre_start);
    out.set_get_preferred_allocation_available(true);
    return out;
}

grpc::Status plugin_service::GetDevicePluginOptions(grpc::ServerContext*, const v1beta1::Empty*,
                                                    v1beta1::DevicePluginOptions* out) {
    *out = offered_options();
    return grpc::Status::OK;
}

grpc::Status plugin_service::ListAndWatch(grpc::ServerContext* context, const v1beta1::Empty*,
                                          grpc::ServerWriter<v1beta1::ListAndWatchResponse>* stream) {
    const std::uint64_t own = feed_.open_stream();
    std::uint64_t sent = 0;
    // Cancellation has no call-back in the synchronous server: look for it four times a second.
    for (snapshot now = feed_.now(); feed_.current(own) && !context->IsCancelled();) {
        if (now.version != sent) {
            if (!stream->Write(listed(now, settings_.numa_hints))) break;
            sent = now.version;
        }
        now = feed_.wait(sent, own, std::chrono::milliseconds(250));
    }
    feed_.close_stream(own);
    return grpc::Status::OK;
}

grpc::Status plugin_service::GetPreferredAllocation(grpc::ServerContext*, const v1beta1::PreferredAllocationRequest* in,
                                                    v1beta1::PreferredAllocationResponse* out) {
    const auto start = clock::now();
    const snapshot now = feed_.now();
    for (const auto& wanted : in->container_requests()) {
        const auto available = views(wanted.available_deviceids());
        const auto must = views(wanted.must_include_deviceids());
        preferred given;
        try {
            given = prefer(*now.node, available, must, wanted.allocation_size(), settings_.policy);
        } catch (const std::exception&) {
            given.fault = preferred_fault::no_choice;
            given.ids = sorted_fill(available, must, wanted.allocation_size());
        }
        metrics_.preference(given);
        if (given.fault != preferred_fault::none)
            log(log_level::warning, fmt::format("preferred allocation of {} of {} devices: {}",
                                                wanted.allocation_size(), available.size(), name_of(given.fault)));
        auto* container = out->add_container_responses();
        for (const std::string_view id : given.ids) container->add_deviceids(std::string(id));
    }
    metrics_.call("GetPreferredAllocation", seconds_since(start), true);
    return grpc::Status::OK;
}

grpc::Status plugin_service::Allocate(grpc::ServerContext*, const v1beta1::AllocateRequest* in,
                                      v1beta1::AllocateResponse* out) {
    const auto start = clock::now();
    const snapshot now = feed_.now();
    for (const auto& wanted : in->container_requests()) {
        const auto ids = views(wanted.devices_ids());
        const auto given = allocate(*now.node, settings_, ids);
        if (!given) {
            log(log_level::error, given.failure().message());
            metrics_.call("Allocate", seconds_since(start), false);
            return {grpc::StatusCode::INVALID_ARGUMENT, given.failure().message()};
        }
        answer(*given, *out->add_container_responses());
        metrics_.allocation(*now.node, given->gpus);
    }
    metrics_.call("Allocate", seconds_since(start), true);
    return grpc::Status::OK;
}

grpc::Status plugin_service::PreStartContainer(grpc::ServerContext*, const v1beta1::PreStartContainerRequest*,
                                               v1beta1::PreStartContainerResponse*) {
    metrics_.call("PreStartContainer", 0, true);
    return grpc::Status::OK;
}

}  // namespace kube

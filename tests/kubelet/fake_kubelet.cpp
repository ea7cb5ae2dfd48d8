// SPDX-License-Identifier: Apache-2.0
#include "fake_kubelet.hpp"

#include <doctest/doctest.h>

#include <filesystem>

namespace kube_test {

using namespace std::chrono_literals;

fake_kubelet::fake_kubelet(std::string folder, call_order order) : folder_(std::move(folder)), order_(order) {}

fake_kubelet::~fake_kubelet() {
    stop();
    for (std::thread& t : watchers_) t.join();
}

void fake_kubelet::start() {
    std::filesystem::create_directories(folder_);
    for (const auto& entry : std::filesystem::directory_iterator(folder_))
        if (entry.path().filename() != "kubelet_internal_checkpoint") std::filesystem::remove(entry.path());
    grpc::ServerBuilder builder;
    builder.AddListeningPort("unix:" + folder_ + "/kubelet.sock", grpc::InsecureServerCredentials());
    builder.RegisterService(static_cast<v1beta1::Registration::Service*>(this));
    server_ = builder.BuildAndStart();
    REQUIRE(server_ != nullptr);
}

void fake_kubelet::stop() {
    end_stream();
    if (server_) {
        server_->Shutdown(std::chrono::system_clock::now() + 200ms);
        server_->Wait();
        server_.reset();
    }
    const std::lock_guard lock(guard_);
    plugin_.reset();
    devices_.clear();
}

void fake_kubelet::refuse(int times) {
    const std::lock_guard lock(guard_);
    to_refuse_ = times;
}

int fake_kubelet::registrations() const {
    const std::lock_guard lock(guard_);
    return taken_;
}
int fake_kubelet::refused() const {
    const std::lock_guard lock(guard_);
    return refused_;
}
int fake_kubelet::lists() const {
    const std::lock_guard lock(guard_);
    return lists_;
}
v1beta1::RegisterRequest fake_kubelet::last_request() const {
    const std::lock_guard lock(guard_);
    return last_;
}
std::vector<fake_kubelet::listed> fake_kubelet::devices() const {
    const std::lock_guard lock(guard_);
    return devices_;
}

std::vector<std::string> fake_kubelet::healthy() const {
    std::vector<std::string> out;
    for (const listed& d : devices())
        if (d.health == "Healthy") out.push_back(d.id);
    return out;
}

bool fake_kubelet::wait(const std::function<bool()>& true_when, std::chrono::milliseconds most) const {
    const auto until = std::chrono::steady_clock::now() + most;
    while (!true_when()) {
        if (std::chrono::steady_clock::now() > until) return false;
        std::unique_lock lock(guard_);
        changed_.wait_for(lock, 5ms);
    }
    return true;
}

v1beta1::DevicePlugin::Stub& fake_kubelet::plugin() {
    const std::lock_guard lock(guard_);
    REQUIRE(plugin_ != nullptr);
    return *plugin_;
}

grpc::Status fake_kubelet::prefer(const std::vector<std::string>& available, const std::vector<std::string>& must,
                                  int size, std::vector<std::string>& out) {
    v1beta1::PreferredAllocationRequest in;
    auto* one = in.add_container_requests();
    for (const auto& id : available) one->add_available_deviceids(id);
    for (const auto& id : must) one->add_must_include_deviceids(id);
    one->set_allocation_size(size);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 20s);
    v1beta1::PreferredAllocationResponse got;
    const grpc::Status status = plugin().GetPreferredAllocation(&context, in, &got);
    out.clear();
    if (got.container_responses_size() == 1)
        out.assign(got.container_responses(0).deviceids().begin(), got.container_responses(0).deviceids().end());
    return status;
}

grpc::Status fake_kubelet::allocate(const std::vector<std::string>& ids, v1beta1::ContainerAllocateResponse& out) {
    v1beta1::AllocateRequest in;
    auto* one = in.add_container_requests();
    for (const auto& id : ids) one->add_devices_ids(id);
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + 20s);
    v1beta1::AllocateResponse got;
    const grpc::Status status = plugin().Allocate(&context, in, &got);
    if (got.container_responses_size() == 1) out = got.container_responses(0);
    return status;
}

grpc::Status fake_kubelet::Register(grpc::ServerContext*, const v1beta1::RegisterRequest* in, v1beta1::Empty*) {
    {
        const std::lock_guard lock(guard_);
        if (to_refuse_ > 0) {
            --to_refuse_;
            ++refused_;
            return {grpc::StatusCode::UNAVAILABLE, "not now"};
        }
    }
    end_stream();
    grpc::ChannelArguments arguments;
    arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
    std::shared_ptr<v1beta1::DevicePlugin::Stub> stub = v1beta1::DevicePlugin::NewStub(grpc::CreateCustomChannel(
        "unix:" + folder_ + "/" + in->endpoint(), grpc::InsecureChannelCredentials(), arguments));
    if (order_ == call_order::options_first) {
        grpc::ClientContext context;
        context.set_deadline(std::chrono::system_clock::now() + 10s);
        v1beta1::DevicePluginOptions options;
        if (const auto asked = stub->GetDevicePluginOptions(&context, {}, &options); !asked.ok()) return asked;
    }
    const std::lock_guard lock(guard_);
    plugin_ = std::move(stub);
    stream_ = std::make_shared<grpc::ClientContext>();
    last_ = *in;
    ++taken_;
    watchers_.emplace_back([this, plugin = plugin_, context = stream_] {
        const auto reader = plugin->ListAndWatch(context.get(), {});
        v1beta1::ListAndWatchResponse message;
        while (reader->Read(&message)) {
            std::vector<listed> devices;
            for (const auto& d : message.devices()) {
                CHECK(d.topology().nodes_size() <= 1);
                devices.push_back(
                    {d.id(), d.health(),
                     d.topology().nodes_size() == 1 ? static_cast<long>(d.topology().nodes(0).id()) : -1});
            }
            const std::lock_guard inner(guard_);
            devices_ = std::move(devices);
            ++lists_;
            changed_.notify_all();
        }
        (void)reader->Finish();
    });
    changed_.notify_all();
    return grpc::Status::OK;
}

void fake_kubelet::end_stream() {
    const std::lock_guard lock(guard_);
    if (stream_) stream_->TryCancel();
}

}  // namespace kube_test

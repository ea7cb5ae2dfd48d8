// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/lifecycle.hpp"

#include <fmt/format.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/resource_quota.h>
#include <poll.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>

#include "k8s-device-plugin/log.hpp"
#include "k8s-device-plugin/socket_watch.hpp"

namespace kube {
namespace {

using namespace std::chrono_literals;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr milliseconds first_pause = 50ms;
constexpr milliseconds longest_pause = 30s;
constexpr milliseconds unwatched_for = 3s;
constexpr milliseconds longest_after_loss = 5min;

// One Register call in flight; the kubelet calls back while it runs, so nobody waits for it.
class registration {
public:
    registration(const std::string& kubelet, const v1beta1::RegisterRequest& request) {
        grpc::ChannelArguments arguments;
        arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);  // no back-off inherited from an earlier try
        stub_ = v1beta1::Registration::NewStub(
            grpc::CreateCustomChannel("unix:" + kubelet, grpc::InsecureChannelCredentials(), arguments));
        context_.set_deadline(std::chrono::system_clock::now() + 10s);
        reader_ = stub_->AsyncRegister(&context_, request, &queue_);
        reader_->Finish(&reply_, &status_, this);
    }
    ~registration() {
        context_.TryCancel();
        queue_.Shutdown();
        void* tag = nullptr;
        bool ok = false;
        while (queue_.Next(&tag, &ok)) {
        }
    }
    registration(const registration&) = delete;
    registration& operator=(const registration&) = delete;

    // The outcome once there is one.
    std::optional<grpc::Status> outcome() {
        void* tag = nullptr;
        bool ok = false;
        if (queue_.AsyncNext(&tag, &ok, std::chrono::system_clock::now()) != grpc::CompletionQueue::GOT_EVENT)
            return {};
        return status_;
    }

private:
    std::unique_ptr<v1beta1::Registration::Stub> stub_;
    grpc::CompletionQueue queue_;
    grpc::ClientContext context_;
    v1beta1::Empty reply_;
    grpc::Status status_;
    std::unique_ptr<grpc::ClientAsyncResponseReader<v1beta1::Empty>> reader_;
};

class keeper {
public:
    keeper(const settings& s, feed& devices, metrics& counted, plugin_service& service, connection_state& state)
        : settings_(s),
          feed_(devices),
          metrics_(counted),
          service_(service),
          state_(state),
          own_path_(s.plugin_dir + "/" + s.socket()),
          kubelet_path_(s.plugin_dir + "/kubelet.sock"),
          watch_(s.plugin_dir) {}
    ~keeper() { stop_server(); }
    keeper(const keeper&) = delete;
    keeper& operator=(const keeper&) = delete;

    [[nodiscard]] bool ever_listened() const noexcept { return ever_listened_; }

    bool run(int stop, const std::function<void()>& every_second) {
        auto next_second = clock::now() + 1s;
        while (true) {
            step();
            std::array<pollfd, 2> watched{{{stop, POLLIN, 0}, {watch_.descriptor(), POLLIN, 0}}};
            ::poll(watched.data(), watched.size(), static_cast<int>(pause().count()));
            if (watched[0].revents != 0) return ever_listened_;
            if (watch_.drain()) changed();
            if (clock::now() >= next_second) {
                next_second = clock::now() + 1s;
                watch_.retry();
                every_second();
            }
        }
    }

private:
    [[nodiscard]] milliseconds pause() const {
        if (flight_) return 2ms;
        const auto until = std::chrono::duration_cast<milliseconds>(next_try_ - clock::now()) + 1ms;
        return registered_with_ ? 200ms : std::clamp(until, milliseconds{1}, milliseconds{200});
    }

    void changed() {
        if (registered_with_) return;
        pause_ = first_pause;
        next_try_ = std::min(next_try_, clock::now() + first_pause / 5);
    }

    void step() {
        const auto own = identity_of(own_path_);
        if (!server_ || !own || own->inode != listening_on_.inode || own->device != listening_on_.device) {
            if (server_) log(log_level::warning, own_path_ + " is gone: listening again");
            listen();
        }
        const auto kubelet = identity_of(kubelet_path_);
        if (registered_with_ && kubelet != registered_with_) {
            log(log_level::warning, kubelet ? "the kubelet was restarted: registering again" : "kubelet.sock is gone");
            forget(0ms);
        }
        if (server_ && kubelet && !registered_with_ && !flight_ && clock::now() >= next_try_) take_off(*kubelet);
        if (flight_) land();
        look_at_streams();
        state_.registered = registered_with_.has_value();
        state_.watched = feed_.streaming();
        metrics_.state(state_.registered, state_.watched);
    }

    void stop_server() {
        flight_.reset();
        feed_.end_streams();
        if (!server_) return;
        server_->Shutdown(std::chrono::system_clock::now() + 300ms);
        server_->Wait();
        server_.reset();  // takes the socket file away
    }

    void listen() {
        if (clock::now() < next_listen_) return;
        next_listen_ = clock::now() + 200ms;
        stop_server();
        grpc::ResourceQuota quota("atoll");
        quota.SetMaxThreads(24);
        grpc::ServerBuilder builder;
        builder.SetResourceQuota(quota);
        builder.SetSyncServerOption(grpc::ServerBuilder::NUM_CQS, 1);
        builder.SetSyncServerOption(grpc::ServerBuilder::MIN_POLLERS, 1);
        builder.SetSyncServerOption(grpc::ServerBuilder::MAX_POLLERS, 2);
        builder.AddListeningPort("unix:" + own_path_, grpc::InsecureServerCredentials());
        builder.RegisterService(&service_);
        if (identity_of(settings_.plugin_dir)) server_ = builder.BuildAndStart();
        const auto own = identity_of(own_path_);
        if (!server_ || !own) {
            stop_server();
            next_listen_ = clock::now() + 1s;
            if (!told_no_socket_)
                log(log_level::error, "cannot listen on " + own_path_ +
                                          "; is the kubelet's folder there, mounted, and are we allowed to write to "
                                          "it? Trying every second");
            told_no_socket_ = true;
            return;
        }
        told_no_socket_ = false;
        ever_listened_ = true;
        listening_on_ = *own;
        forget(0ms);
    }

    void forget(milliseconds until_next) {
        registered_with_.reset();
        flight_.reset();
        pause_ = first_pause;
        next_try_ = clock::now() + until_next;
    }

    void take_off(const file_identity& kubelet) {
        v1beta1::RegisterRequest request;
        request.set_version("v1beta1");
        request.set_endpoint(settings_.socket());
        request.set_resource_name(settings_.resource);
        *request.mutable_options() = service_.offered_options();
        asked_ = kubelet;
        flight_ = std::make_unique<registration>(kubelet_path_, request);
    }

    void land() {
        const auto outcome = flight_->outcome();
        if (!outcome) return;
        flight_.reset();
        metrics_.registration(outcome->ok());
        if (outcome->ok()) {
            registered_with_ = asked_;
            pause_ = first_pause;
            watched_at_ = clock::now();
            log(log_level::info, "registered " + settings_.resource + " with the kubelet");
            return;
        }
        log(pause_ == first_pause ? log_level::warning : log_level::debug,
            fmt::format("the kubelet did not take the registration of {}: {}; trying again", settings_.resource,
                        outcome->error_message()));
        next_try_ = clock::now() + pause_;
        pause_ = std::min(pause_ * 2, longest_pause);
    }

    void look_at_streams() {
        const auto now = clock::now();
        if (feed_.streaming()) {
            if (!watched_since_) watched_since_ = now;
            if (now - *watched_since_ > 60s) losses_ = 0;
            watched_at_ = now;
            return;
        }
        watched_since_.reset();
        if (!registered_with_ || now - watched_at_ < unwatched_for) return;
        const milliseconds wait =
            losses_ == 0 ? 0ms : std::min(milliseconds{5s} * (1 << std::min(losses_, 6)), longest_after_loss);
        ++losses_;
        log(log_level::warning, fmt::format("the kubelet does not watch {}: it is down, or another plugin took the "
                                            "resource; registering again in {} s",
                                            settings_.resource, wait.count() / 1000));
        forget(wait);
    }

    const settings& settings_;
    feed& feed_;
    metrics& metrics_;
    plugin_service& service_;
    connection_state& state_;
    const std::string own_path_;
    const std::string kubelet_path_;
    socket_watch watch_;

    std::unique_ptr<grpc::Server> server_;
    file_identity listening_on_;
    clock::time_point next_listen_{};
    bool ever_listened_ = false;
    bool told_no_socket_ = false;

    std::unique_ptr<registration> flight_;
    file_identity asked_;
    std::optional<file_identity> registered_with_;
    clock::time_point next_try_{};
    milliseconds pause_ = first_pause;

    clock::time_point watched_at_{};
    std::optional<clock::time_point> watched_since_;
    int losses_ = 0;
};

}  // namespace

bool keep_registered(const settings& s, feed& devices, metrics& counted, plugin_service& service,
                     connection_state& state, int stop, const std::function<void()>& every_second) {
    return keeper(s, devices, counted, service, state).run(stop, every_second);
}

}  // namespace kube

// SPDX-License-Identifier: Apache-2.0
// NVML by dlopen: the plugin starts on hosts without it. Declarations are those of NVML's published interface.
#include <dlfcn.h>

#include <array>
#include <map>
#include <string>

#include "k8s-device-plugin/health_source.hpp"
#include "k8s-device-plugin/nvml_events.hpp"

namespace kube {
namespace {

constexpr const char* library_name = "libnvidia-ml.so.1";

topo::error mute(const std::string& what) {
    return {topo::errc::hardware, "NVML", what,
            "if nvidia-smi works on the host, the container lost its devices (a daemon-reload does that): restart the "
            "plugin's pod"};
}

class nvml_source final : public health_source {
public:
    ~nvml_source() override { close(); }

    topo::result<std::vector<fault>> look(const inventory& node) override {
        if (const auto started = open(node); !started) return started.failure();
        std::vector<fault> out;
        for (std::size_t g = 0; g < node.hardware().gpus.size(); ++g)
            if (node.parts(g).here) look_at(node.parts(g).id, out);
        read_events(out);
        return out;
    }

private:
    struct watched {
        nvml::device handle = nullptr;
        std::array<bool, nvml::most_links> link_up{};
    };

    topo::result<topo::done> open(const inventory& node) {
        if (started_) return topo::done{};
        if (library_ == nullptr) library_ = ::dlopen(library_name, RTLD_LAZY | RTLD_LOCAL);
        if (library_ == nullptr) return mute(std::string("cannot be opened: ") + ::dlerror());
        if (!call_.resolve(library_)) return mute("is too old: a function is missing");
        if (const int code = call_.init(); code != nvml::success)
            return mute(std::string("does not start: ") + call_.words(code));
        if (const int code = call_.event_set_create(&events_); code != nvml::success) {
            call_.shutdown();
            return mute(std::string("makes no event set: ") + call_.words(code));
        }
        started_ = true;
        watched_.clear();
        for (std::size_t g = 0; g < node.hardware().gpus.size(); ++g) {
            const gpu_parts& p = node.parts(g);
            watched one;
            if (!p.here || call_.handle_by_uuid(p.id.c_str(), &one.handle) != nvml::success) continue;
            call_.register_events(one.handle, nvml::event_xid | nvml::event_double_bit_ecc, events_);
            for (unsigned l = 0; l < nvml::most_links; ++l) {
                unsigned up = 0;
                one.link_up[l] = call_.link_state(one.handle, l, &up) == nvml::success && up == 1;
            }
            watched_.emplace(p.id, one);
        }
        return topo::done{};
    }

    void close() {
        if (started_) {
            call_.event_set_free(events_);
            call_.shutdown();
        }
        started_ = false;
        if (library_ != nullptr) ::dlclose(library_);
        library_ = nullptr;
    }

    void look_at(const std::string& id, std::vector<fault>& out) {
        const auto found = watched_.find(id);
        if (found == watched_.end()) {
            watched one;
            if (call_.handle_by_uuid(id.c_str(), &one.handle) != nvml::success) {
                out.push_back({id, fault_kind::lost, 0, "the driver does not know it"});
                return;
            }
            started_again(id, one);
            return;
        }
        watched& one = found->second;
        nvml::memory memory{};
        if (const int code = call_.memory_info(one.handle, &memory); code == nvml::gpu_is_lost)
            out.push_back({id, fault_kind::lost, 0, call_.words(code)});
        for (unsigned l = 0; l < nvml::most_links; ++l) {
            unsigned up = 0;
            if (one.link_up[l] && call_.link_state(one.handle, l, &up) == nvml::success && up == 0)
                out.push_back({id, fault_kind::nvlink, 0, "link " + std::to_string(l) + " is down"});
        }
    }

    void started_again(const std::string& id, watched one) {
        call_.register_events(one.handle, nvml::event_xid | nvml::event_double_bit_ecc, events_);
        watched_.emplace(id, one);
    }

    void read_events(std::vector<fault>& out) {
        nvml::event_data event{};
        for (int n = 0; n < 1000 && call_.event_set_wait(events_, &event, 0) == nvml::success; ++n)
            for (const auto& [id, one] : watched_)
                if (one.handle == event.from) {
                    const bool ecc = (event.type & nvml::event_double_bit_ecc) != 0;
                    out.push_back({id, ecc ? fault_kind::ecc : fault_kind::xid,
                                   ecc ? 0u : static_cast<unsigned>(event.data), ""});
                }
    }

    void* library_ = nullptr;
    bool started_ = false;
    nvml::calls call_;
    nvml::event_set events_ = nullptr;
    std::map<std::string, watched> watched_;
};

}  // namespace

bool nvml_present() {
    void* library = ::dlopen(library_name, RTLD_LAZY | RTLD_LOCAL);
    if (library == nullptr) return false;
    ::dlclose(library);
    return true;
}

std::unique_ptr<health_source> nvml_health_source() { return std::make_unique<nvml_source>(); }

}  // namespace kube

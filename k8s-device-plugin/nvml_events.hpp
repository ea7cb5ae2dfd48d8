// SPDX-License-Identifier: Apache-2.0
// Private: the part of NVML's published C interface that the health source calls, resolved from the open library.
#pragma once

#include <dlfcn.h>

#include <type_traits>

namespace kube::nvml {

inline constexpr int success = 0;
inline constexpr int gpu_is_lost = 15;
inline constexpr unsigned most_links = 18;
inline constexpr unsigned long long event_double_bit_ecc = 0x2;
inline constexpr unsigned long long event_xid = 0x8;

using device = struct device_handle*;
using event_set = struct event_set_handle*;

struct event_data {
    device from = nullptr;
    unsigned long long type = 0;
    unsigned long long data = 0;
    unsigned gpu_instance = 0;
    unsigned compute_instance = 0;
};

struct memory {
    unsigned long long total = 0, free = 0, used = 0;
};

struct calls {
    int (*init)() = nullptr;
    int (*shutdown)() = nullptr;
    const char* (*words)(int) = nullptr;
    int (*handle_by_uuid)(const char*, device*) = nullptr;
    int (*memory_info)(device, memory*) = nullptr;
    int (*link_state)(device, unsigned, unsigned*) = nullptr;
    int (*event_set_create)(event_set*) = nullptr;
    int (*event_set_free)(event_set) = nullptr;
    int (*register_events)(device, unsigned long long, event_set) = nullptr;
    int (*event_set_wait)(event_set, event_data*, unsigned) = nullptr;

    // False when one is missing.
    bool resolve(void* library) noexcept {
        const auto one = [library](auto& target, const char* name) {
            target = reinterpret_cast<std::remove_reference_t<decltype(target)>>(::dlsym(library, name));
            return target != nullptr;
        };
        return one(init, "nvmlInit_v2") && one(shutdown, "nvmlShutdown") && one(words, "nvmlErrorString") &&
               one(handle_by_uuid, "nvmlDeviceGetHandleByUUID") && one(memory_info, "nvmlDeviceGetMemoryInfo") &&
               one(link_state, "nvmlDeviceGetNvLinkState") && one(event_set_create, "nvmlEventSetCreate") &&
               one(event_set_free, "nvmlEventSetFree") && one(register_events, "nvmlDeviceRegisterEvents") &&
               one(event_set_wait, "nvmlEventSetWait_v2");
    }
};

}  // namespace kube::nvml

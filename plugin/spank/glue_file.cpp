// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/spank/glue_file.hpp"

#include <dlfcn.h>

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace slurm_plugin {

const atoll_node_api* open_node_api(char* why, std::size_t size) {
    static const char here = 0;
    Dl_info self{};
    char path[PATH_MAX];
    if (::dladdr(&here, &self) == 0 || self.dli_fname == nullptr || ::realpath(self.dli_fname, path) == nullptr) {
        (void)std::snprintf(why, size, "the folder of spank_atoll.so cannot be told");
        return nullptr;
    }
    const std::string own = path;
    const std::string glue = own.substr(0, own.rfind('/') + 1) + "atoll_slurm_glue.so";
    void* handle = ::dlopen(glue.c_str(), RTLD_NOW | RTLD_LOCAL);
    const char* fault = handle == nullptr ? ::dlerror() : nullptr;
    const atoll_node_api* (*entry)() = nullptr;
    if (handle != nullptr) *reinterpret_cast<void**>(&entry) = ::dlsym(handle, "atoll_node_entry");
    if (entry != nullptr && entry()->abi == ATOLL_NODE_ABI) return entry();
    (void)std::snprintf(why, size, "cannot use %s: %s; install it beside spank_atoll.so from the same build",
                        glue.c_str(), fault != nullptr ? fault : "it is of another version");
    return nullptr;
}

}  // namespace slurm_plugin

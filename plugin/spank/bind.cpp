// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/spank/bind.hpp"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bit>

namespace slurm_plugin {
namespace {

constexpr int preferred_policy = 1;  // MPOL_PREFERRED of linux/mempolicy.h

cpu_set_t* as_set(cpu_words& words) { return reinterpret_cast<cpu_set_t*>(words.data()); }

}  // namespace

bool narrow_cpus(const cpu_words& near, std::uint32_t wanted) noexcept {
    cpu_words now{};
    if (::sched_getaffinity(0, sizeof(now), as_set(now)) != 0) return false;
    bool change = false;
    std::uint64_t left = 0;
    for (std::size_t i = 0; i < now.size(); ++i) {
        change = change || (now[i] & ~near[i]) != 0;
        now[i] &= near[i];
        left += static_cast<std::uint64_t>(std::popcount(now[i]));
    }
    if (left == 0 || left < wanted) return false;
    return !change || ::sched_setaffinity(0, sizeof(now), as_set(now)) == 0;
}

void prefer_memory(int numa) noexcept {
    std::array<unsigned long, 16> mask{};
    constexpr int bits = 8 * sizeof(unsigned long);
    if (numa < 0 || numa >= static_cast<int>(mask.size()) * bits) return;
    mask[static_cast<std::size_t>(numa / bits)] = 1ul << (numa % bits);
    (void)::syscall(SYS_set_mempolicy, preferred_policy, mask.data(), mask.size() * bits);
}

bool may_be_verbs(const std::string& name) {
    static constexpr const char* folder = "/sys/class/infiniband/";
    if (name.find('/') != std::string::npos) return false;
    if (::access(folder, F_OK) == 0) return ::access((folder + name).c_str(), F_OK) == 0;
    return !name.starts_with("en") && !name.starts_with("eth") && !name.starts_with("bond");
}

}  // namespace slurm_plugin

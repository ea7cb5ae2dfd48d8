// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/counters.hpp"

namespace slurm_plugin {

const char* name_of(atoll_step step) noexcept {
    switch (step) {
        case ATOLL_STEP_FULL: return "placed";
        case ATOLL_STEP_NEAR_CORES: return "placed, far cores allowed";
        case ATOLL_STEP_GPU_MASK: return "placed, GPUs left to Slurm";
        case ATOLL_STEP_NODES: return "chosen nodes refused, left to Slurm";
        case ATOLL_STEP_NO_FIT: return "nothing fits now, left to Slurm";
        case ATOLL_STEP_PASSED: return "left to Slurm";
        case ATOLL_STEP_COUNT: break;
    }
    return "?";
}

}  // namespace slurm_plugin

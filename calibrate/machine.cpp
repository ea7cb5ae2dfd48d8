// SPDX-License-Identifier: Apache-2.0
#include "calibrate/machine.hpp"

namespace calibrate {

std::string_view name_of(memory_path p) noexcept {
    switch (p) {
        case memory_path::host: return "host";
        case memory_path::dma_buf: return "dma-buf";
        case memory_path::peer_memory: return "peer-memory";
        case memory_path::host_staged: return "host-staged";
    }
    return "host";
}

}  // namespace calibrate

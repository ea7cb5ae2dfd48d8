// SPDX-License-Identifier: Apache-2.0
#include "placement/request.hpp"

namespace placement {

std::string_view name_of(pattern p) noexcept {
    switch (p) {
        case pattern::ring_allreduce: return "ring_allreduce";
    }
    return "unknown";
}

}  // namespace placement

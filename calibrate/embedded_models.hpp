// SPDX-License-Identifier: Apache-2.0
// The files of configs/machines as they were when the program was built.
#pragma once

#include <span>
#include <string_view>

namespace calibrate {

struct embedded_model {
    std::string_view name;  // file name without .yaml
    std::string_view text;
};
[[nodiscard]] std::span<const embedded_model> embedded_models() noexcept;  // by name

}  // namespace calibrate

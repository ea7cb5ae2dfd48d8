// SPDX-License-Identifier: Apache-2.0
// One line a call on standard error: "2026-11-30T09:00:00.123Z warning text". Lines of several threads do not mix.
#pragma once

#include <string_view>

namespace kube {

enum class log_level { debug, info, warning, error };

// Lines below `lowest` are dropped from now on. Default: info.
void set_log_level(log_level lowest) noexcept;
// Control characters of `text` become '?': what a file or peer says cannot forge a line. Never throws.
void log(log_level level, std::string_view text) noexcept;

}  // namespace kube

// SPDX-License-Identifier: GPL-2.0-or-later
// The texts in which Slurm tells a task about itself. Users can change them, so anything may stand there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace slurm_plugin {

// SLURM_TASKS_PER_NODE, "2(x3),1": one count a node. Empty on anything else, more than `most` nodes, or a count above
// 65,535. O(nodes).
[[nodiscard]] std::vector<std::uint32_t> task_counts(std::string_view text, std::size_t most);

// "0,2,5" → the words; empty where one is empty or holds anything but letters, digits, '-', '_', '.' and ':', or there
// are more than 64. O(length).
[[nodiscard]] std::vector<std::string_view> device_words(std::string_view text);

// SLURM_STEP_GPUS: device_words() as different numbers below 64, else empty.
[[nodiscard]] std::vector<std::uint8_t> gpu_numbers(std::string_view text);

// `words` in the order that takes `from` to `to`, two orders of the same numbers, one a word; empty where they are not.
[[nodiscard]] std::string reordered(const std::vector<std::string_view>& words, const std::vector<std::uint8_t>& from,
                                    const std::vector<std::uint8_t>& to);

// Which of `gpus` (in ring order) task `task` of `tasks` uses: an even share, a GPU of its own where there are as many,
// one for several tasks where there are fewer. Empty when task ≥ tasks.
[[nodiscard]] std::vector<std::uint8_t> share_of(const std::vector<std::uint8_t>& gpus, std::uint32_t task,
                                                 std::uint32_t tasks);

}  // namespace slurm_plugin

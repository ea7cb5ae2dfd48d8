// SPDX-License-Identifier: GPL-2.0-or-later
// What a user says of a job with --atoll=…: how its ranks talk, and how it wants to be placed.
//     pattern=NAME   how the ranks talk (docs/patterns.md); composite when tp, pp, dp or ep is given
//     message=SIZE   bytes that a rank brings to the exchange of a step: 64M
//     tp=N,pp=N,dp=N,ep=N
//     policy=pack    on the fewest nodes and groups (what is done without it)
//     policy=spread  GPUs asked in total: on as many nodes as allowed
//     policy=off     everything as without Atoll
// The text comes from users: srun, sbatch and salloc refuse a bad one, slurmctld and the nodes ignore it.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "placement/request.hpp"

namespace slurm_plugin {

struct job_hint {
    enum class policy : std::uint8_t { pack, spread, off };
    policy how = policy::pack;
    std::optional<placement::pattern> talks;
    double message_bytes = 0;                      // 0: not said
    std::uint32_t tp = 0, pp = 0, dp = 0, ep = 0;  // 0: not said
};

struct hint_fault {
    std::string_view part;      // of the text: what is wrong
    const char* why = nullptr;  // and what to write
};

inline constexpr std::size_t longest_hint = 512;  // bytes; more is refused

// False, with `fault` set, on an unknown or repeated key, a bad value, an empty text or one that is too long.
// Allocates nothing. O(length).
[[nodiscard]] bool parse_hint(std::string_view text, job_hint& out, hint_fault& fault) noexcept;

// Puts pattern, message and layout into a request for `ranks` ranks; false, and nothing changed, where they cannot be
// meant for so many. O(1).
bool apply_hint(const job_hint& hint, std::uint64_t ranks, placement::request& to) noexcept;

}  // namespace slurm_plugin

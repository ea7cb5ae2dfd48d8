// SPDX-License-Identifier: Apache-2.0
#include "topo/cost.hpp"

#include <array>
#include <cstddef>

namespace topo {
namespace {

constexpr std::array<std::string_view, 7> source_names = {"none",     "measured",  "class",    "composed",
                                                          "imported", "estimated", "simulated"};
constexpr std::array<std::string_view, 7> engine_names = {"ce",         "sm-copy",   "sm-load", "sm-flag",
                                                          "rdma-write", "rdma-read", "host"};

template <class Enum, std::size_t N>
std::optional<Enum> named(const std::array<std::string_view, N>& names, std::string_view text) noexcept {
    for (std::size_t i = 0; i < N; ++i)
        if (names[i] == text) return static_cast<Enum>(i);
    return std::nullopt;
}

}  // namespace

std::string_view name_of(source s) noexcept { return source_names[static_cast<std::size_t>(s)]; }
std::string_view name_of(engine e) noexcept { return engine_names[static_cast<std::size_t>(e)]; }
std::optional<source> source_named(std::string_view text) noexcept { return named<source>(source_names, text); }
std::optional<engine> engine_named(std::string_view text) noexcept { return named<engine>(engine_names, text); }

}  // namespace topo

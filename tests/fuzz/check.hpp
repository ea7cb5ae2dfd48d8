// SPDX-License-Identifier: Apache-2.0
// What every reader owes for any input: an answer, or an error that names place, cause and remedy in a message
// that a terminal can show. A broken promise stops the fuzzer, which then keeps the input.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>

#include "topo/finding.hpp"
#include "topo/result.hpp"

namespace fuzz {

inline constexpr std::size_t longest_message = 4000;

[[noreturn]] inline void broken(std::string_view promise, std::string_view with = {}) {
    std::fprintf(stderr, "broken promise: %.*s: %.4000s\n", static_cast<int>(promise.size()), promise.data(),
                 std::string(with).c_str());
    std::abort();
}

inline void require(bool kept, std::string_view promise, std::string_view with = {}) {
    if (!kept) broken(promise, with);
}

inline void check(const topo::error& e) {
    require(!e.where.empty() || e.code == topo::errc::limit, "an error names its place", e.message());
    require(!e.what.empty(), "an error says what is wrong", e.message());
    require(!e.remedy.empty(), "an error has a remedy", e.message());
    require(e.message().size() < longest_message, "a message is short", e.message());
}

inline void check(const topo::findings& notes) {
    for (const auto& n : notes) {
        require(!n.what.empty(), "a finding says what it found", n.message());
        require(n.message().size() < longest_message, "a finding is short", n.message());
    }
}

inline std::string_view text_of(const std::uint8_t* data, std::size_t size) {
    return {reinterpret_cast<const char*>(data), size};
}

}  // namespace fuzz

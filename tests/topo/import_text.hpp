// SPDX-License-Identifier: Apache-2.0
// What the tests of importers share: reading a text and looking for words in what comes back.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "topo/import/import.hpp"

namespace import_test {

inline topo::result<topo::import_output> read(std::string_view text, topo::format kind = topo::format::automatic,
                                              const topo::import_options& options = {}) {
    return topo::import_text(text, "in.txt", kind, options);
}

// The hardware of a text that must be readable.
inline topo::node_class hardware(std::string_view text, topo::format kind = topo::format::automatic) {
    const auto got = read(text, kind);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    REQUIRE(got->nodes.size() == 1);
    const auto faults = topo::check(got->nodes.front().hardware);
    for (const auto& f : faults) CHECK_MESSAGE(false, f.message());
    return got->nodes.front().hardware;
}

inline bool says(const topo::findings& notes, std::string_view words, topo::severity at_least = topo::severity::info) {
    return std::any_of(notes.begin(), notes.end(), [&](const topo::finding& f) {
        return f.level >= at_least && f.message().find(words) != std::string::npos;
    });
}

// The message of a text that must be refused; every refusal names a place and a remedy.
inline std::string refusal(std::string_view text, topo::format kind = topo::format::automatic,
                           const topo::import_options& options = {}) {
    const auto got = read(text, kind, options);
    REQUIRE_FALSE(got.has_value());
    CHECK(got.failure().where.starts_with("in.txt"));
    CHECK_FALSE(got.failure().remedy.empty());
    return got.failure().message();
}

inline bool has(std::string_view text, std::string_view words) { return text.find(words) != std::string_view::npos; }

}  // namespace import_test

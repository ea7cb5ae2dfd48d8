// SPDX-License-Identifier: Apache-2.0
// What the tests of fabric readers share.
#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "topo/fabric.hpp"
#include "topo/import/import.hpp"

namespace topo::test {

inline result<import_output> read(format kind, std::string_view text, bool strict = false) {
    import_options options;
    options.strict = strict;
    return import_text(text, "in.txt", kind, options);
}

inline bool holds(const findings& notes, std::string_view part) {
    return std::any_of(notes.begin(), notes.end(),
                       [&](const finding& f) { return f.message().find(part) != std::string::npos; });
}

inline std::size_t warnings(const findings& notes) {
    return static_cast<std::size_t>(
        std::count_if(notes.begin(), notes.end(), [](const finding& f) { return f.level == severity::warning; }));
}

inline const switch_description* find(const fabric_description& f, std::string_view name) {
    for (const auto& s : f.switches)
        if (s.name == name) return &s;
    return nullptr;
}

// The error must name its place and say what to do.
inline void check_error(const result<import_output>& got, std::string_view where, std::string_view what) {
    REQUIRE_FALSE(got.has_value());
    CHECK_MESSAGE(got.failure().where == where, got.failure().message());
    CHECK_MESSAGE(got.failure().what.find(what) != std::string::npos, got.failure().message());
    CHECK_FALSE(got.failure().remedy.empty());
}

// What an importer hands on, build_fabric takes.
inline void check_sound(const fabric_description& f) {
    const auto faults = check(f);
    for (const auto& x : faults) CHECK_MESSAGE(x.level != severity::error, x.message());
}

// For every prefix of a text: an error with place and remedy or a value, never a crash.
inline void read_cut(format kind, std::string_view text) {
    for (std::size_t n = 0; n <= text.size(); ++n) {
        const auto got = read(kind, text.substr(0, n));
        if (got) continue;
        CHECK_FALSE(got.failure().where.empty());
        CHECK_FALSE(got.failure().remedy.empty());
    }
}

}  // namespace topo::test

// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: the line syntax that topology.conf and gres.conf share (slurm.conf(5)): lines of
// "Key=Value" with keys of any case, values that may stand in double quotes, '#' comments ("\#" is a
// plain '#'), a backslash at the end of a line that joins it with the next, and "Include FILE" lines.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "topo/finding.hpp"
#include "topo/result.hpp"

namespace topo::slurm {

struct field {
    std::string key;    // lower case
    std::string value;  // without quotes
    std::size_t line = 0;
    std::size_t column = 0;  // of the value's first character, from 1
};

struct record {
    std::size_t line = 0;  // where its first field stands
    std::vector<field> fields;

    // nullptr when the record has no such key (given in lower case). O(fields).
    [[nodiscard]] const field* find(std::string_view key) const noexcept;
};

struct numbered {
    std::size_t line = 0;
    std::string text;
};

struct conf {
    std::vector<record> records;
    std::vector<numbered> comments;  // text after '#', trimmed
    std::vector<numbered> includes;  // the file that is named; nothing is followed
};

// Fails with bad_input and "file:line:column" on a word that is not Key=Value, on a key that stands twice
// in one line, an unclosed quote, and on template marks ("{{", "{%"): a template is not yet a file. O(length).
[[nodiscard]] result<conf> read_conf(std::string_view text, const std::string& file);

// "file:line:column" of a field's value, `offset` characters into it.
[[nodiscard]] std::string at(const std::string& file, const field& f, std::size_t offset = 0);

// True when a line of `head` that is no comment has that key (lower case). For looks_like_…; O(length).
[[nodiscard]] bool has_key(std::string_view head, std::string_view key) noexcept;

// Adds a note for each Include line.
void note_includes(const conf& c, const std::string& file, findings& notes);

// ASCII letters in lower case.
[[nodiscard]] std::string lower(std::string_view s);

}  // namespace topo::slurm

// SPDX-License-Identifier: Apache-2.0
// Internal to topo/: one tree for what a YAML or JSON document says, with the line of everything.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/result.hpp"

namespace topo::file {

enum class kind : std::uint8_t {
    null,
    plain,    // an unquoted YAML scalar: text or number, the reader decides
    text,     // a quoted YAML scalar or a JSON string
    number,   // a JSON number, as written
    boolean,  // a JSON true or false, as text
    sequence,
    map,
};

// How a writer lays a map or sequence out.
enum class layout : std::uint8_t {
    block,  // one line an item
    flow,   // all on one line
    row,    // a sequence of scalars: in YAML one scalar with blanks between, in JSON on one line
};

struct value {
    kind is = kind::null;
    layout shape = layout::block;
    std::uint32_t line = 0;  // 1-based; 0: not from a file
    std::string text;        // of a scalar
    std::vector<value> items;
    std::vector<std::string> keys;  // of a map; keys[i] belongs to items[i]

    [[nodiscard]] bool scalar() const noexcept { return is != kind::sequence && is != kind::map && is != kind::null; }
    // Adds a key to a map, for writers. The reference lives until the next add.
    value& add(std::string key, value v) {
        keys.push_back(std::move(key));
        items.push_back(std::move(v));
        return items.back();
    }
};

inline constexpr int max_depth = 64;
inline constexpr std::size_t max_values = 2u << 20;

// Readers. Errors carry "file:line" and a remedy: syntax, nesting deeper than max_depth, more than
// max_values values (limit), binary content, anchors and aliases, several documents. Duplicate keys are kept;
// `fields` refuses them. O(length).
[[nodiscard]] result<value> read_yaml(std::string_view text, const std::string& file);
[[nodiscard]] result<value> read_json(std::string_view text, const std::string& file);

// Writers; what they write reads back as the same tree, but for layout, line and plain ↔ text ↔ number.
// Bytes that are no UTF-8 become U+FFFD.
[[nodiscard]] std::string to_yaml(const value& v);
[[nodiscard]] std::string to_json(const value& v);

// Makers for writers.
[[nodiscard]] value of_text(std::string_view text);
[[nodiscard]] value of_number(double number);  // shortest text that reads back as the same double
[[nodiscard]] value of_integer(std::int64_t number);
[[nodiscard]] value of_boolean(bool b);
[[nodiscard]] value new_map(layout shape = layout::block);
[[nodiscard]] value new_sequence(layout shape = layout::block);

}  // namespace topo::file

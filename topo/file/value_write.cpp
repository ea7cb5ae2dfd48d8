// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "topo/file/value.hpp"

namespace topo::file {
namespace {

// A JSON string is also a double-quoted YAML scalar. DEL and the C1 controls stay as they are in both.
std::string in_quotes(const std::string& text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

bool is_word(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-' ||
           c == '.' || c == '/' || c == '+';
}

// True for text that YAML readers (ours and others) take as this very text without quotes, in flow and block.
// Digits first would read as a number, a date or, with colons, as base 60 in YAML 1.1.
bool plain_text(std::string_view text) {
    if (text.empty() || text.front() == ' ' || text.back() == ' ') return false;
    const char first = text.front();
    if (!((first >= 'a' && first <= 'z') || (first >= 'A' && first <= 'Z') || first == '_' || first == '/'))
        return false;
    if (!std::all_of(text.begin(), text.end(), [](char c) { return is_word(c) || c == ' '; })) return false;
    std::string lower(text.substr(0, 6));
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
    for (const std::string_view word : {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"})
        if (text.size() == word.size() && lower == word) return false;
    return true;
}

std::string scalar_yaml(const value& v) {
    if (v.is == kind::null) return "null";
    if (v.is != kind::text) return v.text;
    return plain_text(v.text) ? v.text : in_quotes(v.text);
}

std::string row_yaml(const value& v) {
    std::string row;
    for (const auto& cell : v.items) {
        if (!row.empty()) row += ' ';
        row += cell.is == kind::null ? "x" : cell.text;
    }
    const bool fine = !row.empty() && row.front() != '?' && row.front() != '-' &&
                      row.find_first_of(":#,[]{}&*!|>'\"%@`") == std::string::npos;
    return fine ? row : in_quotes(row);
}

void flow_yaml(const value& v, std::string& out) {
    if (v.is == kind::map) {
        out += '{';
        for (std::size_t i = 0; i < v.items.size(); ++i) {
            if (i > 0) out += ", ";
            out += plain_text(v.keys[i]) ? v.keys[i] : in_quotes(v.keys[i]);
            out += ": ";
            flow_yaml(v.items[i], out);
        }
        out += '}';
    } else if (v.is == kind::sequence) {
        if (v.shape == layout::row) {
            out += in_quotes(row_yaml(v));
            return;
        }
        out += '[';
        for (std::size_t i = 0; i < v.items.size(); ++i) {
            if (i > 0) out += ", ";
            flow_yaml(v.items[i], out);
        }
        out += ']';
    } else {
        out += scalar_yaml(v);
    }
}

bool on_one_line(const value& v) {
    return (v.is != kind::map && v.is != kind::sequence) || v.shape != layout::block || v.items.empty();
}

// The value after "key: " or "- ", with the line end.
void inline_yaml(const value& v, std::string& out) {
    if (v.is == kind::sequence && v.shape == layout::row)
        out += row_yaml(v);
    else
        flow_yaml(v, out);
    out += '\n';
}

void block_yaml(const value& v, std::size_t indent, bool first_indented, std::string& out) {
    for (std::size_t i = 0; i < v.items.size(); ++i) {
        if (i > 0 || !first_indented) out.append(indent, ' ');
        const value& item = v.items[i];
        if (v.is == kind::map) {
            out += plain_text(v.keys[i]) ? v.keys[i] : in_quotes(v.keys[i]);
            out += ':';
            if (on_one_line(item)) {
                out += ' ';
                inline_yaml(item, out);
            } else {
                out += '\n';
                block_yaml(item, indent + 2, false, out);
            }
        } else {
            out += "- ";
            if (on_one_line(item))
                inline_yaml(item, out);
            else
                block_yaml(item, indent + 2, true, out);
        }
    }
}

void json_text(const value& v, std::size_t indent, bool flow, std::string& out) {
    if (v.is == kind::text) {
        out += in_quotes(v.text);
    } else if (v.is == kind::null) {
        out += "null";
    } else if (v.scalar()) {
        out += v.text;
    } else {
        const bool map = v.is == kind::map;
        const bool one_line = flow || on_one_line(v);
        out += map ? '{' : '[';
        for (std::size_t i = 0; i < v.items.size(); ++i) {
            if (i > 0) out += one_line ? ", " : ",";
            if (!one_line) out.append("\n").append(indent + 2, ' ');
            if (map) out += in_quotes(v.keys[i]) + ": ";
            json_text(v.items[i], indent + 2, one_line, out);
        }
        if (!one_line) out.append("\n").append(indent, ' ');
        out += map ? '}' : ']';
    }
}

}  // namespace

std::string to_yaml(const value& v) {
    std::string out;
    if (on_one_line(v))
        inline_yaml(v, out);
    else
        block_yaml(v, 0, false, out);
    return out;
}

std::string to_json(const value& v) {
    std::string out;
    json_text(v, 0, false, out);
    out += '\n';
    return out;
}

value of_text(std::string_view text) {
    value v;
    v.is = kind::text;
    v.text = text;
    return v;
}

value of_number(double number) {
    value v;
    v.is = kind::number;
    v.text = fmt::format("{}", number);
    return v;
}

value of_integer(std::int64_t number) {
    value v;
    v.is = kind::number;
    v.text = std::to_string(number);
    return v;
}

value of_boolean(bool b) {
    value v;
    v.is = kind::boolean;
    v.text = b ? "true" : "false";
    return v;
}

value new_map(layout shape) {
    value v;
    v.is = kind::map;
    v.shape = shape;
    return v;
}

value new_sequence(layout shape) {
    value v;
    v.is = kind::sequence;
    v.shape = shape;
    return v;
}

}  // namespace topo::file

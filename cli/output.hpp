// SPDX-License-Identifier: Apache-2.0
// Where the file that a verb makes goes: -o FILE, or standard output.
#pragma once

#include <string>
#include <string_view>

#include "cli/console.hpp"
#include "topo/file.hpp"

namespace cli {

// What becomes of a verb's document:
//   -o FILE          written there, atomically; with --json the object follows on standard output
//   -o - or nothing  standard output, unless --json is asked for, whose object then holds it
enum class destination { file, standard_output, inside_json };

// Fails with bad_input for "-o -" together with --json: both want standard output.
[[nodiscard]] topo::result<destination> destination_of(const std::string& output, bool as_json);

// Writes the document where it belongs; nothing for inside_json.
[[nodiscard]] exit_code deliver(const console& out, destination to, const std::string& path, std::string_view text);

// Version as provenance has it: "atoll 0.1.0 VERB".
[[nodiscard]] std::string tool_name(std::string_view verb);

}  // namespace cli

// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: YAML of other tools, read without trusting it.
#pragma once

#include <yaml-cpp/yaml.h>

#include <string>
#include <string_view>
#include <vector>

#include "topo/finding.hpp"
#include "topo/import/switch_rules.hpp"
#include "topo/result.hpp"

namespace topo::yaml {

// The first document of `text`. Refused with file:line: what is no YAML, anchors and aliases (a few
// bytes of them can stand for gigabytes), more than 32 levels, and (limit) more than 16 MiB. A second
// document is noted. O(length).
[[nodiscard]] result<YAML::Node> load(std::string_view text, const std::string& file, findings& notes);

// "file:line" of a node.
[[nodiscard]] std::string at(const std::string& file, const YAML::Node& node);

// The host lists of a scalar ("g[1-4],h1") or of a sequence of them; bad_input when it is neither; an
// absent or null node gives no names.
[[nodiscard]] result<std::vector<std::string>> hosts(const YAML::Node& node, const std::string& file,
                                                     host_reader& reader);

// The text of a scalar, empty for anything else.
[[nodiscard]] std::string scalar(const YAML::Node& node);

// One note for each key of `map` that is not in `known`.
void note_unknown_keys(const YAML::Node& map, std::initializer_list<std::string_view> known, const std::string& what,
                       const std::string& file, findings& notes);

}  // namespace topo::yaml

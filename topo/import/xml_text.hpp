// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: an XML text with the line of each element, for messages.
#pragma once

#include <pugixml.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/result.hpp"

namespace topo {

// Elements deeper than this are refused: no machine nests so far, and walks recurse.
inline constexpr int max_xml_depth = 128;

class xml_text {
public:
    // Fails with "file:line:column" where the text stops being XML, or limit when it nests too deeply.
    // DOCTYPEs are skipped, entities of a DTD are never expanded. O(length).
    [[nodiscard]] static result<xml_text> parse(std::string_view text, const std::string& file);

    [[nodiscard]] pugi::xml_node root() const { return document_->document_element(); }
    [[nodiscard]] std::string where(pugi::xml_node element) const;  // "file:line"; O(log lines)

private:
    std::string file_;
    std::unique_ptr<pugi::xml_document> document_;
    std::vector<std::size_t> line_starts_;
};

// The name of the first element of a text, without parsing it; empty when there is none.
[[nodiscard]] std::string_view first_element(std::string_view head) noexcept;

// A hexadecimal attribute ("0x030200", "10de"); empty when absent or not hexadecimal.
[[nodiscard]] std::optional<unsigned> hex_attribute(pugi::xml_attribute a) noexcept;

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
#include "topo/import/xml_text.hpp"

#include <algorithm>
#include <charconv>

#include "topo/import/text.hpp"
#include "topo/utf8.hpp"

namespace topo {
namespace {

std::string place(const std::string& file, const std::vector<std::size_t>& starts, std::size_t offset, bool column) {
    const auto after = std::upper_bound(starts.begin(), starts.end(), offset);
    const auto line = static_cast<std::size_t>(after - starts.begin());
    std::string out = text::at(file, line);
    if (column) out += ":" + std::to_string(offset - starts[line - 1] + 1);
    return out;
}

// Character references can write what is no character, such as half of a surrogate pair.
bool attributes_are_utf8(const pugi::xml_node& element) {
    for (const auto& a : element.attributes())
        if (utf8_fault(a.value()) != std::string_view::npos) return false;
    return true;
}

struct walked {
    int deepest = 1;
    pugi::xml_node odd;  // the first element with an attribute that is no text
};

// Every element, without recursion.
walked walk(const pugi::xml_node& root) {
    walked out;
    int depth = 1;
    for (pugi::xml_node n = root; n;) {
        out.deepest = std::max(out.deepest, depth);
        if (!out.odd && !attributes_are_utf8(n)) out.odd = n;
        if (n.first_child()) {
            n = n.first_child();
            ++depth;
            continue;
        }
        while (n != root && !n.next_sibling()) {
            n = n.parent();
            --depth;
        }
        if (n == root) break;
        n = n.next_sibling();
    }
    return out;
}

}  // namespace

result<xml_text> xml_text::parse(std::string_view text, const std::string& file) {
    xml_text out;
    out.file_ = file;
    out.line_starts_.push_back(0);
    for (std::size_t i = 0; i < text.size(); ++i)
        if (text[i] == '\n') out.line_starts_.push_back(i + 1);
    out.document_ = std::make_unique<pugi::xml_document>();
    // Encoding is given so that offsets stay those of the text.
    const auto parsed = out.document_->load_buffer(text.data(), text.size(), pugi::parse_default, pugi::encoding_utf8);
    if (!parsed)
        return text::bad(place(file, out.line_starts_, static_cast<std::size_t>(parsed.offset), true),
                         std::string("this is not well-formed XML: ") + parsed.description(),
                         "import the complete file as the tool wrote it");
    const walked all = walk(out.root());
    if (all.odd)
        return text::bad(out.where(all.odd), "an attribute holds a character reference that is no character",
                         "import the file as the tool wrote it");
    if (all.deepest > max_xml_depth)
        return error{errc::limit, file, "elements are nested deeper than " + std::to_string(max_xml_depth) + " levels",
                     "import the file as the tool wrote it"};
    return out;
}

std::string xml_text::where(pugi::xml_node element) const {
    return place(file_, line_starts_, static_cast<std::size_t>(std::max<std::ptrdiff_t>(element.offset_debug(), 0)),
                 false);
}

std::string_view first_element(std::string_view head) noexcept {
    for (std::size_t open = head.find('<'); open != std::string_view::npos; open = head.find('<', open)) {
        const std::string_view rest = head.substr(open);
        if (rest.starts_with("<!--")) {
            const std::size_t end = rest.find("-->");
            if (end == std::string_view::npos) return {};
            open += end + 3;
        } else if (rest.starts_with("<?") || rest.starts_with("<!")) {
            ++open;
        } else {
            const std::size_t end = rest.find_first_of(" \t\r\n/>", 1);
            return end == std::string_view::npos ? std::string_view{} : rest.substr(1, end - 1);
        }
    }
    return {};
}

std::optional<unsigned> hex_attribute(pugi::xml_attribute a) noexcept {
    std::string_view s = a.value();
    if (s.starts_with("0x")) s.remove_prefix(2);
    unsigned value = 0;
    const auto [end, failed] = std::from_chars(s.data(), s.data() + s.size(), value, 16);
    if (failed != std::errc{} || end != s.data() + s.size()) return std::nullopt;
    return value;
}

}  // namespace topo

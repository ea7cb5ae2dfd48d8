// SPDX-License-Identifier: Apache-2.0
#include "topo/import/yaml_text.hpp"

#include <yaml-cpp/eventhandler.h>

#include <algorithm>
#include <exception>
#include <sstream>
#include <utility>

#include "topo/import/text.hpp"
#include "topo/quote.hpp"

namespace topo::yaml {
namespace {

constexpr std::size_t max_bytes = 16u << 20;
constexpr int max_depth = 32;

// What is wrong with the events of a document, before a tree is made of them.
struct refusal {
    int line;
    std::string what;
};

class guard final : public YAML::EventHandler {
public:
    void OnDocumentStart(const YAML::Mark&) override {}
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& m, YAML::anchor_t a) override { leaf(m, a); }
    void OnAlias(const YAML::Mark& m, YAML::anchor_t) override {
        throw refusal{m.line + 1, "an alias (*name) stands here"};
    }
    void OnScalar(const YAML::Mark& m, const std::string&, YAML::anchor_t a, const std::string&) override {
        leaf(m, a);
    }
    void OnSequenceStart(const YAML::Mark& m, const std::string&, YAML::anchor_t a,
                         YAML::EmitterStyle::value) override {
        open(m, a);
    }
    void OnSequenceEnd() override { --depth_; }
    void OnMapStart(const YAML::Mark& m, const std::string&, YAML::anchor_t a, YAML::EmitterStyle::value) override {
        open(m, a);
    }
    void OnMapEnd() override { --depth_; }

private:
    static void leaf(const YAML::Mark& m, YAML::anchor_t a) {
        if (a != 0) throw refusal{m.line + 1, "an anchor (&name) stands here"};
    }
    void open(const YAML::Mark& m, YAML::anchor_t a) {
        leaf(m, a);
        if (++depth_ > max_depth)
            throw refusal{m.line + 1, "the nesting is deeper than " + std::to_string(max_depth) + " levels"};
    }
    int depth_ = 0;
};

}  // namespace

result<YAML::Node> load(std::string_view text, const std::string& file, findings& notes) {
    if (text.size() > max_bytes)
        return error{errc::limit, file, "the file has more than " + std::to_string(max_bytes >> 20) + " MiB",
                     "import the part that describes one fabric"};
    try {
        const std::string copy(text);
        std::istringstream events(copy);
        YAML::Parser parser(events);
        guard checks;
        if (!parser.HandleNextDocument(checks))
            return text::bad(file, "the file holds no YAML document", "import the complete file");
        guard second;
        if (parser.HandleNextDocument(second))
            text::note(notes, file, "the file holds more than one YAML document; the first was read");
        std::istringstream again(copy);
        return YAML::Load(again);
    } catch (const refusal& r) {
        return text::bad(
            text::at(file, static_cast<std::size_t>(r.line)), r.what,
            "write the content out, without anchors, at most " + std::to_string(max_depth) + " levels deep");
    } catch (const YAML::Exception& e) {
        const std::string place = e.mark.is_null() ? file : text::at(file, static_cast<std::size_t>(e.mark.line + 1));
        return text::bad(place, "this is not YAML: " + text::shown(e.msg, longest_sentence),
                         "check the indentation and the quotes");
    } catch (const std::exception& e) {
        return text::bad(file, "this is not YAML: " + text::shown(e.what(), longest_sentence),
                         "check that the file is complete");
    }
}

std::string at(const std::string& file, const YAML::Node& node) {
    const YAML::Mark mark = node.Mark();
    return mark.is_null() ? file : text::at(file, static_cast<std::size_t>(mark.line + 1));
}

std::string scalar(const YAML::Node& node) { return node.IsDefined() && node.IsScalar() ? node.Scalar() : ""; }

result<std::vector<std::string>> hosts(const YAML::Node& node, const std::string& file, host_reader& reader) {
    if (!node.IsDefined() || node.IsNull()) return std::vector<std::string>{};
    if (node.IsScalar()) return reader.expand(node.Scalar(), at(file, node), 0);
    if (!node.IsSequence())
        return text::bad(at(file, node), "a map stands where a host list is due", "write nodes: n[1-4] or [n1, n2]");
    std::vector<std::string> all;
    for (const auto& item : node) {
        if (!item.IsScalar())
            return text::bad(at(file, item), "an item of the list is not a name", "write nodes: [n1, n2]");
        auto names = reader.expand(item.Scalar(), at(file, item), 0);
        if (!names) return names.failure();
        std::move(names->begin(), names->end(), std::back_inserter(all));
    }
    return all;
}

void note_unknown_keys(const YAML::Node& map, std::initializer_list<std::string_view> known, const std::string& what,
                       const std::string& file, findings& notes) {
    for (const auto& entry : map) {
        const std::string key = scalar(entry.first);
        if (std::find(known.begin(), known.end(), std::string_view(key)) == known.end())
            text::note(notes, at(file, entry.first),
                       "key '" + text::shown(key) + "' of " + text::shown(what) + " was not read");
    }
}

}  // namespace topo::yaml

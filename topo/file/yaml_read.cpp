// SPDX-License-Identifier: Apache-2.0
// YAML by yaml-cpp's events, not by its nodes: events carry lines, let us stop at a depth before the
// parser's own recursion goes deep, and keep duplicate keys visible.
#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <istream>
#include <streambuf>

#include "topo/file/text_check.hpp"
#include "topo/file/value.hpp"
#include "topo/quote.hpp"

namespace topo::file {
namespace {

// Thrown through yaml-cpp to stop it; caught in read_yaml.
struct stop {
    YAML::Mark mark;
    errc code;
    std::string what;
    std::string remedy;
};

class view_buffer : public std::streambuf {
public:
    explicit view_buffer(std::string_view text) {
        char* begin = const_cast<char*>(text.data());  // the get area is never written to
        setg(begin, begin, begin + text.size());
    }
};

class tree_builder final : public YAML::EventHandler {
public:
    value root;
    bool started = false;

    void OnDocumentStart(const YAML::Mark& mark) override {
        if (started) throw stop{mark, errc::bad_input, "the file holds a second document", "keep one document a file"};
        started = true;
    }
    void OnDocumentEnd() override {}
    void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
        refuse_anchor(mark, anchor);
        put(mark, kind::null, {});
    }
    void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override { refuse_anchor(mark, 1); }
    void OnAnchor(const YAML::Mark& mark, const std::string&) override { refuse_anchor(mark, 1); }
    void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  const std::string& text) override {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        put(mark, tag == "!" ? kind::text : kind::plain, text);
    }
    void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                         YAML::EmitterStyle::value) override {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        open(mark, kind::sequence);
    }
    void OnSequenceEnd() override { close(); }
    void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                    YAML::EmitterStyle::value) override {
        refuse_anchor(mark, anchor);
        refuse_tag(mark, tag);
        open(mark, kind::map);
    }
    void OnMapEnd() override { close(); }

private:
    // A container being filled. Children are built aside and moved in when they end, so that no
    // pointer into a growing vector is kept.
    struct level {
        value made;
        std::string key;
        std::uint32_t key_line = 0;
        bool have_key = false;
    };

    static void refuse_anchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
        if (anchor != 0)
            throw stop{mark, errc::bad_input, "anchors and aliases (& and *) are not read", "write the value out"};
    }
    static void refuse_tag(const YAML::Mark& mark, const std::string& tag) {
        if (!tag.empty() && tag != "?" && tag != "!")
            throw stop{mark, errc::bad_input, "tags (!) are not read", "take the tag out"};
    }

    void add(value v, const YAML::Mark& mark) {
        if (++count_ > max_values)
            throw stop{mark, errc::limit, fmt::format("more than {} values", max_values), "split the file"};
        if (open_.empty()) {
            root = std::move(v);
            return;
        }
        level& top = open_.back();
        if (top.made.is == kind::sequence) {
            top.made.items.push_back(std::move(v));
        } else if (!top.have_key) {
            if (!v.scalar())
                throw stop{mark, errc::bad_input, "a key is not a plain word", "write one word as the key"};
            top.key = std::move(v.text);
            top.key_line = v.line;
            top.have_key = true;
        } else {
            if (v.is == kind::null) v.line = top.key_line;  // yaml-cpp gives the place of the next token
            top.made.add(std::move(top.key), std::move(v));
            top.have_key = false;
        }
    }

    void put(const YAML::Mark& mark, kind is, std::string text) {
        value v;
        v.is = is;
        v.line = line_of(mark);
        v.text = std::move(text);
        add(std::move(v), mark);
    }

    void open(const YAML::Mark& mark, kind is) {
        if (open_.size() >= max_depth)
            throw stop{mark, errc::bad_input, fmt::format("nested deeper than {} levels", max_depth),
                       "no file of Atoll nests so deep; check the brackets"};
        if (!open_.empty() && open_.back().made.is == kind::map && !open_.back().have_key)
            throw stop{mark, errc::bad_input, "a key is not a plain word", "write one word as the key"};
        level l;
        l.made.is = is;
        l.made.line = line_of(mark);
        open_.push_back(std::move(l));
    }

    void close() {
        value v = std::move(open_.back().made);
        open_.pop_back();
        add(std::move(v), YAML::Mark::null_mark());
    }

    static std::uint32_t line_of(const YAML::Mark& mark) { return static_cast<std::uint32_t>(mark.line + 1); }

    std::vector<level> open_;
    std::size_t count_ = 0;
};

// yaml-cpp names a tab's consequence, not the tab: find the first line that is indented with one. 0: none.
std::size_t tab_line(std::string_view text) {
    std::size_t line = 1;
    bool indent = true;
    for (const char c : text) {
        if (c == '\t' && indent) return line;
        if (c == '\n') ++line;
        indent = c == '\n' || (indent && c == ' ');
    }
    return 0;
}

error at(const std::string& file, const YAML::Mark& mark, errc code, std::string what, std::string remedy) {
    return {code, mark.is_null() ? file : fmt::format("{}:{}:{}", file, mark.line + 1, mark.column + 1),
            std::move(what), std::move(remedy)};
}

}  // namespace

result<value> read_yaml(std::string_view text, const std::string& file) {
    if (auto fine = check_text(text, file); !fine) return fine.failure();
    tree_builder tree;
    try {
        view_buffer buffer(text);
        std::istream stream(&buffer);
        YAML::Parser parser(stream);
        while (parser.HandleNextDocument(tree)) {
        }
    } catch (const stop& s) {
        return at(file, s.mark, s.code, s.what, s.remedy);
    } catch (const YAML::Exception& e) {
        if (const std::size_t line = tab_line(text); line != 0)
            return error{errc::bad_input, fmt::format("{}:{}", file, line),
                         "not YAML: " + shown(e.msg, longest_sentence) + " (this line is indented with a tab)",
                         "indent with blanks"};
        return at(file, e.mark, errc::bad_input, "not YAML: " + shown(e.msg, longest_sentence),
                  "check quotes, brackets and indentation there; docs/file-format.md has examples");
    } catch (const std::exception& e) {
        return error{errc::bad_input, file, "not YAML: " + shown(e.what(), longest_sentence), "give a YAML file"};
    }
    if (!tree.started) return error{errc::bad_input, file, "the file is empty", "give a file with content"};
    return std::move(tree.root);
}

}  // namespace topo::file

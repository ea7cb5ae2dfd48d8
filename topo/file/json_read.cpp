// SPDX-License-Identifier: Apache-2.0
// JSON by nlohmann's events; the position of its iterator gives every value its line.
#include <fmt/format.h>

#include <cstddef>
#include <iterator>
#include <nlohmann/json.hpp>

#include "topo/file/text_check.hpp"
#include "topo/file/value.hpp"
#include "topo/quote.hpp"

namespace topo::file {
namespace {

using nlohmann::json;

// Walks the text and tells how far it got, also through copies.
class counting_iterator {
public:
    using iterator_category = std::input_iterator_tag;
    using value_type = char;
    using difference_type = std::ptrdiff_t;
    using pointer = const char*;
    using reference = const char&;

    counting_iterator(const char* at, const char** reached) : at_(at), reached_(reached) {}
    reference operator*() const { return *at_; }
    counting_iterator& operator++() {
        *reached_ = ++at_;
        return *this;
    }
    counting_iterator operator++(int) {
        counting_iterator before = *this;
        ++*this;
        return before;
    }
    friend bool operator==(const counting_iterator& a, const counting_iterator& b) { return a.at_ == b.at_; }

private:
    const char* at_;
    const char** reached_;
};

// The parser's own words without its name and position, which we give ourselves; it quotes the last word that
// it read whole, however long, and the fault is at that word's end.
std::string cause_of(std::string_view what) {
    for (const std::string_view lead : {"] ", ": "})
        if (const auto at = what.find(lead); at != std::string_view::npos && at < 80) what.remove_prefix(at + 2);
    const std::size_t open = what.find('\'');
    const std::size_t close = what.rfind('\'');
    if (open == std::string_view::npos || close - open <= longest_quote) return shown(what, longest_sentence);
    return shown(what.substr(0, open + 1), longest_sentence) + "…" +
           shown(what.substr(close - longest_quote, longest_quote)) + shown(what.substr(close), longest_sentence);
}

class tree_builder final : public nlohmann::json_sax<json> {
public:
    tree_builder(std::string_view text, const std::string& file)
        : reached(text.data()), seen_(text.data()), file_(file) {}

    const char* reached;
    value root;
    error failure;

    bool null() override { return put(kind::null, {}, 0); }
    bool boolean(bool b) override { return put(kind::boolean, b ? "true" : "false", 0); }
    bool number_integer(number_integer_t n) override { return put(kind::number, std::to_string(n), 1); }
    bool number_unsigned(number_unsigned_t n) override { return put(kind::number, std::to_string(n), 1); }
    bool number_float(number_float_t, const string_t& text) override { return put(kind::number, text, 1); }
    bool string(string_t& text) override { return put(kind::text, std::move(text), 0); }
    bool binary(binary_t&) override { return false; }
    bool start_object(std::size_t) override { return open(kind::map); }
    bool key(string_t& text) override {
        open_.back().key = std::move(text);
        return true;
    }
    bool end_object() override { return close(); }
    bool start_array(std::size_t) override { return open(kind::sequence); }
    bool end_array() override { return close(); }
    bool parse_error(std::size_t, const std::string&, const json::exception& e) override {
        return fail(errc::bad_input, "not JSON: " + cause_of(e.what()),
                    "the file may be cut short; write it again or correct it there");
    }

private:
    struct level {
        value made;
        std::string key;
    };

    bool fail(errc code, std::string what, std::string remedy) {
        failure = {code, fmt::format("{}:{}", file_, line(0)), std::move(what), std::move(remedy)};
        return false;
    }

    // The line of what was read last; a number is known to end only one character later.
    std::uint32_t line(std::ptrdiff_t ahead) {
        for (; seen_ < reached - ahead; ++seen_) line_ += *seen_ == '\n' ? 1 : 0;
        return line_;
    }

    bool add(value v) {
        if (++count_ > max_values)
            return fail(errc::limit, fmt::format("more than {} values", max_values), "split the file");
        if (open_.empty())
            root = std::move(v);
        else if (open_.back().made.is == kind::sequence)
            open_.back().made.items.push_back(std::move(v));
        else
            open_.back().made.add(std::move(open_.back().key), std::move(v));
        return true;
    }

    bool put(kind is, std::string text, std::ptrdiff_t ahead) {
        value v;
        v.is = is;
        v.line = line(ahead);
        v.text = std::move(text);
        return add(std::move(v));
    }

    bool open(kind is) {
        if (open_.size() >= max_depth)
            return fail(errc::bad_input, fmt::format("nested deeper than {} levels", max_depth),
                        "no file of Atoll nests so deep; check the brackets");
        level l;
        l.made.is = is;
        l.made.line = line(0);
        open_.push_back(std::move(l));
        return true;
    }

    bool close() {
        value v = std::move(open_.back().made);
        open_.pop_back();
        return add(std::move(v));
    }

    std::vector<level> open_;
    std::size_t count_ = 0;
    const char* seen_;
    std::uint32_t line_ = 1;
    const std::string& file_;
};

}  // namespace

result<value> read_json(std::string_view text, const std::string& file) {
    if (auto fine = check_text(text, file); !fine) return fine.failure();
    tree_builder tree(text, file);
    try {
        const counting_iterator begin(text.data(), &tree.reached);
        const counting_iterator end(text.data() + text.size(), &tree.reached);
        if (!json::sax_parse(begin, end, &tree)) {
            if (tree.failure.what.empty()) return error{errc::bad_input, file, "not JSON", "give a JSON file"};
            return tree.failure;
        }
    } catch (const std::exception& e) {
        return error{errc::bad_input, file, "not JSON: " + shown(e.what(), longest_sentence), "give a JSON file"};
    }
    return std::move(tree.root);
}

}  // namespace topo::file

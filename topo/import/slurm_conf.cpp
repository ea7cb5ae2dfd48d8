// SPDX-License-Identifier: Apache-2.0
#include "topo/import/slurm_conf.hpp"

#include <algorithm>
#include <optional>

#include "topo/import/text.hpp"

namespace topo::slurm {
namespace {

constexpr std::size_t max_fields = 64;  // slurm.conf(5) knows far fewer keys for any line

char lower_char(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
bool blank(char c) noexcept { return c == ' ' || c == '\t' || c == '\r'; }

// Walks one line, filling the record that may have begun on an earlier one.
class line_reader {
public:
    line_reader(std::string_view body, std::size_t number, const std::string& file)
        : body_(body), number_(number), file_(file) {}

    result<done> into(record& r) {
        while (true) {
            while (at_ < body_.size() && blank(body_[at_])) ++at_;
            if (at_ >= body_.size()) return done{};
            const std::size_t start = at_;
            while (at_ < body_.size() && body_[at_] != '=' && !blank(body_[at_])) ++at_;
            const std::string_view key = body_.substr(start, at_ - start);
            std::size_t equals = at_;
            while (equals < body_.size() && blank(body_[equals])) ++equals;  // Slurm allows "Key = Value"
            if (equals >= body_.size() || body_[equals] != '=' || key.empty()) return not_a_pair(start);
            at_ = equals + 1;
            while (at_ < body_.size() && blank(body_[at_])) ++at_;
            field f{lower(key), {}, number_, at_ + 1};
            if (auto read = value(f); !read) return read;
            if (r.find(f.key) != nullptr)
                return text::bad(place(start), "'" + text::shown(key) + "' stands twice in one line",
                                 "keep one of the two");
            if (r.fields.size() >= max_fields)
                return error{errc::limit, place(start),
                             "one line has more than " + std::to_string(max_fields) + " settings",
                             "check that the lines were not joined"};
            if (r.fields.empty()) r.line = number_;
            r.fields.push_back(std::move(f));
        }
    }

private:
    std::string place(std::size_t offset) const { return text::at(file_, number_) + ":" + std::to_string(offset + 1); }
    error not_a_pair(std::size_t start) const {
        const std::size_t end = body_.find_first_of(" \t", start);
        return text::bad(place(start), "'" + text::shown(body_.substr(start, end - start)) + "' is not Key=Value",
                         "write each setting as Key=Value and begin comments with #");
    }
    result<done> value(field& f) {
        const std::size_t start = at_;
        if (at_ < body_.size() && body_[at_] == '"') {
            const std::size_t end = body_.find('"', ++at_);
            if (end == std::string_view::npos)
                return text::bad(place(start), "the quote is never closed", "close it on the same line");
            f.value = body_.substr(at_, end - at_);
            ++f.column;
            at_ = end + 1;
            return done{};
        }
        while (at_ < body_.size() && !blank(body_[at_])) ++at_;
        f.value = body_.substr(start, at_ - start);
        for (std::size_t mark; (mark = f.value.find("\\#")) != std::string::npos;) f.value.erase(mark, 1);
        return done{};
    }

    std::string_view body_;
    std::size_t number_;
    const std::string& file_;
    std::size_t at_ = 0;
};

// Where the comment of a line begins; its size when there is none.
std::size_t comment_start(std::string_view body) noexcept {
    bool quoted = false;
    for (std::size_t i = 0; i < body.size(); ++i) {
        if (body[i] == '"') quoted = !quoted;
        if (body[i] == '#' && !quoted && (i == 0 || body[i - 1] != '\\')) return i;
    }
    // An unclosed quote is reported by the reader of values; it must not hide a comment for ever.
    return body.size();
}

std::optional<std::string> include_of(std::string_view body) {
    const auto parts = text::words(body);
    if (parts.empty() || lower(parts.front()) != "include") return std::nullopt;
    return parts.size() > 1 ? std::string(parts[1]) : std::string();
}

}  // namespace

std::string lower(std::string_view s) {
    std::string out(s);
    std::transform(out.begin(), out.end(), out.begin(), lower_char);
    return out;
}

const field* record::find(std::string_view key) const noexcept {
    for (const auto& f : fields)
        if (f.key == key) return &f;
    return nullptr;
}

std::string at(const std::string& file, const field& f, std::size_t offset) {
    return text::at(file, f.line) + ":" + std::to_string(f.column + offset);
}

result<conf> read_conf(std::string_view text, const std::string& file) {
    conf out;
    record open;
    for (const auto& [number, whole] : text::lines_of(text)) {
        for (const std::string_view mark : {std::string_view("{{"), std::string_view("{%")})
            if (const auto found = whole.find(mark); found != std::string_view::npos)
                return text::bad(text::at(file, number) + ":" + std::to_string(found + 1),
                                 "'" + std::string(mark) + "' shows that this is a template, not the file made from it",
                                 "import the file as it stands on the machine, after the template was filled in");
        const std::size_t hash = comment_start(whole);
        if (hash < whole.size()) out.comments.push_back({number, std::string(text::trim(whole.substr(hash + 1)))});
        std::string_view body = text::trim(whole.substr(0, hash));
        const std::size_t indent = body.empty() ? 0 : static_cast<std::size_t>(body.data() - whole.data());
        const bool goes_on = hash == whole.size() && !body.empty() && body.back() == '\\';
        if (goes_on) body.remove_suffix(1);
        body = whole.substr(0, indent + body.size());  // so that columns count from the line's start
        if (auto named = open.fields.empty() ? include_of(body) : std::nullopt) {
            out.includes.push_back({number, *named});
            continue;
        }
        if (auto read = line_reader(body, number, file).into(open); !read) return read.failure();
        if (goes_on) continue;
        if (!open.fields.empty()) out.records.push_back(std::move(open));
        open = {};
    }
    if (!open.fields.empty()) out.records.push_back(std::move(open));
    return out;
}

bool has_key(std::string_view head, std::string_view key) noexcept {
    while (!head.empty()) {
        const std::size_t end = head.find('\n');
        std::string_view body = head.substr(0, end);
        body = body.substr(0, body.find('#'));
        for (std::size_t i = 0; i + key.size() < body.size(); ++i) {
            if (i > 0 && !blank(body[i - 1])) continue;
            std::size_t k = 0;
            while (k < key.size() && lower_char(body[i + k]) == key[k]) ++k;
            if (k < key.size()) continue;
            std::size_t equals = i + k;
            while (equals < body.size() && blank(body[equals])) ++equals;
            if (equals < body.size() && body[equals] == '=') return true;
        }
        if (end == std::string_view::npos) break;
        head.remove_prefix(end + 1);
    }
    return false;
}

void note_includes(const conf& c, const std::string& file, findings& notes) {
    for (const auto& i : c.includes)
        text::warn(notes, text::at(file, i.line), "Include " + text::shown(i.text) + " was not followed",
                   "import that file too, or put its lines here");
}

}  // namespace topo::slurm

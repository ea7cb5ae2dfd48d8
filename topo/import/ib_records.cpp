// SPDX-License-Identifier: Apache-2.0
#include "topo/import/ib_records.hpp"

#include <array>
#include <optional>
#include <unordered_map>
#include <utility>

#include "topo/counted.hpp"
#include "topo/import/text.hpp"

namespace topo {
namespace {

struct port_line {
    std::uint32_t node = 0;
    long port = 0;
    std::string peer;
    long peer_port = 0;
    std::string peer_description;
    double gb_per_s = 0;
    std::size_t line = 0;
};

bool blank(char c) noexcept { return c == ' ' || c == '\t'; }

class cursor {
public:
    explicit cursor(std::string_view s) : rest_(s) {}
    void skip_blanks() {
        while (!rest_.empty() && blank(rest_.front())) rest_.remove_prefix(1);
    }
    // The text between two marks, when the first stands here.
    std::optional<std::string_view> between(char open, char close) {
        if (rest_.empty() || rest_.front() != open) return std::nullopt;
        const std::size_t end = rest_.find(close, 1);
        if (end == std::string_view::npos) return std::nullopt;
        const std::string_view inside = rest_.substr(1, end - 1);
        rest_.remove_prefix(end + 1);
        return inside;
    }
    std::string_view word() {
        std::size_t end = 0;
        while (end < rest_.size() && !blank(rest_[end])) ++end;
        const std::string_view w = rest_.substr(0, end);
        rest_.remove_prefix(end);
        return w;
    }
    // "[35]" and, on chassis with external numbering, "[35][ext 7]".
    std::optional<long> port() {
        const auto inside = between('[', ']');
        if (!inside) return std::nullopt;
        if (rest_.starts_with("[ext")) between('[', ']');
        const auto n = text::whole_number(text::trim(*inside));
        return n && *n >= 0 && *n <= 255 ? n : std::nullopt;
    }
    [[nodiscard]] std::string_view rest() const { return rest_; }

private:
    std::string_view rest_;
};

// The first quoted text of a comment, and the last "4xNDR" of it.
std::string quoted_in(std::string_view s) {
    const std::size_t open = s.find('"');
    if (open == std::string_view::npos) return {};
    const std::size_t close = s.find('"', open + 1);
    return close == std::string_view::npos ? std::string() : std::string(s.substr(open + 1, close - open - 1));
}

double speed_in(std::string_view s) {
    double found = 0;
    for (const auto w : text::words(s))
        if (const double gb = ib_gb_per_s(w); gb > 0) found = gb;
    return found;
}

std::optional<ib_kind> kind_named(std::string_view w) noexcept {
    if (w == "Switch") return ib_kind::switch_;
    if (w == "Ca" || w == "Hca") return ib_kind::adapter;
    if (w == "Rt") return ib_kind::router;
    return std::nullopt;
}

class record_reader {
public:
    record_reader(const std::string& file, findings& notes) : file_(file), notes_(notes) {}

    result<done> take(const text::line& l) {
        const std::string_view body = text::trim(l.body);
        if (body.empty() || body.front() == '#') return done{};
        if (body.front() == '[') return take_port(body, l.number);
        const std::string_view first = body.substr(0, body.find_first_of(" \t"));
        if (const auto kind = kind_named(first)) return take_node(*kind, body.substr(first.size()), l.number);
        const std::size_t equals = first.find('=');
        if (equals != std::string_view::npos && equals > 0) return done{};  // vendid=, switchguid= …
        if (body.starts_with("ibwarn") || body.starts_with("src/") || body.starts_with("module ")) {
            if (warnings_++ == 0)
                text::warn(notes_, text::at(file_, l.number),
                           "a message of the tool stands between the records: " + text::shown(body),
                           "see whether the discovery was complete");
            return done{};
        }
        return text::bad(text::at(file_, l.number), "'" + text::shown(body) + "' is no line of ibnetdiscover",
                         "import the complete, unedited output of ibnetdiscover");
    }

    result<ib_net> finish() {
        for (auto& p : ports_)
            if (auto added = add_link(p); !added) return added.failure();
        if (guessed_ > 0)
            text::warn(notes_, file_,
                       counted(guessed_, "adapter has no record of its own and was",
                               "adapters have no record of their own and were") +
                           " taken from the switch that names them",
                       "run ibnetdiscover to its end");
        if (lost_ > 0)
            text::warn(notes_, first_lost_,
                       counted(lost_, "link leads", "links lead") + " to a node without a record; left out",
                       "run ibnetdiscover to its end");
        return std::move(net_);
    }

private:
    error cut(std::size_t line) const {
        return text::bad(text::at(file_, line), "the line is cut or mangled",
                         "import the complete, unedited output of ibnetdiscover");
    }

    result<done> take_node(ib_kind kind, std::string_view rest, std::size_t line) {
        cursor at(rest);
        at.skip_blanks();
        if (!text::whole_number(at.word())) return cut(line);
        at.skip_blanks();
        const auto id = at.between('"', '"');
        if (!id || id->empty()) return cut(line);
        const std::size_t comment = at.rest().find('#');
        ib_node n{std::string(*id), {}, kind, line};
        if (comment != std::string_view::npos) n.description = quoted_in(at.rest().substr(comment));
        const auto [old, fresh] = by_id_.emplace(n.id, static_cast<std::uint32_t>(net_.nodes.size()));
        if (!fresh)
            return text::bad(
                text::at(file_, line),
                text::shown(n.id) + " already has a record at " + text::at(file_, net_.nodes[old->second].line),
                "import one discovery, not two joined ones");
        net_.nodes.push_back(std::move(n));
        return done{};
    }

    result<done> take_port(std::string_view body, std::size_t line) {
        if (net_.nodes.empty())
            return text::bad(text::at(file_, line), "a port stands before any Switch or Ca line",
                             "import the complete, unedited output of ibnetdiscover");
        cursor at(body);
        port_line p;
        p.node = static_cast<std::uint32_t>(net_.nodes.size() - 1);
        p.line = line;
        const auto own = at.port();
        if (!own) return cut(line);
        p.port = *own;
        at.between('(', ')');
        at.skip_blanks();
        const auto peer = at.between('"', '"');
        if (!peer || peer->empty()) return cut(line);
        p.peer = *peer;
        const auto peer_port = at.port();
        if (!peer_port) return cut(line);
        p.peer_port = *peer_port;
        p.peer_description = quoted_in(at.rest());
        p.gb_per_s = speed_in(at.rest());
        ports_.push_back(std::move(p));
        return done{};
    }

    std::optional<std::uint32_t> peer_of(const port_line& p) {
        if (const auto found = by_id_.find(p.peer); found != by_id_.end()) return found->second;
        if (p.peer.starts_with("H-") && !p.peer_description.empty()) {
            ++guessed_;
            const auto index = static_cast<std::uint32_t>(net_.nodes.size());
            by_id_.emplace(p.peer, index);
            net_.nodes.push_back({p.peer, p.peer_description, ib_kind::adapter, p.line});
            return index;
        }
        if (lost_++ == 0) first_lost_ = text::at(file_, p.line);
        return std::nullopt;
    }

    result<done> add_link(const port_line& p) {
        const auto peer = peer_of(p);
        if (!peer) return done{};
        const std::uint64_t here = key(p.node, p.port);
        const std::uint64_t there = key(*peer, p.peer_port);
        if (here == there)
            return text::bad(text::at(file_, p.line), "a port is joined to itself", "run ibnetdiscover again");
        for (const auto& [own, other] : {std::pair{here, there}, std::pair{there, here}}) {
            const auto [old, fresh] = joined_.try_emplace(own, std::pair{other, p.line});
            if (!fresh && old->second.first != other)
                return text::bad(text::at(file_, p.line),
                                 "a port has two peers; the other is named at " + text::at(file_, old->second.second),
                                 "run ibnetdiscover again while no cable is moved");
            if (!fresh) return done{};  // the other end's line of a link that is known
        }
        net_.links.push_back({p.node, *peer, p.gb_per_s});
        return done{};
    }

    static std::uint64_t key(std::uint32_t node, long port) noexcept {
        return (std::uint64_t{node} << 8) | static_cast<std::uint64_t>(port);
    }

    const std::string& file_;
    findings& notes_;
    ib_net net_;
    std::vector<port_line> ports_;
    std::unordered_map<std::string, std::uint32_t> by_id_;
    std::unordered_map<std::uint64_t, std::pair<std::uint64_t, std::size_t>> joined_;
    std::size_t guessed_ = 0;
    std::size_t lost_ = 0;
    std::size_t warnings_ = 0;
    std::string first_lost_;
};

}  // namespace

double ib_gb_per_s(std::string_view width_and_speed) noexcept {
    struct lane {
        std::string_view name;
        double gb_per_s;
    };
    constexpr std::array<lane, 9> lanes = {{{"SDR", 0.25},
                                            {"DDR", 0.5},
                                            {"QDR", 1.0},
                                            {"FDR10", 1.25},
                                            {"FDR", 1.705},
                                            {"EDR", 3.125},
                                            {"HDR", 6.25},
                                            {"NDR", 12.5},
                                            {"XDR", 25.0}}};
    const std::size_t x = width_and_speed.find('x');
    if (x == std::string_view::npos) return 0;
    const auto width = text::whole_number(width_and_speed.substr(0, x));
    if (!width || (*width != 1 && *width != 2 && *width != 4 && *width != 8 && *width != 12)) return 0;
    for (const auto& l : lanes)
        if (width_and_speed.substr(x + 1) == l.name) return static_cast<double>(*width) * l.gb_per_s;
    return 0;
}

result<ib_net> read_ib_records(std::string_view text, const std::string& file, findings& notes) {
    record_reader reader(file, notes);
    for (const auto& l : text::lines_of(text))
        if (auto taken = reader.take(l); !taken) return taken.failure();
    return reader.finish();
}

}  // namespace topo

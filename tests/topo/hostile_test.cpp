// SPDX-License-Identifier: Apache-2.0
// Damaged input: whatever happens to a file, a reader answers with a value or with an error that has a
// place, a cause and a remedy. No sanitizer may complain either (preset asan).
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cctype>
#include <chrono>
#include <functional>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "topo/file.hpp"
#include "topo/free_state.hpp"
#include "topo/hostlist.hpp"
#include "topo/import/import.hpp"
#include "topo/quote.hpp"

namespace {

using namespace topo;

using reader = std::function<std::optional<error>(const std::string&)>;  // the error, if it was one

template <class T>
std::optional<error> failure_of(const result<T>& r) {
    if (r) return std::nullopt;
    return r.failure();
}

std::string fixture(const std::string& name, const char* folder = "/files/") {
    const auto text = read_file(std::string(ATOLL_FIXTURES) + folder + name);
    REQUIRE(text);
    return *text;
}

struct subject {
    std::string name;
    std::string good;
    reader read;
};

std::vector<subject> subjects() {
    static const auto lab = cluster::build(*parse_cluster(fixture("cluster.yaml"), "cluster.yaml"));
    REQUIRE(lab);
    return {
        {"cluster", fixture("cluster.yaml"),
         [](const std::string& t) {
             const auto got = parse_cluster(t, "f");
             return got ? failure_of(cluster::build(*got, true)) : failure_of(got);
         }},
        {"fabric", fixture("fabric.yaml"),
         [](const std::string& t) {
             const auto got = parse_fabric(t, "f");
             const std::vector<std::string> names = {"n1", "n5"};
             return got ? failure_of(build_fabric(*got, names, true)) : failure_of(got);
         }},
        {"node", fixture("node.json"), [](const std::string& t) { return failure_of(parse_node(t, "f")); }},
        {"free", fixture("free.yaml"), [](const std::string& t) { return failure_of(parse_free(t, "f", *lab)); }},
        {"host list", "g[0001-0024],r[1-2]n[1,3-4],login",
         [](const std::string& t) { return failure_of(expand_hostlist(t)); }},
    };
}

// An import's error, or its longest note as one: notes are printed as errors are.
std::optional<error> imported(const std::string& text) {
    const auto got = import_text(text, "f", format::automatic, {});
    if (!got) return got.failure();
    const finding* longest = nullptr;
    const auto look = [&](const findings& notes) {
        for (const auto& n : notes)
            if (longest == nullptr || n.message().size() > longest->message().size()) longest = &n;
    };
    look(got->notes);
    for (const auto& n : got->nodes) look(n.notes);
    if (longest == nullptr || longest->message().size() < 4000) return std::nullopt;
    return error{errc::bad_input, longest->where, longest->what, longest->remedy};
}

// What other tools wrote, one file of each format.
std::vector<subject> imports() {
    std::vector<subject> all;
    for (const char* name :
         {"blocks.conf", "gres.conf", "hwloc-v2.xml", "ibnetdiscover.txt", "nccl.xml", "nvbandwidth.txt",
          "nvidia-smi.txt", "p2p.txt", "topograph.yaml", "topology.conf", "topology.yaml"})
        all.push_back({name, fixture(name, "/import/"), imported});
    return all;
}

// Reads and checks the answer; says whether it was an error.
bool feed(const subject& s, const std::string& text) {
    const auto failure = s.read(text);
    if (!failure) return false;
    const bool complete =
        (!failure->where.empty() || failure->code == errc::limit) && !failure->what.empty() && !failure->remedy.empty();
    CHECK_MESSAGE(complete, s.name, ": ", failure->message(), "\n", text.substr(0, 2000));
    CHECK_MESSAGE(failure->message().size() < 4000, s.name, ": a message of ", failure->message().size(), " bytes");
    return true;
}

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1);
        lines.push_back(text.substr(at, end - at + 1));
        at = end + 1;
    }
    return lines;
}

std::string joined(const std::vector<std::string>& lines) {
    std::string text;
    for (const auto& l : lines) text += l;
    return text;
}

}  // namespace

TEST_CASE("the fixtures themselves are read") {
    for (const auto& s : subjects()) {
        CAPTURE(s.name);
        const auto failure = s.read(s.good);
        CHECK_MESSAGE(!failure, failure->message());
    }
}

TEST_CASE("files cut at every seventh byte") {
    for (const auto& s : subjects())
        for (std::size_t n = 0; n < s.good.size(); n += 7) feed(s, s.good.substr(0, n));
}

TEST_CASE("bytes flipped, lines doubled, swapped and lost") {
    std::mt19937 random(20261130);
    std::size_t errors = 0;
    for (const auto& s : subjects()) {
        for (int round = 0; round < 1500; ++round) {
            std::string text = s.good;
            for (unsigned k = 0; k < 1 + random() % 3; ++k)
                text[random() % text.size()] = static_cast<char>(random() % 2 ? random() % 256 : 32 + random() % 95);
            errors += feed(s, text) ? 1 : 0;
        }
        const auto lines = lines_of(s.good);
        for (std::size_t i = 0; i < lines.size(); ++i) {
            auto doubled = lines;
            doubled.insert(doubled.begin() + static_cast<std::ptrdiff_t>(i), lines[i]);
            feed(s, joined(doubled));
            auto lost = lines;
            lost.erase(lost.begin() + static_cast<std::ptrdiff_t>(i));
            feed(s, joined(lost));
            auto swapped = lines;
            std::swap(swapped[i], swapped[random() % lines.size()]);
            feed(s, joined(swapped));
        }
    }
    CHECK(errors > 1000);  // the mutations do break something
}

TEST_CASE("each number replaced by what no number should be") {
    for (const auto& s : subjects()) {
        CAPTURE(s.name);
        for (const char* bad :
             {"NaN", "nan", "-inf", "1e999", "-1", "99999999999999999999999999", "1.5", "0x10", "3 GB/s", "", "null",
              "[]", "{}", "\"\"", "~", "18446744073709551616", "4294967295", "-0"}) {
            for (std::size_t at = 0; at < s.good.size();) {
                const std::size_t first = s.good.find_first_of("0123456789", at);
                if (first == std::string::npos) break;
                const std::size_t last = std::min(s.good.find_first_not_of("0123456789.", first), s.good.size());
                feed(s, s.good.substr(0, first) + bad + s.good.substr(last));
                at = last;
            }
        }
    }
}

TEST_CASE("binary, huge and deeply nested input ends soon") {
    const auto begin = std::chrono::steady_clock::now();
    std::mt19937 random(5);
    std::string binary(1 << 16, '\0');
    for (auto& c : binary) c = static_cast<char>(random());
    const std::size_t many = 200000;
    std::string steps;
    for (std::size_t i = 0; i < 2000; ++i) steps += std::string(i, ' ') + "a:\n";
    std::string dashes;
    for (std::size_t i = 0; i < many; ++i) dashes += "- ";
    std::string keys = "{";
    for (std::size_t i = 0; i < 50000; ++i) keys += fmt::format("{}\"k{}\": 1", i == 0 ? "" : ", ", i);
    keys += "}";
    const std::vector<std::string> inputs = {
        binary,
        std::string(many, '['),
        std::string(many, '{'),
        std::string(many, '[') + std::string(many, ']'),
        std::string(many, '"'),
        std::string(many, '\''),
        std::string(many, ':'),
        std::string(many, '?'),
        std::string(many, '-'),
        std::string(many, '&'),
        std::string(many, '*'),
        std::string(many, '!'),
        std::string(many, '\n'),
        std::string(many, '%'),
        std::string(many, '9'),
        std::string(1 << 22, 'a'),
        "a: " + std::string(1 << 22, 'a'),
        "a: |\n" + std::string(1 << 20, ' ') + "x",
        steps,
        dashes,
        keys,
        "a: &x [1]\nb: *x\n",
        "\xff\xfe" + std::string("a\0:\0", 4),
        "\xef\xbb\xbf" + fixture("cluster.yaml").substr(1),
        "%YAML 9.9\n---\na: 1\n",
        "? [a]\n: b\n",
        "<<: {a: 1}\n",
    };
    for (const auto& s : subjects())
        for (const auto& text : inputs) feed(s, text);
    for (const auto& s : subjects()) CHECK(feed(s, std::string(max_file_bytes + 1, ' ')));
    CHECK(std::chrono::steady_clock::now() - begin < std::chrono::seconds(120));
}

TEST_CASE("no message quotes a long word whole") {
    const std::string letters(20000, 'q');
    const std::string digits(20000, '7');
    const std::string bytes(20000, '\xfe');
    auto all = subjects();
    const auto others = imports();
    all.insert(all.end(), others.begin(), others.end());
    for (const auto& s : all) {
        CAPTURE(s.name);
        CHECK_FALSE(s.read(s.good));
        std::size_t errors = 0;
        const auto word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; };
        for (std::size_t at = 0; at < s.good.size();) {
            if (!word(s.good[at])) {
                ++at;
                continue;
            }
            std::size_t end = at;
            while (end < s.good.size() && word(s.good[end])) ++end;
            for (const auto* with : {&letters, &digits, &bytes}) {
                errors += feed(s, s.good.substr(0, at) + *with + s.good.substr(end)) ? 1 : 0;
                errors += feed(s, s.good.substr(0, end) + *with + s.good.substr(end)) ? 1 : 0;
            }
            // The same long name wherever the word stands, as faults of a whole file name it.
            std::string everywhere = s.good;
            const std::string old = s.good.substr(at, end - at);
            for (std::size_t i = 0; (i = everywhere.find(old, i)) != std::string::npos; i += 5000 + old.size())
                everywhere.insert(i, letters, 0, 5000);
            feed(s, everywhere);
            at = end;
        }
        CHECK(errors > 0);
    }
}

TEST_CASE("a quote is short, printable and valid UTF-8") {
    CHECK(shown("g[1-4]") == "g[1-4]");
    CHECK(shown(std::string(60, 'a')) == std::string(60, 'a'));
    CHECK(shown(std::string(61, 'a')) == std::string(60, 'a') + "…");
    CHECK(shown("µ\x1b[31m\t\x7f") == "µ?[31m??");
    CHECK(shown(std::string(59, 'a') + "µ") == std::string(59, 'a') + "…");  // not half a character
    CHECK(shown("\xc2") == "?");
    CHECK(shown("\xff\xc0\x80\xed\xa0\x80\xc2\x9b") == "????????");  // stray, overlong, surrogate, C1
    CHECK(shown("𝄞→é", 20) == "𝄞→é");
    CHECK(shown("", 0).empty());
    CHECK(shown("a", 0) == "…");
}

TEST_CASE("importers take UTF-8 only, whichever way a byte comes in") {
    const std::string topograph =
        "switches:\n  core:\n    switches: [leaf-a]\n  l\xef"
        "af-a:\n    nodes: [t1]\n";
    const auto raw = import_text(topograph, "model.yaml", format::automatic, {});
    REQUIRE_FALSE(raw);
    CHECK(raw.failure().where == "model.yaml:4");
    CHECK(raw.failure().what == "byte 0xef is no UTF-8");
    // Half of a surrogate pair, as a character reference.
    const std::string xml =
        "<system version=\"1\">\n  <cpu numaid=\"0\" affinity=\"ff\">\n    <pci busid=\"0000:01:00.0\">\n"
        "      <nic><net name=\"mlx&#xD800;5_0\" dev=\"0\" speed=\"100000\" guid=\"0x1\"/></nic>\n"
        "    </pci>\n  </cpu>\n</system>\n";
    const auto reference = import_text(xml, "topo.xml", format::automatic, {});
    REQUIRE_FALSE(reference);
    CHECK(reference.failure().where == "topo.xml:4");
    CHECK(reference.failure().what.find("no character") != std::string::npos);
}

TEST_CASE("lines may end as on other systems") {
    std::string text = fixture("cluster.yaml");
    for (std::size_t at = 0; (at = text.find('\n', at)) != std::string::npos; at += 2) text.insert(at, "\r");
    const auto got = parse_cluster(text, "dos.yaml");
    REQUIRE_MESSAGE(got, got.failure().message());
    CHECK(*got == *parse_cluster(fixture("cluster.yaml"), "unix.yaml"));
}

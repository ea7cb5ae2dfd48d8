// SPDX-License-Identifier: Apache-2.0
// Words, help, exit codes, completion and man pages.
#include <doctest/doctest.h>

#include <array>

#include "atoll_run.hpp"

using namespace cli_test;

namespace {

const std::array<std::string, 9> verbs{"discover", "import", "calibrate", "merge",     "validate",
                                       "show",     "place",  "export",    "completion"};

// What bash offers after these words.
std::string offered(const std::string& words, int position) {
    const scratch dir;
    const std::string script = dir.write("atoll.bash", run_atoll({"completion", "bash"}).out);
    return program({"bash", "-c",
                    "source '" + script + "'; COMP_WORDS=(" + words + "); COMP_CWORD=" + std::to_string(position) +
                        "; _atoll; printf '%s\\n' \"${COMPREPLY[@]}\""})
        .out;
}

// man prints bold as X, backspace, X.
std::string without_overstrikes(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '\b' && !out.empty())
            out.pop_back();
        else
            out += c;
    }
    return out;
}

}  // namespace

TEST_CASE("wrong words give exit code 2, a message and no output") {
    for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                  {"fly"},
                                                  {"show"},
                                                  {"show", "--nonsense"},
                                                  {"place", "x", "--nodes", "minus"},
                                                  {"place", "x", "--nodes", "-3"},
                                                  {"place", "x", "--nodes", "0"},
                                                  {"place", "x", "--gpus-per-node", "65"},
                                                  {"export", "x", "--to", "moon"},
                                                  {"show", "x", "--color", "pink"},
                                                  {"show", "a", "b"},
                                                  {"calibrate", "--seed", "1e400"},
                                                  {"completion", "tcsh"}}) {
        const ran r = run_atoll(words);
        CHECK(r.code == 2);
        CHECK(r.out.empty());
        CHECK(r.err.starts_with("error: atoll"));
        CHECK(contains(r.err, "--help"));
    }
}

TEST_CASE("a wrong verb is named, with the one that it is most like") {
    const auto error = [](const std::string& word) { return run_atoll({word, "x", "--gpus", "1"}).err; };
    for (const auto& [word, verb] : {std::pair{"plce", "place"},
                                     {"palce", "place"},
                                     {"Show", "show"},
                                     {"cal", "calibrate"},
                                     {"validat", "validate"},
                                     {"exprot", "export"}}) {
        CHECK(contains(error(word), "'" + std::string(word) + "' is no verb; write atoll " + verb + ","));
    }
    CHECK(contains(error("moonshot"), "'moonshot' is no verb; see atoll --help"));
    CHECK(contains(error("mam"), "'mam' is no verb; see atoll --help"));  // man is for the build alone
    CHECK(error(std::string(10000, 'p')).size() < 300);
    CHECK(contains(run_atoll({}).err, "no verb was given"));
    CHECK(contains(run_atoll({"--jsn"}).err, "no verb was given beside --jsn"));
}

TEST_CASE("a wrong number is quoted with what is right") {
    CHECK(contains(run_atoll({"place", "x", "--gpus", "two"}).err,
                   "--gpus: 'two' is not a whole number from 1 to 67108864; see atoll place --help"));
    for (const char* wrong : {"", "1.5", "-1", "0", "0x10", "1e3", "65"})
        CHECK(contains(run_atoll({"place", "x", "--gpus-per-node", wrong}).err,
                       "'" + std::string(wrong) + "' is not a whole number from 1 to 64"));
    CHECK(contains(run_atoll({"calibrate", "--seed", "-1"}).err, "'-1' is not a whole number from 0 to"));
    CHECK(contains(run_atoll({"calibrate", "--real-time", "nan"}).err, "'nan' is not a number from 0 to 1000"));
    // Leading zeros are zeros, not octal: 010 is ten.
    CHECK(run_atoll({"place", example("dgx-h100-64.yaml"), "--gpus", "010", "--json"}).json()["request"]["gpus"] == 10);
}

TEST_CASE("every verb has help with examples and all exit codes") {
    for (const std::string& verb : verbs) {
        const ran r = run_atoll({verb, "--help"});
        CAPTURE(verb);
        CHECK(r.code == 0);
        CHECK(r.err.empty());
        CHECK(contains(r.out, "Examples:\n  "));
        CHECK(contains(r.out, "atoll " + verb));
        for (const char* line : {"  0  done", "  1  ", "  2  wrong use", "  3  hardware"}) CHECK(contains(r.out, line));
        if (verb != "completion") CHECK(contains(r.out, "--json"));
    }
    const ran root = run_atoll({"--help"});
    for (const std::string& verb : verbs) CHECK(contains(root.out, "  " + verb));
    CHECK(run_atoll({"--version"}).out.starts_with("atoll "));
}

TEST_CASE("a full disk is reported, not ignored") {
    const ran r = program({"sh", "-c", std::string(ATOLL_BIN) + " --help > /dev/full"});
    CHECK(r.code == 2);
    CHECK(contains(r.err, "standard output"));
}

TEST_CASE("completion scripts parse and offer verbs, options and values") {
    for (const char* shell : {"bash", "zsh", "fish"}) {
        const ran r = run_atoll({"completion", shell});
        CHECK(r.code == 0);
        if (!installed(shell)) continue;
        CHECK(program({shell, "-n"}, r.out).code == 0);
    }
    CHECK(offered("atoll pl", 1) == "place\n");
    CHECK(contains(offered("atoll ''", 1), "calibrate\n"));
    CHECK_FALSE(contains(offered("atoll ''", 1), "man\n"));
    CHECK(contains(offered("atoll place --gp", 2), "--gpus-per-node\n"));
    CHECK(offered("atoll export x --to slurm-g", 4) == "slurm-gres\n");
    CHECK(contains(offered("atoll calibrate --simulate dgx-", 3), "dgx-h100\n"));
    CHECK(contains(offered("atoll import --from ''", 3), "nvidia-smi\n"));
    CHECK(contains(offered("atoll show /et", 2), "/etc\n"));
}

TEST_CASE("man pages are clean roff") {
    REQUIRE(installed("man"));
    for (std::string verb : verbs) {
        const ran page = run_atoll({"man", verb});
        CAPTURE(verb);
        CHECK(page.code == 0);
        const scratch dir;
        const std::string file = dir.write("atoll-" + verb + ".1", page.out);
        const ran shown =
            program({"man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", file}, "", {"MANWIDTH=80", "LC_ALL=C.UTF-8"});
        CHECK(shown.code == 0);
        CHECK(shown.err == "");
        const std::string text = without_overstrikes(shown.out);
        for (const char* heading :
             {"NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXAMPLES", "EXIT STATUS", "SEE ALSO"})
            CHECK(contains(text, std::string("\n") + heading + "\n"));
    }
    CHECK(contains(run_atoll({"man"}).out, ".SH VERBS"));
    CHECK(run_atoll({"man", "moon"}).code == 2);
}

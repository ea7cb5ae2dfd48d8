// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <string>

#include "tests/topo/sample_cluster.hpp"
#include "topo/file.hpp"

namespace {

using namespace topo;

node_description sample_node() {
    node_description n;
    n.host = "g0001";
    n.hardware = sample::board("dgx-h100");
    for (std::size_t g = 0; g < 8; ++g) {
        n.hardware.gpus[g].uuid = "GPU-0000-" + std::to_string(g);
        n.hardware.nics[g].guid = "0x946dae030000000" + std::to_string(g);
    }
    n.notes = {{severity::warning, "GPU3", "line one\nline \"two\"", "look"}, {severity::info, "", "done", ""}};
    return n;
}

std::string with(std::string text, const std::string& from, const std::string& to) {
    const auto at = text.find(from);
    REQUIRE_MESSAGE(at != std::string::npos, from);
    return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("a node file is read back as it was") {
    const node_description n = sample_node();
    const std::string text = write_node(n);
    const auto got = parse_node(text, "g0001.json");
    REQUIRE_MESSAGE(got, got.failure().message());
    CHECK(got->host == n.host);
    CHECK(got->hardware == n.hardware);
    REQUIRE(got->notes.size() == 2);
    CHECK(got->notes[0].level == severity::warning);
    CHECK(got->notes[0].what == n.notes[0].what);
    CHECK(got->notes[0].remedy == "look");
    CHECK(write_node(*got) == text);
}

TEST_CASE("wrong node files are refused with line and remedy") {
    const std::string good = write_node(sample_node());
    const auto refuse = [](const std::string& text, const char* where, const char* what) {
        const auto got = parse_node(text, "n.json");
        REQUIRE_FALSE(got);
        CAPTURE(got.failure().message());
        CHECK(got.failure().where.rfind(where, 0) == 0);
        CHECK(got.failure().what.find(what) != std::string::npos);
        CHECK_FALSE(got.failure().remedy.empty());
    };
    refuse("", "n.json", "empty");
    refuse("[]", "n.json:1", "a list");
    refuse("{", "n.json:1", "JSON");
    refuse(with(good, "atoll/v1", "atoll/v7"), "n.json:2", "atoll/v7");
    refuse(with(good, "\"Node\"", "\"Cluster\""), "n.json:3", "Cluster");
    refuse(with(good, "\"host\": \"g0001\"", "\"host\": 7"), "n.json:4", "'7'");
    refuse(with(good, "\"cores\": 112", "\"cores\": \"112\""), "n.json:8", "cores");
    refuse(with(good, "\"cores\": 112", "\"cores\": 1.5"), "n.json:8", "cores");
    refuse(with(good, "\"cores\": 112", "\"cores\": NaN"), "n.json:8", "JSON");
    refuse(with(good, "\"cores\": 112", "\"cores\": 112,\n    \"cores\": 112"), "n.json:9", "twice");
    refuse(with(good, "\"cores\": 112", "\"core\": 112"), "n.json:8", "unknown key 'core'");
    refuse(with(good, "\"name\": \"GPU1\"", "\"name\": \"GPU0\""), "n.json:6", "GPU0 stands twice");
    refuse(with(good, "[null, 370.9", "[null, -370.9"), "n.json:", "-370.9");
    refuse(with(good, "[null, 370.9", "[null, 1e999"), "n.json:", "1e999");
    refuse(with(good, "[null, 370.9", "[null, null"), "n.json:", "misses cell 2");
    refuse(with(good, "[null, 370.9", "[null, \"370.9 GB/s\""), "n.json:", "GB/s");
    refuse(with(good, "[null, 370.9", "[[], 370.9"), "n.json:", "diagonal");
    refuse(with(good, "\"level\": \"warning\"", "\"level\": \"bad\""), "n.json:", "'bad'");
    refuse(good + "{}", "n.json:", "JSON");
    refuse("{\"apiVersion\": " + std::string(100000, '[') + "}", "n.json:1", "deeper than 64");
    refuse(std::string("{\"host\": \"\xff\xfe\"}"), "n.json:1", "byte 0xff is no UTF-8");
    // A line is named also when a number is the last thing in it.
    refuse(with(good, "\"threads_per_core\": 2", "\"threads_per_core\":\n\n9999999\n"), "n.json:11", "9999999");
}

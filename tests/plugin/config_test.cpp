// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/config.hpp"

#include <doctest/doctest.h>

#include <string>

using slurm_plugin::parse_config;

namespace {

std::string refusal(const std::string& text) {
    const auto r = parse_config(text, "/etc/atoll/atoll.yaml");
    return r ? "" : r.failure().message();
}

}  // namespace

TEST_CASE("a full configuration") {
    const auto r = parse_config(
        "cluster_file: /srv/c.yaml\nmode: on\nallow_simulated: true\ndamage_weight: 0.1\n"
        "message_bytes: 1e6\nfar_cores: keep\nlog_decisions: true\n",
        "a.yaml");
    REQUIRE(r);
    CHECK(r->cluster_file == "/srv/c.yaml");
    CHECK(r->on);
    CHECK(r->allow_simulated);
    CHECK(r->damage_weight == 0.1);
    CHECK(r->message_bytes == 1e6);
    CHECK_FALSE(r->exclude_far_cores);
    CHECK(r->log_decisions);
}

TEST_CASE("defaults are the careful ones, and a relative path starts at the file") {
    const auto r = parse_config("cluster_file: cluster.yaml\n", "/etc/atoll/atoll.yaml");
    REQUIRE(r);
    CHECK(r->cluster_file == "/etc/atoll/cluster.yaml");
    CHECK_FALSE(r->allow_simulated);
    CHECK(r->on);
    CHECK(r->exclude_far_cores);
}

TEST_CASE("mode: off needs no cluster file") {
    const auto r = parse_config("mode: off\n", "a");
    REQUIRE(r);
    CHECK_FALSE(r->on);
}

TEST_CASE("faults name file, line, what and remedy") {
    CHECK(refusal("cluster_file: /c\nclusterfile: /c\n").find("/etc/atoll/atoll.yaml:2: unknown key 'clusterfile'") ==
          0);
    CHECK(refusal("cluster_file: /c\nclusterfile: /c\n").find("known keys: cluster_file") != std::string::npos);
    CHECK(refusal("cluster_file: /c\ncluster_file: /d\n").find(":2: 'cluster_file' is given twice") !=
          std::string::npos);
    CHECK(refusal("cluster_file: /c\nmode: yes\n").find(":2: 'yes' is no value for mode; write mode: on or off") !=
          std::string::npos);
    CHECK(refusal("cluster_file: /c\n\n\nallow_simulated: maybe\n").find(":4:") != std::string::npos);
    for (const char* weight : {"-0.1", "1.5", "nan", ".nan", ".inf", "x", "[1]", "{a: 1}", "''"})
        CHECK_MESSAGE(!refusal(std::string("cluster_file: /c\ndamage_weight: ") + weight + "\n").empty(), weight);
    for (const char* bytes : {"0", "-1", "1e13", "64 MB"})
        CHECK_MESSAGE(!refusal(std::string("cluster_file: /c\nmessage_bytes: ") + bytes + "\n").empty(), bytes);
    CHECK(refusal("").find("cluster_file is missing") != std::string::npos);
    CHECK(refusal("cluster_file:\n") != "");
    CHECK(refusal("cluster_file: [a]\n") != "");
}

TEST_CASE("hostile text is an error, never a crash") {
    CHECK(refusal(std::string("\0\1\2\xff\xfe", 5)) != "");
    CHECK(refusal("- a\n- b\n") != "");
    CHECK(refusal(std::string(5000, '[')) != "");
    CHECK(refusal(std::string(5000, '{')) != "");
    CHECK(refusal("? [a, b]\n: c\n") != "");
    CHECK(refusal("&a cluster_file: *b\n") != "");
    CHECK(refusal("just words") != "");
}

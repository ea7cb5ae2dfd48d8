// SPDX-License-Identifier: GPL-2.0-or-later
// Loading and reloading through the C ABI: what is in force afterwards, and what is said.
#include <doctest/doctest.h>

#include <string>

#include "tests/plugin/glue_fixture.hpp"

using namespace glue_test;

namespace {

const std::string good_config = "cluster_file: cluster.yaml\n";

std::size_t count_lines(const world& w, atoll_log_level level) {
    std::size_t n = 0;
    for (const line& l : w.log) n += l.level == level ? 1 : 0;
    return n;
}

bool says(const world& w, atoll_log_level level, const std::string& what) {
    return w.lines(level).find(what) != std::string::npos;
}

}  // namespace

TEST_CASE("no configuration: one info line, no error, off") {
    world w;
    w.table(4);
    CHECK(w.load() == 0);
    CHECK(atoll_glue_active(w.glue) == 0);
    CHECK(count_lines(w, ATOLL_LOG_INFO) == 1);
    CHECK(count_lines(w, ATOLL_LOG_ERROR) == 0);
    CHECK(says(w, ATOLL_LOG_INFO, w.path("atoll.yaml")));
    atoll_choice c{};
    const auto wish = w.wish(1, 1);
    CHECK(atoll_glue_choose(w.glue, &wish, &c) == ATOLL_SKIPPED);
}

TEST_CASE("mode: off is off") {
    world w;
    w.table(4);
    w.write("atoll.yaml", "mode: off\n");
    CHECK(w.load() == 0);
    CHECK(count_lines(w, ATOLL_LOG_ERROR) == 0);
}

TEST_CASE("a good cluster file is in force, every node dirty once") {
    world w;
    w.table(6);
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(6, 2));
    REQUIRE(w.load() == 1);
    CHECK(count_lines(w, ATOLL_LOG_ERROR) == 0);
    CHECK(says(w, ATOLL_LOG_INFO, "6 of Slurm's nodes, 1 class"));
    CHECK_FALSE(says(w, ATOLL_LOG_INFO, "1 classes"));
    std::uint32_t node = 0, expected = 0;
    while (atoll_glue_next_dirty(w.glue, &node) != 0) CHECK(node == expected++);
    CHECK(expected == 6);
    CHECK(atoll_glue_expected_gpus(w.glue, 0) == 8);
    CHECK(atoll_glue_expected_gpus(w.glue, 6) == 0);
}

TEST_CASE("bad files: one error line with place and remedy, off") {
    struct example {
        const char *config, *cluster, *place;
    };
    for (const example& e :
         {example{"clusterfile: x\n", "", "atoll.yaml:1"}, example{"cluster_file: [1]\n", "", "atoll.yaml:1"},
          example{"cluster_file: absent.yaml\n", "", "absent.yaml"},
          example{"cluster_file: cluster.yaml\n", "", "cluster.yaml"},
          example{"cluster_file: cluster.yaml\n", "apiVersion: atoll/v1\nkind: Cluster\nbogus: 1\n", "cluster.yaml:"},
          example{"cluster_file: cluster.yaml\n", "\x01\x02\xff", "cluster.yaml"},
          example{"cluster_file: cluster.yaml\n", "apiVersion: atoll/v9\nkind: Cluster\n", "cluster.yaml"},
          example{"cluster_file: .\n", "", ""}}) {
        world w;
        w.table(4);
        w.write("atoll.yaml", e.config);
        w.write("cluster.yaml", e.cluster);
        CAPTURE(e.config);
        CAPTURE(w.lines(ATOLL_LOG_ERROR));
        CHECK(w.load() == 0);
        CHECK(count_lines(w, ATOLL_LOG_ERROR) == 1);
        CHECK(says(w, ATOLL_LOG_ERROR, e.place));
        CHECK(says(w, ATOLL_LOG_ERROR, "select/cons_tres"));
    }
}

TEST_CASE("simulated costs need leave") {
    world w;
    w.table(4);
    auto d = bridge_cluster(4, 2);
    make_simulated(d.classes[0]);
    w.write_cluster(d);
    w.write("atoll.yaml", good_config);
    CHECK(w.load() == 0);
    CHECK(says(w, ATOLL_LOG_ERROR, "allow_simulated: true"));
    w.write("atoll.yaml", good_config + "allow_simulated: true\n");
    CHECK(w.load() == 1);
    CHECK(says(w, ATOLL_LOG_INFO, "SIMULATED"));
}

TEST_CASE("reconfigure: a bad new file keeps the old one in force and says so") {
    world w;
    w.table(4);
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(4, 2));
    REQUIRE(w.load() == 1);
    w.log.clear();
    SUBCASE("bad cluster file") { w.write("cluster.yaml", "kind: nonsense\n"); }
    SUBCASE("bad configuration") { w.write("atoll.yaml", "nonsense: 1\n"); }
    SUBCASE("empty cluster file") { w.write("cluster.yaml", ""); }
    SUBCASE("costs turned simulated") {
        auto d = bridge_cluster(4, 2);
        make_simulated(d.classes[0]);
        w.write_cluster(d);
    }
    CHECK(w.load() == 1);
    CHECK(count_lines(w, ATOLL_LOG_ERROR) == 1);
    CHECK(says(w, ATOLL_LOG_ERROR, "stays in force"));
    w.free_all();
    atoll_choice c{};
    const auto wish = w.wish(2, 8);
    CHECK(atoll_glue_choose(w.glue, &wish, &c) == ATOLL_CHOSEN);
}

TEST_CASE("reconfigure: the old file follows a new node table") {
    world w;
    w.table(4);
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(4, 2));
    REQUIRE(w.load() == 1);
    w.write("cluster.yaml", "bad: [\n");
    w.names = {"new1", "g4", "g3", "g2", "g1"};
    CHECK(w.load() == 1);
    CHECK(atoll_glue_expected_gpus(w.glue, 0) == 0);
    CHECK(atoll_glue_expected_gpus(w.glue, 1) == 8);
    w.names = {"x1", "x2"};
    CHECK(w.load() == 0);
    CHECK(says(w, ATOLL_LOG_ERROR, "no longer fits"));
}

TEST_CASE("reconfigure: taking the configuration away switches off") {
    world w;
    w.table(4);
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(4, 2));
    REQUIRE(w.load() == 1);
    std::filesystem::remove(w.path("atoll.yaml"));
    CHECK(w.load() == 0);
    CHECK(atoll_glue_active(w.glue) == 0);
}

TEST_CASE("nodes that only one side knows are told, counted and never chosen") {
    world w;
    w.table(4);
    w.names = {"g2", "", "cpu1", "g1"};
    w.all = {~std::uint64_t{0}};
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(4, 2));
    REQUIRE(w.load() == 1);
    CHECK(says(w, ATOLL_LOG_INFO, "1 of Slurm's nodes is not in"));
    CHECK(says(w, ATOLL_LOG_INFO, "g3, g4"));
    w.free_all();
    atoll_choice c{};
    auto wish = w.wish(2, 8);
    REQUIRE(atoll_glue_choose(w.glue, &wish, &c) == ATOLL_CHOSEN);
    CHECK(c.shares[0].node == 0);
    CHECK(c.shares[1].node == 3);
    wish = w.wish(3, 8);
    CHECK(atoll_glue_choose(w.glue, &wish, &c) == ATOLL_NO_FIT);
    atoll_counters counters{};
    atoll_glue_counters(w.glue, &counters);
    CHECK(counters.nodes_known == 2);
    CHECK(counters.nodes_unknown == 1);
}

TEST_CASE("exceptions stay inside: a log that throws") {
    world w;
    w.table(4);
    w.throwing_log = true;
    CHECK(w.load() == 0);  // the info line throws
    w.write("atoll.yaml", "bad\n");
    CHECK(w.load() == 0);
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(4, 2));
    CHECK(w.load() == 0);
    CHECK(atoll_glue_active(w.glue) == 0);  // half loaded is off
    atoll_decision d{};
    d.step = ATOLL_STEP_FULL;
    atoll_glue_decided(w.glue, &d, 1);
    atoll_glue_summary(w.glue);
    w.throwing_log = false;
    CHECK(w.load() == 1);  // and works again afterwards
}

TEST_CASE("a load that fails inside leaves nothing arranged for another node table in force") {
    world w;
    w.table(4);
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(4, 2));
    REQUIRE(w.load() == 1);
    w.table(2);
    w.throwing_log = true;
    CHECK(w.load() == 0);
    CHECK(atoll_glue_expected_gpus(w.glue, 3) == 0);
    atoll_choice c{};
    const auto wish = w.wish(1, 1);
    CHECK(atoll_glue_choose(w.glue, &wish, &c) == ATOLL_SKIPPED);
}

TEST_CASE("null and nonsense arguments are harmless") {
    world w;
    w.table(2);
    w.write("atoll.yaml", good_config);
    w.write_cluster(bridge_cluster(2, 2));
    REQUIRE(w.load() == 1);
    std::uint32_t node = 0;
    atoll_choice c{};
    atoll_wish wish{};
    const auto state = world::whole_node();
    CHECK(atoll_glue_choose(nullptr, &wish, &c) == ATOLL_SKIPPED);
    CHECK(atoll_glue_choose(w.glue, nullptr, &c) == ATOLL_SKIPPED);
    CHECK(atoll_glue_choose(w.glue, &wish, nullptr) == ATOLL_SKIPPED);
    CHECK(atoll_glue_choose(w.glue, &wish, &c) == ATOLL_SKIPPED);
    CHECK(atoll_glue_set_node(w.glue, 99, &state) == 0);
    CHECK(atoll_glue_set_node(w.glue, 0, nullptr) == 0);
    atoll_glue_mark(w.glue, nullptr, 10);
    atoll_glue_mark_node(w.glue, 1u << 30);
    CHECK(atoll_glue_next_dirty(w.glue, nullptr) == 0);
    CHECK(atoll_glue_next_dirty(nullptr, &node) == 0);
    CHECK(atoll_glue_load(w.glue, w.path("atoll.yaml").c_str(), nullptr, 5) == 0);
    CHECK(atoll_glue_load(nullptr, nullptr, nullptr, 0) == 0);
    atoll_glue_booked(nullptr, 5);
    atoll_glue_summary(nullptr);
    atoll_glue_free(nullptr);
}

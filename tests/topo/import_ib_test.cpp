// SPDX-License-Identifier: Apache-2.0
#include "tests/topo/import_help.hpp"
#include "topo/import/ib_hosts.hpp"
#include "topo/import/ib_records.hpp"

using namespace topo;
using namespace topo::test;

namespace {

// A fabric as ibnetdiscover prints it: `units` scalable units of `hosts` hosts with one adapter on each of
// `rails` leaves, each leaf with two cables to each of `spines` spines. `missing` leaves out one cable.
struct sample {
    int units = 2;
    int hosts = 4;
    int rails = 2;
    int spines = 2;
    bool missing = false;

    std::string text() const {
        std::string out = "#\n# Topology file: generated on Mon Nov 30\n#\n\n";
        for (int u = 0; u < units; ++u)
            for (int r = 0; r < rails; ++r) out += leaf(u, r);
        for (int s = 0; s < spines; ++s)
            out += "vendid=0x2c9\nSwitch\t65 \"S-f" + std::to_string(s) + "\"\t\t# \"MF0;spine-" + std::to_string(s) +
                   ":MQM9700/U1\" enhanced port 0 lid 3 lmc 0\n\n";
        for (int u = 0; u < units; ++u)
            for (int h = 0; h < hosts; ++h)
                for (int r = 0; r < rails; ++r)
                    out += "caguid=0x1\nCa\t1 \"H-" + id(u, h, r) + "\"\t\t# \"" + name(u, h) + " mlx5_" +
                           std::to_string(r) + "\"\n[1](abc) \t\"S-a" + std::to_string(u) + std::to_string(r) + "\"[" +
                           std::to_string(h + 1) + "]\t\t# lid 1 lmc 0 \"MF0;x:M/U1\" lid 2 4xNDR\n\n";
        return out;
    }
    static std::string name(int u, int h) { return "n" + std::to_string(u) + std::to_string(h); }
    static std::string id(int u, int h, int r) { return std::to_string(u) + std::to_string(h) + std::to_string(r); }
    std::string leaf(int u, int r) const {
        const std::string number = std::to_string(u) + std::to_string(r);
        std::string out = "switchguid=0xa" + number + "(a" + number + ")\nSwitch\t65 \"S-a" + number +
                          "\"\t\t# \"MF0;leaf-" + number + ":MQM9700/U1\" enhanced port 0 lid 7 lmc 0\n";
        for (int h = 0; h < hosts; ++h)
            out += "[" + std::to_string(h + 1) + "]\t\"H-" + id(u, h, r) + "\"[1](abc) \t\t# \"" + name(u, h) +
                   " mlx5_0\" lid 1 4xNDR\n";
        for (int s = 0; s < spines; ++s)
            for (int c = 0; c < 2; ++c) {
                if (missing && u == 0 && r == 0 && s == 0) continue;
                out += "[" + std::to_string(40 + 2 * s + c) + "]\t\"S-f" + std::to_string(s) + "\"[" +
                       std::to_string(1 + c + 2 * r + 8 * u) + "]\t\t# \"MF0;spine:M/U1\" lid 3 4xNDR\n";
            }
        out += "[65]\t\"H-agg" + number + "\"[1](agg) \t\t# \"Mellanox Technologies Aggregation Node\" lid 9 4xNDR\n\n";
        return out + "Ca\t1 \"H-agg" + number + "\"\t\t# \"Mellanox Technologies Aggregation Node\"\n\n";
    }
};

}  // namespace

TEST_CASE("ibnetdiscover: leaves of the rails of one unit are one group, named after the first") {
    const auto got = read(format::automatic, sample{}.text(), true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->kind == format::ibnetdiscover);
    const auto& f = *got->fabric;
    CHECK(f.form == fabric_form::rail_optimised);
    REQUIRE(f.switches.size() == 3);
    CHECK(f.switches[0].name == "spine-0");
    CHECK(f.switches[0].switches == std::vector<std::string>{"leaf-00", "leaf-10"});
    CHECK_FALSE(f.switches[0].uplink_gb_per_s);
    const auto* leaf = find(f, "leaf-10");
    REQUIRE(leaf != nullptr);
    CHECK(leaf->nodes == std::vector<std::string>{"n10", "n11", "n12", "n13"});
    // 2 leaves × 2 spines × 2 cables of 400 Gb/s
    CHECK(leaf->uplink_gb_per_s == doctest::Approx(400.0));
    CHECK(holds(got->notes, "2 of 2"));
    CHECK(holds(got->notes, "4 in-network aggregation nodes"));
    check_sound(f);
}

TEST_CASE("ibnetdiscover: a cable that is down changes the capacity, not the tree") {
    sample s;
    s.missing = true;
    const auto got = read(format::ibnetdiscover, s.text());
    REQUIRE(got.has_value());
    REQUIRE(got->fabric->switches.size() == 3);
    CHECK(find(*got->fabric, "leaf-00")->uplink_gb_per_s == doctest::Approx(300.0));
}

TEST_CASE("ibnetdiscover: one leaf a unit is a plain tree") {
    sample s;
    s.rails = 1;
    const auto got = read(format::ibnetdiscover, s.text());
    REQUIRE(got.has_value());
    CHECK(got->fabric->form == fabric_form::tree);
    CHECK(got->fabric->switches.size() == 3);
}

TEST_CASE("ibnetdiscover: a management host on leaves of two units joins none of them") {
    std::string text = sample{}.text();
    text +=
        "Ca\t2 \"H-mgmt\"\t\t# \"head mlx5_0\"\n[1](m1) \t\"S-a00\"[60]\t\t# lid 1 lmc 0 \"l\" lid 2 4xNDR\n"
        "[2](m2) \t\"S-a10\"[60]\t\t# lid 1 lmc 0 \"l\" lid 2 4xNDR\n";
    const auto got = read(format::ibnetdiscover, text);
    REQUIRE(got.has_value());
    CHECK(got->fabric->switches.size() == 3);
    CHECK(holds(got->notes, "head (kept under leaf-00)"));
    check_sound(*got->fabric);
}

TEST_CASE("ibnetdiscover: adapters without a host name stand alone under their GUID") {
    std::string text = sample{}.text();
    text +=
        "Ca\t1 \"H-e0\"\t\t# \"MT4129 ConnectX7   Mellanox Technologies\"\n[1](e0) \t\"S-a00\"[61]\t\t# lid 1 4xNDR\n"
        "Ca\t1 \"H-e1\"\t\t# \"MT4129 ConnectX7   Mellanox Technologies\"\n[1](e1) \t\"S-a01\"[61]\t\t# lid 1 4xNDR\n";
    const auto got = read(format::ibnetdiscover, text);
    REQUIRE(got.has_value());
    CHECK(holds(got->notes, "2 adapters do not tell their host"));
    const auto& nodes = find(*got->fabric, "leaf-00")->nodes;
    CHECK(std::find(nodes.begin(), nodes.end(), "H-e1") != nodes.end());
}

TEST_CASE("ibnetdiscover: pods under a core keep their level") {
    // leaf a, b – pod spine p; leaf c – pod spine q; p, q – core
    const std::string text = R"(Switch 8 "core"
[1] "p"[8] # 4xHDR
[2] "q"[8] # 4xHDR
Switch 8 "p"
[1] "a"[8] # 4xHDR
[2] "b"[8] # 4xHDR
Switch 8 "q"
[1] "c"[8] # 4xHDR
Switch 8 "a"
[1] "h1"[1]
Switch 8 "b"
[1] "h2"[1]
Switch 8 "c"
[1] "h3"[1]
Hca 1 "h1"
Hca 1 "h2"
Hca 1 "h3"
)";
    const auto got = read(format::ibnetdiscover, text);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    const std::vector<std::string> names{"h1", "h2", "h3"};
    const auto built = build_fabric(*got->fabric, names, false);
    REQUIRE(built.has_value());
    CHECK(built->built->level_of(node_id(0), node_id(1)) == 1);
    CHECK(built->built->level_of(node_id(0), node_id(2)) == 2);
    CHECK(find(*got->fabric, "p")->uplink_gb_per_s == doctest::Approx(25.0));
}

TEST_CASE("ibsim: switches joined by direct links only get a root of their own, other parts none") {
    const auto got = read(format::automatic, R"(Switch	8 "s1"
[1]	"a"[1]
[3]	"s2"[3]
Switch 8 "s2"
[1]	"b"[1]	w=4
[3]	"s1"[3]
Switch 8 "s3"
[1]	"c"[1]
Switch 8 "idle"
Hca	2 "a"
[1]	"s1"[1]
Hca	2 "b"
Hca	2 "c"
)");
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    const std::vector<std::string> names{"a", "b", "c"};
    const auto built = build_fabric(*got->fabric, names, false);
    REQUIRE(built.has_value());
    CHECK(built->built->level_of(node_id(0), node_id(1)) == 1);
    CHECK(built->built->level_of(node_id(0), node_id(2)) == unreachable_level);
    CHECK(holds(got->notes, "1 switch has no host"));
    CHECK(holds(got->notes, "2 parts of the fabric are not connected"));
}

TEST_CASE("ibnetdiscover: without a switch the fabric is unknown, and said so") {
    const auto got = read(format::automatic, "caguid=0x1\nCa\t1 \"H-1\"\t\t# \"node0001 HCA-1\"\n");
    REQUIRE(got.has_value());
    CHECK(got->fabric->form == fabric_form::unknown);
    CHECK(got->fabric->switches.empty());
    CHECK(holds(got->notes, "the fabric is unknown"));
}

TEST_CASE("ibnetdiscover: names and speeds") {
    CHECK(ib_host_of("node0001 mlx5_5") == "node0001");
    CHECK(ib_host_of("'gpu-1.site HCA-2'") == "gpu-1.site");
    CHECK(ib_host_of("login1") == "login1");
    CHECK(ib_host_of("MT4129 ConnectX7   Mellanox Technologies").empty());
    CHECK(ib_host_of("MT25408 ConnectX").empty());
    CHECK(ib_host_of("localhost mlx5_0").empty());
    CHECK(ib_host_of("").empty());
    CHECK(ib_gb_per_s("4xNDR") == 50.0);
    CHECK(ib_gb_per_s("2xHDR") == 12.5);
    CHECK(ib_gb_per_s("4xSDR") == 1.0);
    CHECK(ib_gb_per_s("12xXDR") == 300.0);
    CHECK(ib_gb_per_s("3xNDR") == 0);
    CHECK(ib_gb_per_s("4xnan") == 0);
    CHECK(ib_gb_per_s("-4xNDR") == 0);
}

TEST_CASE("ibnetdiscover: hostile and broken") {
    const auto get = [](std::string_view text) { return read(format::ibnetdiscover, text); };
    check_error(get("[1] \"x\"[1]\n"), "in.txt:1", "before any Switch");
    check_error(get("Switch 8 \"a\"\n[1]\t\"H-e09d\n"), "in.txt:2", "cut");
    check_error(get("Switch 8 \"a\"\n[999] \"b\"[1]\n"), "in.txt:2", "cut");
    check_error(get("Switch eight \"a\"\n"), "in.txt:1", "cut");
    check_error(get("Switch 8 \"a\"\nhello world\n"), "in.txt:2", "hello world");
    check_error(get("Switch 8 \"a\"\nSwitch 8 \"a\"\n"), "in.txt:2", "already has a record at in.txt:1");
    check_error(get("Switch 8 \"a\"\n[1] \"b\"[1]\n[1] \"c\"[1]\nHca 1 \"b\"\nHca 1 \"c\"\n"), "in.txt:3", "in.txt:2");
    check_error(get("Switch 8 \"a\"\n[1] \"a\"[1]\n"), "in.txt:2", "itself");
    check_error(get("vendid=0x1\n"), "in.txt", "no Switch or Ca");
    check_error(
        read(format::automatic, "CA: n1 HCA-1:\n 0x1 6 1[ ] ==( 4X 25 Gbps Active/ LinkUp)==> 3 3[ ] \"s\" ( )\n"),
        "in.txt", "iblinkinfo");
    const auto lost =
        get("Switch 8 \"S-a\"\n[1] \"H-1\"[1] # \"n1 mlx5_0\" lid 1 4xNDR\n[2] \"S-gone\"[1] # \"x\" lid 2 4xNDR\n");
    REQUIRE(lost.has_value());
    CHECK(lost->fabric->switches[0].nodes == std::vector<std::string>{"n1"});
    CHECK(holds(lost->notes, "1 adapter has no record"));
    CHECK(holds(lost->notes, "in.txt:3: 1 link leads to a node without a record"));
    read_cut(format::ibnetdiscover, sample{1, 2, 2, 1, false}.text());
}

TEST_CASE("ibnetdiscover: a host on 65 switches and a chain of switches meet a limit") {
    std::string many = "Hca 255 \"h\"\n";
    for (int i = 0; i < 65; ++i)
        many += "Switch 8 \"s" + std::to_string(i) + "\"\n[1] \"h\"[" + std::to_string(i + 1) + "]\n";
    const auto wide = read(format::ibnetdiscover, many);
    REQUIRE_FALSE(wide.has_value());
    CHECK(wide.failure().code == errc::limit);
    std::string chain = "Hca 1 \"h\"\n";
    for (int i = 0; i < 1000; ++i)
        chain += "Switch 8 \"s" + std::to_string(i) + "\"\n[1] " +
                 (i == 0 ? std::string("\"h\"[1]\n") : "\"s" + std::to_string(i - 1) + "\"[2]\n");
    const auto deep = read(format::ibnetdiscover, chain);
    REQUIRE_FALSE(deep.has_value());
    CHECK(deep.failure().code == errc::limit);
}

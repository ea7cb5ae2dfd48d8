// SPDX-License-Identifier: Apache-2.0
#include "topo/export/export.hpp"
#include "tests/topo/import_help.hpp"
#include "topo/cluster.hpp"

using namespace topo;
using namespace topo::test;

namespace {

node_class plain_class(std::string name) {
    node_class c;
    c.name = std::move(name);
    return c;
}

// A cluster of one class over the nodes that `f` names.
cluster over(fabric_description f) {
    cluster_description d;
    d.name = "c";
    d.classes = {plain_class("k")};
    d.nodes = {{"k", {}}};
    for (const auto& s : f.switches) d.nodes[0].nodes.insert(d.nodes[0].nodes.end(), s.nodes.begin(), s.nodes.end());
    d.fabric = std::move(f);
    auto built = cluster::build(std::move(d));
    REQUIRE_MESSAGE(built.has_value(), built.failure().message());
    return std::move(*built);
}

void round_trip(std::string_view text) {
    const auto first = read(format::slurm_topology, text);
    REQUIRE_MESSAGE(first.has_value(), first.failure().message());
    const auto out = to_slurm_topology(over(*first->fabric));
    REQUIRE_MESSAGE(out.has_value(), out.failure().message());
    const auto second = read(format::slurm_topology, out->text, true);
    REQUIRE_MESSAGE(second.has_value(), second.failure().message());
    CHECK(*second->fabric == *first->fabric);
}

node_class eight_gpus() {
    node_class c = plain_class("box");
    c.cores = 32;
    c.threads_per_core = 2;
    c.numa = {{0, *id_set::parse("0-15,32-47")}, {1, *id_set::parse("16-31,48-63")}};
    c.gpu_links = matrix<topo::link>(4, 4);
    for (std::size_t a = 0; a < 4; ++a) {
        gpu g;
        g.name = "GPU" + std::to_string(a);
        g.numa = a < 2 ? 0 : 1;
        g.cpus = c.numa[static_cast<std::size_t>(g.numa)].cpus;
        c.gpus.push_back(g);
        for (std::size_t b = 0; b < 4; ++b)
            c.gpu_links(a, b) = a == b           ? topo::link{link_class::self, 0}
                                : a / 2 == b / 2 ? topo::link{link_class::nvlink, 4}
                                                 : topo::link{link_class::sys, 0};
    }
    return c;
}

result<export_output> gres_of(node_class c, std::vector<std::string> nodes) {
    cluster_description d;
    d.name = "c";
    d.nodes = {{c.name, std::move(nodes)}};
    d.classes = {std::move(c)};
    auto built = cluster::build(std::move(d));
    REQUIRE_MESSAGE(built.has_value(), built.failure().message());
    return to_slurm_gres(*built);
}

}  // namespace

TEST_CASE("topology.conf: what is read back is equal") {
    round_trip(
        "SwitchName=root Switches=s[1-2]\nSwitchName=s1 Nodes=g[001-128]\nSwitchName=s2 Nodes=g[129-130],login,x7y\n");
    round_trip(
        "SwitchName=A Switches=a1\nSwitchName=a1 Nodes=n[1-4]\nSwitchName=B Switches=b1\nSwitchName=b1 Nodes=m[1-4]\n");
    round_trip("BlockName=b1 Nodes=n[01-18]\nBlockName=b2 Nodes=n[19-32]\nBlockSizes=18,36\n");
    round_trip("BlockName=b1 Nodes=n3,n1,n2\n");
    round_trip(
        "SwitchName=top Switches=mid\nSwitchName=mid Switches=low,side\nSwitchName=low Nodes=n9,n8\nSwitchName=side "
        "Nodes=q\n");
}

TEST_CASE("topology.conf: the text is what Slurm's manual shows") {
    const auto out = to_slurm_topology(over(
        *read(format::slurm_topology, "SwitchName=r Switches=a,b\nSwitchName=a Nodes=n1,n2,n3\nSwitchName=b Nodes=m1\n")
             ->fabric));
    REQUIRE(out.has_value());
    CHECK(out->text == "SwitchName=r Switches=a,b\nSwitchName=a Nodes=n[1-3]\nSwitchName=b Nodes=m1\n");
    CHECK(out->notes.empty());
}

TEST_CASE("topology.conf: what it cannot say is noted or refused") {
    fabric_description f;
    f.form = fabric_form::rail_optimised;
    f.switches = {{"top", {"leaf", "bare"}, {}, {}, "", ""},
                  {"leaf", {}, {"n1"}, 400.0, "dom", ""},
                  {"bare", {}, {}, {}, "", ""}};
    const auto out = to_slurm_topology(over(f));
    REQUIRE_MESSAGE(out.has_value(), out.failure().message());
    CHECK(out->text == "SwitchName=top Switches=leaf\nSwitchName=leaf Nodes=n1\n");
    CHECK(holds(out->notes, "uplink"));
    CHECK(holds(out->notes, "domain"));
    CHECK(holds(out->notes, "rail-optimised"));
    CHECK(holds(out->notes, "bare: a switch with nothing below it"));

    const auto unknown = to_slurm_topology(over({}));
    REQUIRE_FALSE(unknown.has_value());
    CHECK(unknown.failure().code == errc::bad_input);
    CHECK_FALSE(unknown.failure().remedy.empty());

    f.switches[1].name = "le af";
    f.switches[0].switches[0] = "le af";
    const auto blank = to_slurm_topology(over(f));
    REQUIRE_FALSE(blank.has_value());
    CHECK(blank.failure().what.find("le af") != std::string::npos);
}

TEST_CASE("topology.conf: nodes that hang nowhere are counted") {
    cluster_description d;
    d.name = "c";
    d.classes = {plain_class("k")};
    d.nodes = {{"k", {"n1", "n2", "n3"}}};
    d.fabric = *read(format::slurm_topology, "SwitchName=a Nodes=n1\n")->fabric;
    const auto built = cluster::build(std::move(d));
    REQUIRE(built.has_value());
    const auto out = to_slurm_topology(*built);
    REQUIRE(out.has_value());
    CHECK(holds(out->notes, "n2: 2 nodes of the cluster hang under no switch"));
}

TEST_CASE("gres.conf: core numbers without siblings, NVLink counts") {
    const auto out = gres_of(eight_gpus(), {"g01", "g02", "x"});
    REQUIRE_MESSAGE(out.has_value(), out.failure().message());
    CHECK(out->text ==
          "# box\n"
          "NodeName=g[01-02],x Name=gpu File=/dev/nvidia0 Cores=0-15 Links=-1,4,0,0\n"
          "NodeName=g[01-02],x Name=gpu File=/dev/nvidia1 Cores=0-15 Links=4,-1,0,0\n"
          "NodeName=g[01-02],x Name=gpu File=/dev/nvidia2 Cores=16-31 Links=0,0,-1,4\n"
          "NodeName=g[01-02],x Name=gpu File=/dev/nvidia3 Cores=16-31 Links=0,0,4,-1\n");
    CHECK(warnings(out->notes) == 0);
    const auto back = read(format::slurm_gres, out->text, true);
    REQUIRE_MESSAGE(back.has_value(), back.failure().message());
    CHECK(back->nodes[0].host == "g[01-02],x");
    CHECK(back->nodes[0].hardware.gpu_links == eight_gpus().gpu_links);
}

TEST_CASE("gres.conf: what is unknown is left out with a warning, never written as zero") {
    node_class c = eight_gpus();
    c.gpus[1].cpus = {};
    c.gpu_links(0, 1) = {link_class::unknown, 0};
    const auto out = gres_of(c, {"n1"});
    REQUIRE(out.has_value());
    CHECK(out->text.find("File=/dev/nvidia0 Cores=0-15\n") != std::string::npos);
    CHECK(out->text.find("File=/dev/nvidia1\n") != std::string::npos);
    CHECK(holds(out->notes, "Cores= is left out for GPU1"));
    CHECK(holds(out->notes, "Links= is left out"));
    c.cores = c.threads_per_core = 0;
    c.numa.clear();
    for (auto& g : c.gpus) g.numa = unknown_numa, g.cpus = *id_set::parse("0-7");
    const auto none = gres_of(c, {"n1"});
    REQUIRE(none.has_value());
    CHECK(none->text.find("Cores=") == std::string::npos);
    CHECK(holds(none->notes, "Cores= is left out: the numbers of cores"));
}

TEST_CASE("gres.conf: device numbers follow the GPU names, AMD has render nodes") {
    node_class c = eight_gpus();
    c.gpus[3].name = "GPU7";
    CHECK(gres_of(c, {"n1"})->text.find("/dev/nvidia7 Cores=16-31") != std::string::npos);
    c.gpus[3].name = "last";
    CHECK(gres_of(c, {"n1"})->text.find("/dev/nvidia3 ") != std::string::npos);
    c = eight_gpus();
    for (std::size_t a = 0; a < 4; ++a)
        for (std::size_t b = 0; b < 4; ++b)
            if (a != b) c.gpu_links(a, b) = {link_class::xgmi, 1};
    CHECK(gres_of(c, {"n1"})->text.find("File=/dev/dri/renderD128 Cores=0-15 Links=-1,1,1,1\n") != std::string::npos);
    CHECK_FALSE(gres_of(plain_class("nogpu"), {"n1"}).has_value());
}

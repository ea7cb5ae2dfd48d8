// SPDX-License-Identifier: Apache-2.0
#include "tests/topo/import_help.hpp"
#include "topo/node_class.hpp"

using namespace topo;
using namespace topo::test;

namespace {

void check_node(const node_description& n) {
    for (const auto& f : check(n.hardware)) CHECK_MESSAGE(f.level != severity::error, f.message());
}

}  // namespace

TEST_CASE("gres.conf: Links become NVLinks, zero is SYS") {
    const auto got = read(format::automatic, R"(# four GPUs in crossed pairs
NodeName=g[1-4] Name=gpu Type=a100 File=/dev/nvidia0 Cores=0-7 Links=-1,0,12,0
NodeName=g[1-4] Name=gpu Type=a100 File=/dev/nvidia1 COREs=0-7 Links=0,-1,0,12
NodeName=g[1-4] Name=gpu Type=a100 File=/dev/nvidia2 cores=[8-15] Links=12,0,-1,0
NodeName=g[1-4] Name=gpu Type=a100 File=/dev/nvidia3 Cores=8-15 Links=0,12,0,-1
)",
                          true);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->kind == format::slurm_gres);
    REQUIRE(got->nodes.size() == 1);
    const auto& n = got->nodes[0];
    CHECK(n.host == "g[1-4]");
    CHECK(holds(n.notes, "stands for 4 hosts"));
    REQUIRE(n.hardware.gpus.size() == 4);
    CHECK(n.hardware.gpus[3].name == "GPU3");
    CHECK(n.hardware.gpus[3].model == "a100");
    CHECK(n.hardware.gpus[2].cpus.text() == "8-15");
    CHECK(n.hardware.gpu_links(0, 2) == topo::link{link_class::nvlink, 12});
    CHECK(n.hardware.gpu_links(0, 1) == topo::link{link_class::sys, 0});
    CHECK(islands(n.hardware) == std::vector<gpu_mask>{0b0101, 0b1010});
    const auto* layer = n.hardware.best_layer(endpoint::gpu, endpoint::gpu);
    REQUIRE(layer != nullptr);
    CHECK(layer->cells(0, 2).from == source::estimated);
    CHECK(layer->cells(0, 2).gb_per_s > layer->cells(0, 1).gb_per_s);
    check_node(n);
}

TEST_CASE("gres.conf: one node a set of hosts with the same lines") {
    const auto got = read(format::slurm_gres, R"(AutoDetect=nvml
NodeName=a1 Name=gpu File=/dev/nvidia[0-1]
NodeName=b[1-2] Name=gpu File=/dev/nvidia[0,2-3]
NodeName=a2 Name=gpu File=/dev/nvidia[0-1]
NodeName=a1 Name=mps Count=100
NodeName=a1 Name=nic File=/dev/infiniband/uverbs0
)");
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    REQUIRE(got->nodes.size() == 2);
    CHECK(got->nodes[0].host == "a[1-2]");
    CHECK(got->nodes[1].host == "b[1-2]");
    CHECK(got->nodes[1].hardware.gpus[1].name == "GPU2");
    CHECK(got->nodes[1].hardware.gpu_links(0, 1).kind == link_class::unknown);
    CHECK(holds(got->notes, "AutoDetect=nvml"));
    CHECK(holds(got->notes, "1 line of gres 'mps' was not read"));
    CHECK(holds(got->notes, "1 line of gres 'nic' was not read"));
    for (const auto& n : got->nodes) check_node(n);
}

TEST_CASE("gres.conf: lines without NodeName hold for every node") {
    const auto alone = read(format::slurm_gres, "Name=gpu Count=2\n");
    REQUIRE(alone.has_value());
    CHECK(alone->nodes[0].host.empty());
    CHECK(alone->nodes[0].hardware.gpus.size() == 2);
    CHECK(holds(alone->nodes[0].notes, "no NodeName"));
    const auto both = read(format::slurm_gres, "Name=gpu File=/dev/nvidia0\nNodeName=x Name=gpu File=/dev/nvidia1\n");
    REQUIRE(both.has_value());
    REQUIRE(both->nodes.size() == 1);
    CHECK(both->nodes[0].hardware.gpus.size() == 2);
}

TEST_CASE("gres.conf: both hardware threads in a core list are explained, with the Cores= that is meant") {
    const auto got = read(format::slurm_gres,
                          "Name=gpu File=/dev/nvidia0 CPUs=8-15,40-47\nName=gpu File=/dev/nvidia1 CPUs=0-7,32-39\n");
    REQUIRE(got.has_value());
    const auto& n = got->nodes[0];
    CHECK(n.hardware.cores == 32);
    CHECK(n.hardware.threads_per_core == 2);
    CHECK(n.hardware.gpus[0].cpus.text() == "8-15,40-47");
    CHECK(holds(n.notes, "in.txt:1: CPUs=8-15,40-47 names both hardware threads"));
    CHECK(holds(n.notes, "invalid GRES core specification; write Cores=8-15"));
    CHECK(holds(n.notes, "write Cores=0-7"));
    // Core numbers that merely have a gap are left alone.
    const auto gap =
        read(format::slurm_gres, "Name=gpu File=/dev/nvidia0 Cores=0,2\nName=gpu File=/dev/nvidia1 Cores=8-15\n");
    REQUIRE(gap.has_value());
    CHECK(gap->nodes[0].hardware.cores == 0);
    CHECK(warnings(gap->nodes[0].notes) == 0);
}

TEST_CASE("gres.conf: faults of Links have line and column") {
    const auto get = [](std::string_view text) { return read(format::slurm_gres, text); };
    check_error(get("Name=gpu File=/dev/nvidia0 Links=-1,,4\n"), "in.txt:1:37", "empty number");
    check_error(get("Name=gpu File=/dev/nvidia0 Links=-1,x\n"), "in.txt:1:37", "'x'");
    check_error(get("Name=gpu File=/dev/nvidia0 Links=-1,1e9\n"), "in.txt:1:37", "'1e9'");
    check_error(get("Name=gpu File=/dev/nvidia0 Links=-1,-2\n"), "in.txt:1:37", "'-2'");
    check_error(get("Name=gpu File=/dev/nvidia[0-1] Links=-1,4,4\n"), "in.txt:1:38", "3 numbers, the node has 2");
    check_error(get("Name=gpu File=/dev/nvidia[0-1] Links=4,4\n"), "in.txt:1:38", "exactly one -1");
    check_error(get("Name=gpu File=/dev/nvidia[0-1] Links=-1,4\n"), "in.txt:1:38", "same position");
    const auto order = get("Name=gpu File=/dev/nvidia1 Links=4,-1\nName=gpu File=/dev/nvidia0 Links=-1,4\n");
    REQUIRE(order.has_value());
    CHECK(order->nodes[0].hardware.gpus[0].name == "GPU0");
    const auto odd = get("Name=gpu File=/dev/nvidia0 Links=-1,4\nName=gpu File=/dev/nvidia1 Links=2,-1\n");
    REQUIRE(odd.has_value());
    CHECK(holds(odd->nodes[0].notes, "in.txt:2:34: Links of GPU1 and GPU0 disagree: NV2 one way, NV4 the other"));
}

TEST_CASE("gres.conf: Links of zeros only on four GPUs are doubted") {
    std::string text;
    for (int i = 0; i < 4; ++i) {
        text += "Name=gpu File=/dev/nvidia" + std::to_string(i) + " Links=";
        for (int k = 0; k < 4; ++k) text += std::string(k > 0 ? "," : "") + (i == k ? "-1" : "0");
        text += '\n';
    }
    const auto got = read(format::slurm_gres, text);
    REQUIRE(got.has_value());
    CHECK(holds(got->nodes[0].notes, "if the machine has NVLink"));
    CHECK_FALSE(read(format::slurm_gres, text, true).has_value());
}

TEST_CASE("gres.conf: AMD devices are numbered from render node 128 and joined by xGMI") {
    const auto got =
        read(format::slurm_gres,
             "Name=gpu File=/dev/dri/renderD128 Links=-1,1\nName=gpu File=/dev/dri/renderD129 Links=1,-1\n");
    REQUIRE(got.has_value());
    CHECK(got->nodes[0].hardware.gpus[1].name == "GPU1");
    CHECK(got->nodes[0].hardware.gpu_links(0, 1) == topo::link{link_class::xgmi, 1});
}

TEST_CASE("gres.conf: hostile and broken") {
    const auto get = [](std::string_view text) { return read(format::slurm_gres, text); };
    check_error(get("Name=gpu File=/dev/nvidia[0-3] Cores=8-0\n"), "in.txt:1:38", "8-0");
    check_error(get("Name=gpu File=/dev/nvidia0 Cores=nan\n"), "in.txt:1:34", "nan");
    check_error(get("Name=gpu File=/dev/nvidia0 Cores=0-99999999999\n"), "in.txt:1:34", "9999");
    check_error(get("Name=gpu File=/dev/nvidia[0-1\n"), "in.txt:1:26", "never closed");
    check_error(get("Name=gpu File=/dev/nvidia0\nName=gpu File=/dev/nvidia0\n"), "in.txt:2",
                "already named at in.txt:1");
    check_error(get("Name=gpu Count=-1\n"), "in.txt:1:16", "Count=-1");
    check_error(get("File=/dev/nvidia0\n"), "in.txt:1", "without Name=");
    check_error(get("AutoDetect=nvml\n"), "in.txt", "no line names a GPU");
    check_error(get("{% if x %}\nAutoDetect=nvml\n"), "in.txt:1:1", "template");
    check_error(get("Name=gpu File=/dev/nvidia[0-64]\n"), "in.txt:1", "more than 64");
    check_error(get("Name=gpu File=/dev/nvidia[0-999999]\n"), "in.txt:1", "more than 64");
    read_cut(format::slurm_gres,
             "NodeName=g[1-2] Name=gpu File=/dev/nvidia[0-1] CPUs=0-3,8-11 Count=2 Flags=x AutoDetect=off\n");
    const auto most = get("Name=gpu File=/dev/nvidia[0-63]\n");
    REQUIRE(most.has_value());
    check_node(most->nodes[0]);
}

TEST_CASE("gres.conf: 100,000 hosts of 1,000 equal lines are one node, and a thousand kinds are the limit") {
    std::string text;
    for (int i = 0; i < 1000; ++i)
        text += "NodeName=h" + std::to_string(i) + "x[0-99] Name=gpu File=/dev/nvidia[0-7]\n";
    const auto got = read(format::slurm_gres, text);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->nodes.size() == 1);
    text.clear();
    for (int i = 0; i < 2000; ++i)
        text += "NodeName=h" + std::to_string(i) + " Name=gpu Type=t" + std::to_string(i) + " File=/dev/nvidia0\n";
    const auto many = read(format::slurm_gres, text);
    REQUIRE_FALSE(many.has_value());
    CHECK(many.failure().code == errc::limit);
}

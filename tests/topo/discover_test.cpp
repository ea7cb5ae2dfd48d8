// SPDX-License-Identifier: Apache-2.0
#include "topo/discover/discover.hpp"

#include <sys/stat.h>

#include "tests/topo/fake_sysfs.hpp"
#include "tests/topo/import_help.hpp"

using namespace topo;
using namespace topo::test;

namespace {

constexpr const char* gpu_class = "0x030200";
constexpr const char* nvidia = "0x10de";
constexpr const char* ib_class = "0x020700";
constexpr const char* mellanox = "0x15b3";

node_description found(const fake_sysfs& s) {
    auto got = discover(s.options());
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    for (const auto& f : check(got->hardware)) CHECK_MESSAGE(f.level != severity::error, f.message());
    return std::move(*got);
}

// Two sockets; a switch with GPU and NIC on each of two root ports of socket 0, one GPU on socket 1.
void build_box(const fake_sysfs& s) {
    s.numa(0, "0-3,8-11", "10 21");
    s.numa(1, "4-7,12-15", "21 10");
    s.cpus(8, 2);
    const std::string a = "pci0000:16/0000:16:01.0/0000:17:00.0/";  // upstream port of a switch
    s.pci(a + "0000:18:00.0/0000:19:00.0", gpu_class, nvidia, 0);
    s.pci(a + "0000:18:01.0/0000:1a:00.0", ib_class, mellanox, 0);
    s.pci(a + "0000:18:02.0/0000:1b:00.0/0000:1c:00.0/0000:1d:00.0", gpu_class, nvidia, 0);  // a second switch below
    s.pci("pci0000:16/0000:16:02.0/0000:2a:00.0", gpu_class, nvidia, 0);
    s.pci("pci0000:32/0000:32:01.0/0000:33:00.0", gpu_class, nvidia, 0);
    s.pci("pci0000:96/0000:96:01.0/0000:97:00.0", gpu_class, nvidia, 1);
    s.verbs("mlx5_0", a + "0000:18:01.0/0000:1a:00.0", "400 Gb/sec (4X NDR)");
    s.file("proc/sys/kernel/hostname", "box1\n");
}

}  // namespace

TEST_CASE("discover: devices, link classes, NUMA nodes and cores of a two-socket box") {
    fake_sysfs s;
    build_box(s);
    const auto n = found(s);
    CHECK(n.host == "box1");
    const auto& h = n.hardware;
    CHECK(h.cores == 8);
    CHECK(h.threads_per_core == 2);
    REQUIRE(h.gpus.size() == 5);
    CHECK(h.gpus[0].name == "GPU0");
    CHECK(h.gpus[0].pci->text() == "0000:19:00.0");
    CHECK(h.gpus[0].numa == 0);
    CHECK(h.gpus[0].cpus.text() == "0-3,8-11");
    CHECK(h.gpus[4].numa == 1);
    CHECK(h.gpu_links(0, 0).kind == link_class::self);
    CHECK(h.gpu_links(0, 1).kind == link_class::pxb);
    CHECK(h.gpu_links(0, 2).kind == link_class::phb);
    CHECK(h.gpu_links(0, 3).kind == link_class::node);
    CHECK(h.gpu_links(0, 4).kind == link_class::sys);
    REQUIRE(h.nics.size() == 1);
    CHECK(h.nics[0].name == "mlx5_0");
    CHECK(h.nics[0].gb_per_s == doctest::Approx(50.0));
    CHECK(h.nics[0].guid == "e09d730000000001");
    CHECK(h.nics[0].compute);
    CHECK(h.nic_links(0, 0).kind == link_class::pix);
    CHECK(h.nic_links(4, 0).kind == link_class::sys);
    CHECK(h.worst_source() == source::estimated);
    CHECK(holds(n.notes, "NVLink and xGMI are not seen"));
}

TEST_CASE("discover: the NVIDIA driver's /proc gives model, UUID, minor and version") {
    fake_sysfs s;
    build_box(s);
    const char* places[] = {"0000:19:00.0", "0000:1d:00.0", "0000:2a:00.0", "0000:33:00.0", "0000:97:00.0"};
    const int minors[] = {3, 1, 0, 2, 4};
    for (int i = 0; i < 5; ++i)
        s.file(std::string("proc/driver/nvidia/gpus/") + places[i] + "/information",
               "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ: 5\nGPU UUID: \t GPU-0000000" + std::to_string(i) +
                   "\nDevice Minor: \t " + std::to_string(minors[i]) + "\n");
    s.file("proc/driver/nvidia/version",
           "NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19\nGCC version: 12.2.0\n");
    const auto n = found(s);
    CHECK(n.hardware.made_by.driver == "535.129.03");
    CHECK(n.hardware.name == "nvidia-h100-80gb-hbm3-x5");
    CHECK(n.hardware.gpus[0].pci->text() == "0000:2a:00.0");
    CHECK(n.hardware.gpus[3].name == "GPU3");
    CHECK(n.hardware.gpus[3].uuid == "GPU-00000000");
    CHECK(n.hardware.gpus[3].model == "NVIDIA H100 80GB HBM3");
}

TEST_CASE("discover: numa_node -1 is unknown, never node 0") {
    fake_sysfs s;
    s.numa(0, "0-7");
    s.pci("pci0000:00/0000:00:07.0", gpu_class, nvidia, -1);
    s.pci("pci0000:00/0000:00:08.0", gpu_class, nvidia, -1);
    const auto n = found(s);
    REQUIRE(n.hardware.gpus.size() == 2);
    for (const auto& g : n.hardware.gpus) {
        CHECK(g.numa == unknown_numa);
        CHECK(g.cpus.empty());
    }
    CHECK(n.hardware.gpu_links(0, 1).kind == link_class::phb);
    CHECK(holds(n.notes, "GPU0: locality unknown"));
}

TEST_CASE("discover: three devices of a guest on one flat bus are not trusted") {
    fake_sysfs s;
    for (const char* a : {"04", "05", "06"})
        s.pci(std::string("pci0000:00/0000:00:") + a + ".0", gpu_class, nvidia, -1);
    const auto n = found(s);
    CHECK_FALSE(n.hardware.locality_trusted);
    CHECK(holds(n.notes, "locality not trusted"));
}

TEST_CASE("discover: a NIC without link speed stays, its speed unknown and not 0") {
    fake_sysfs s;
    s.numa(0, "0-7");
    s.pci("pci0000:00/0000:00:04.0", gpu_class, nvidia, 0);
    for (const char* a : {"0c", "0d"}) {
        const std::string place = std::string("pci0000:00/0000:00:") + a + ".0";
        s.file("sys/devices/" + place + "/class", "0x020000\n");
        s.file("sys/devices/" + place + "/numa_node", "0\n");
        s.link(std::string("sys/bus/pci/devices/0000:00:") + a + ".0", "../../../devices/" + place);
    }
    s.verbs("mlx5_0", "pci0000:00/0000:00:0c.0", "");
    s.verbs("mlx5_1", "pci0000:00/0000:00:0d.0", "200 Gb/sec (4X HDR)");
    const auto n = found(s);
    REQUIRE(n.hardware.nics.size() == 2);
    CHECK_FALSE(n.hardware.nics[0].gb_per_s.has_value());
    CHECK(n.hardware.nics[1].gb_per_s == doctest::Approx(25.0));
    CHECK(holds(n.notes, "mlx5_0: its speed is unknown (the rate of port 1 cannot be read), which is not 0"));
    CHECK(holds(n.notes, "mlx5_0: the speed or width of its PCIe link cannot be read"));
    CHECK(n.hardware.best_layer(endpoint::gpu, endpoint::nic) != nullptr);
}

TEST_CASE("discover: ports that are down, broken rates") {
    for (const char* rate : {"nan Gb/sec", "-5 Gb/sec", "0 Gb/sec", "inf Gb/sec", "400", "400 Mb/sec", "x"}) {
        fake_sysfs s;
        s.pci("pci0000:00/0000:00:0c.0", ib_class, mellanox, 0);
        s.verbs("mlx5_0", "pci0000:00/0000:00:0c.0", rate);
        CHECK_FALSE(found(s).hardware.nics.at(0).gb_per_s.has_value());
    }
    fake_sysfs s;
    s.pci("pci0000:00/0000:00:0c.0", ib_class, mellanox, 0);
    s.verbs("mlx5_0", "pci0000:00/0000:00:0c.0", "10 Gb/sec (4X SDR)");
    s.file("sys/devices/pci0000:00/0000:00:0c.0/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
    const auto n = found(s);
    CHECK_FALSE(n.hardware.nics.at(0).gb_per_s.has_value());
    CHECK(holds(n.notes, "port 1 is not active"));
}

TEST_CASE("discover: network interfaces on PCI are a fallback, virtual ones are none") {
    fake_sysfs s;
    s.pci("pci0000:00/0000:00:03.0", "0x020000", "0x1af4", 0);
    s.folder("sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0");
    s.link("sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/device", "../../../virtio0");
    s.file("sys/devices/pci0000:00/0000:00:03.0/virtio0/net/eth0/speed", "100000\n");
    s.link("sys/class/net/eth0", "../../devices/pci0000:00/0000:00:03.0/virtio0/net/eth0");
    s.folder("sys/devices/virtual/net/lo");
    s.link("sys/class/net/lo", "../../devices/virtual/net/lo");
    const auto n = found(s);
    REQUIRE(n.hardware.nics.size() == 1);
    CHECK(n.hardware.nics[0].name == "eth0");
    CHECK(n.hardware.nics[0].pci->text() == "0000:00:03.0");
    CHECK(n.hardware.nics[0].gb_per_s == doctest::Approx(12.5));
    CHECK(n.hardware.nics[0].compute);
    CHECK(holds(n.notes, "no GPU found"));
}

TEST_CASE("discover: only the NUMA node with CPUs counts; GPU memory nodes lend it their nearness") {
    fake_sysfs s;
    s.numa(0, "0-71", "10 80 80");
    s.numa(1, "", "80 10 80");
    s.numa(2, "", "80 80 10");
    s.pci("pci0009:00/0009:00:00.0/0009:01:00.0", gpu_class, nvidia, 1);
    const auto n = found(s);
    REQUIRE(n.hardware.numa.size() == 3);
    CHECK(n.hardware.numa_has_cpus(0));
    CHECK_FALSE(n.hardware.numa_has_cpus(1));
    CHECK(n.hardware.gpus.at(0).numa == 0);
    CHECK(n.hardware.gpus.at(0).cpus.text() == "0-71");
}

TEST_CASE("discover: VMD domains keep 32 bits and do not mix with domain 0") {
    fake_sysfs s;
    s.numa(0, "0-7");
    s.pci("pci0000:16/0000:16:05.5/pci10000:00/10000:00:02.0", "0x060400", "0x8086", 0);
    s.pci("pci0000:16/0000:16:05.5/pci10000:00/10000:00:02.0/10000:01:00.0", "0x010802", "0x144d", 0);
    s.pci("pci0000:00/0000:00:02.0", gpu_class, nvidia, 0);
    const auto n = found(s);
    REQUIRE(n.hardware.gpus.size() == 1);
    CHECK(n.hardware.gpus[0].pci->text() == "0000:00:02.0");
    CHECK(n.hardware.nics.empty());
    fake_sysfs vmd;
    vmd.pci("pci0000:16/0000:16:05.5/pci10000:00/10000:00:02.0/10000:01:00.0", gpu_class, nvidia, 0);
    vmd.pci("pci0000:16/0000:16:05.5/pci10000:00/10000:00:03.0/10000:02:00.0", gpu_class, nvidia, 0);
    const auto m = found(vmd);
    CHECK(m.hardware.gpus.at(0).pci->text() == "10000:01:00.0");
    CHECK(m.hardware.gpu_links(0, 1).kind == link_class::phb);
}

TEST_CASE("discover: AMD accelerators count, board graphics and GPU virtual functions do not") {
    fake_sysfs s;
    s.pci("pci0000:00/0000:00:01.0", "0x120000", "0x1002", 0);
    s.pci("pci0000:00/0000:00:02.0", "0x030000", "0x1002", 0);
    s.pci("pci0000:00/0000:00:03.0", "0x030000", "0x1a03", 0);
    s.pci("pci0000:00/0000:00:04.0", "0x068000", nvidia, 0);
    s.pci("pci0000:00/0000:00:05.0", gpu_class, nvidia, 0);
    s.link("sys/devices/pci0000:00/0000:00:05.0/physfn", "../0000:00:01.0");
    s.file("sys/devices/pci0000:00/0000:00:01.0/product_name", "AMD Instinct MI300X\n");
    const auto n = found(s);
    REQUIRE(n.hardware.gpus.size() == 1);
    CHECK(n.hardware.gpus[0].model == "AMD Instinct MI300X");
    CHECK(holds(n.notes, "1 virtual function of a GPU was left out"));
}

TEST_CASE("discover: a link with half its lanes is a warning") {
    fake_sysfs s;
    s.pci("pci0000:00/0000:00:01.0/0000:01:00.0", gpu_class, nvidia, 0);
    s.file("sys/devices/pci0000:00/0000:00:01.0/0000:01:00.0/current_link_width", "8\n");
    CHECK(holds(found(s).notes, "GPU0: its PCIe link runs with 8 of 16 lanes"));
}

TEST_CASE("discover: hostile trees") {
    fake_sysfs s;
    s.numa(0, "0-7");
    s.pci("pci0000:00/0000:00:01.0", gpu_class, nvidia, 0);
    s.link("sys/bus/pci/devices/0000:00:09.0", "0000:00:0a.0");  // a loop
    s.link("sys/bus/pci/devices/0000:00:0a.0", "0000:00:09.0");
    s.link("sys/bus/pci/devices/0000:00:0b.0", "/nowhere");
    s.file("sys/bus/pci/devices/garbage", "x");
    s.file("sys/bus/pci/devices/0000:00:0c.0/class", std::string(1 << 20, '3'));  // huge
    s.file("sys/bus/pci/devices/0000:00:0d.0/class", std::string("0x03\0"
                                                                 "0200",
                                                                 9));  // a NUL
    s.folder("sys/bus/pci/devices/0000:00:0e.0/class");                // a folder for a file
    s.file("sys/bus/pci/devices/0000:00:0f.0/class", "0x030200\n");    // no place in the tree
    s.file("sys/bus/pci/devices/0000:00:0f.0/vendor", "0x10de\n");
    s.file("sys/bus/pci/devices/0000:00:0f.0/numa_node", "99999999999999999999\n");
    s.file("sys/devices/system/node/node7/cpulist", "5-1\n");
    s.file("sys/devices/system/node/node99999999999/cpulist", "0\n");
    s.file("sys/devices/system/node/nodes/cpulist", "0\n");
    s.file("sys/devices/system/cpu/cpu0/topology/thread_siblings_list", "zero\n");
    s.link("sys/class/infiniband/loop", "loop");
    s.file("sys/class/infiniband/odd\x1b[31m/ports/1/rate", "400 Gb/sec\n");
    s.file("sys/class/net/plain", "x");
    const auto options = s.options();
    REQUIRE(::mkfifo((options.sysfs_root + "/devices/system/node/node0/distance").c_str(), 0600) ==
            0);  // must not wait
    const auto n = found(s);
    REQUIRE(n.hardware.gpus.size() == 2);
    CHECK(n.hardware.gpus[1].numa == unknown_numa);
    CHECK(n.hardware.gpu_links(0, 1).kind == link_class::unknown);
    CHECK(n.hardware.cores == 0);
    CHECK(holds(n.notes, "numbers of cores and threads are unknown"));
    for (const auto& nic : n.hardware.nics) CHECK(nic.name.find('\x1b') == std::string::npos);
    CHECK(n.hardware.nics.size() == 2);
}

TEST_CASE("discover: more than 64 GPUs are cut with a warning") {
    fake_sysfs s;
    for (int i = 0; i < 70; ++i) {
        const std::string bus = std::string(1, "0123456789abcdef"[i / 16]) + "0123456789abcdef"[i % 16];
        s.pci("pci0000:00/0000:" + bus + ":00.0", gpu_class, nvidia, 0);
    }
    const auto n = found(s);
    CHECK(n.hardware.gpus.size() == 64);
    CHECK(holds(n.notes, "6 GPUs beyond the first 64"));
}

TEST_CASE("discover: a folder that is not there is an error; this machine is none") {
    const auto none = discover({"/nowhere/at/all", "/proc", false});
    REQUIRE_FALSE(none.has_value());
    CHECK(none.failure().code == errc::io);
    CHECK(none.failure().where == "/nowhere/at/all");
    const auto here = discover({});
    REQUIRE_MESSAGE(here.has_value(), here.failure().message());
    CHECK(here->hardware.cores > 0);
    for (const auto& f : check(here->hardware)) CHECK_MESSAGE(f.level != severity::error, f.message());
}

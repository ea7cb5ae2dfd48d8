// SPDX-License-Identifier: Apache-2.0
// What a container gets with its devices.
#include "k8s-device-plugin/allocation.hpp"

#include <doctest/doctest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "../placement/boards.hpp"
#include "k8s-device-plugin/cdi.hpp"
#include "support.hpp"
#include "topo/file.hpp"

using namespace kube_test;
using kube::allocate;

namespace {

// sysfs with an RDMA device a NIC: nicN has uverbs(N + 3).
void make_verbs(const folder& at, unsigned nics) {
    for (unsigned i = 0; i < nics; ++i)
        std::filesystem::create_directories(at.path() + "/class/infiniband/nic" + std::to_string(i) +
                                            "/device/infiniband_verbs/uverbs" + std::to_string(i + 3));
}

std::vector<std::string_view> views(const std::vector<std::string>& ids) { return {ids.begin(), ids.end()}; }

bool has_file(const kube::allocation& a, const std::string& path) {
    return std::any_of(a.files.begin(), a.files.end(), [&](const auto& f) { return f.container_path == path; });
}

}  // namespace

TEST_CASE("each GPU brings its NIC: files, NCCL and UCX") {
    const folder sysfs;
    make_verbs(sysfs, 8);
    kube::settings s;
    s.sysfs_root = sysfs.path();
    const auto node = inventory_of(boards::with_nics(four_pairs()), s);
    const std::vector<std::string> ids = {"GPU-03", "GPU-02"};
    const auto got = allocate(node, s, views(ids));
    REQUIRE(got);
    CHECK(got->environment.at("NVIDIA_VISIBLE_DEVICES") == "GPU-02,GPU-03");
    CHECK(got->environment.at("NCCL_IB_HCA") == "=nic2,nic3");
    CHECK(got->environment.at("UCX_NET_DEVICES") == "nic2:1,nic3:1");
    CHECK(got->environment.at("ATOLL_GPUS") == "GPU2,GPU3");
    CHECK(got->environment.at("ATOLL_NICS") == "nic2,nic3");
    CHECK(got->environment.at("ATOLL_RING") == "0,1");
    CHECK(got->environment.at("ATOLL_CPU_NUMA") == "0");
    CHECK(has_file(*got, "/dev/infiniband/uverbs5"));
    CHECK(has_file(*got, "/dev/infiniband/uverbs6"));
    CHECK(has_file(*got, "/dev/infiniband/rdma_cm"));
    CHECK(!has_file(*got, "/dev/nvidia2"));
    s.nics = false;
    const auto without = allocate(node, s, views(ids));
    REQUIRE(without);
    CHECK(!without->environment.contains("NCCL_IB_HCA"));
    CHECK(without->files.empty());
}

TEST_CASE("case 20: GPUs of several NUMA nodes name the CPU node of most of them") {
    auto board = boards::switched("three", 3);
    board.gpus[0].numa = 0;
    board.gpus[1].numa = board.gpus[2].numa = 1;
    kube::settings s;
    const std::vector<std::string> ids = {"GPU-00", "GPU-01", "GPU-02"};
    CHECK(allocate(inventory_of(board), s, views(ids))->environment.at("ATOLL_CPU_NUMA") == "1");
    for (auto& g : board.gpus) g.numa = topo::unknown_numa;
    CHECK(!allocate(inventory_of(board), s, views(ids))->environment.contains("ATOLL_CPU_NUMA"));
}

TEST_CASE("strategies: indices, mounts, CDI annotations and names, device files") {
    kube::settings s;
    const auto node = inventory_of(four_pairs());
    const std::vector<std::string> ids = {"GPU-04", "GPU-05"};
    s.ids = kube::id_strategy::index;
    CHECK(allocate(node, s, views(ids))->environment.at("NVIDIA_VISIBLE_DEVICES") == "4,5");
    s.ids = kube::id_strategy::uuid;
    s.list = {.envvar = false, .volume_mounts = true, .cdi_annotations = true, .cdi_cri = true};
    s.pass_device_specs = true;
    s.nccl_topo_file = "/etc/atoll/nccl.xml";
    auto got = allocate(node, s, views(ids));
    REQUIRE(got);
    CHECK(got->environment.at("NVIDIA_VISIBLE_DEVICES") == "/var/run/nvidia-container-devices");
    REQUIRE(got->mounts.size() == 3);
    CHECK(got->mounts[0].container_path == "/var/run/nvidia-container-devices/GPU-04");
    CHECK(got->mounts[0].host_path == "/dev/null");
    CHECK(got->mounts[2].host_path == "/etc/atoll/nccl.xml");
    CHECK(got->environment.at("NCCL_TOPO_FILE") == got->mounts[2].container_path);
    CHECK(got->annotations.at("cdi.k8s.io/atoll.dev_gpu") == "atoll.dev/gpu=GPU-04,atoll.dev/gpu=GPU-05");
    CHECK(got->cdi == std::vector<std::string>{"atoll.dev/gpu=GPU-04", "atoll.dev/gpu=GPU-05"});
    CHECK(has_file(*got, "/dev/nvidia4"));
    s.list = {.envvar = false};
    got = allocate(node, s, views(ids));
    CHECK(!got->environment.contains("NVIDIA_VISIBLE_DEVICES"));
    CHECK(got->cdi.empty());
    CHECK(got->annotations.empty());
}

TEST_CASE("an unknown device is an error that names it; slices count as their GPU") {
    kube::settings s;
    s.replicas = 3;
    const auto node = inventory_of(four_pairs(), s);
    const std::vector<std::string> slices = {"GPU-01::0", "GPU-01::2"};
    CHECK(allocate(node, s, views(slices))->environment.at("NVIDIA_VISIBLE_DEVICES") == "GPU-01");
    const std::vector<std::string> unknown = {"GPU-01::0", "GPU-01\n::9"};
    const auto got = allocate(node, s, views(unknown));
    REQUIRE(!got);
    CHECK(got.failure().message().find("GPU-01?::9") != std::string::npos);
}

TEST_CASE("CDI: the specification names every GPU and every file, and is what Allocate refers to") {
    const folder at;
    kube::settings s;
    s.cdi_dir = at.path() + "/cdi";
    s.list.cdi_cri = true;
    auto board = node_of(four_pairs());
    board.hardware.gpus[0].uuid = "_odd id/";
    auto node = kube::inventory::make(board, nullptr, s);
    REQUIRE(node);
    REQUIRE(kube::write_cdi(*node, s));
    const auto text = topo::read_file(s.cdi_dir + "/atoll.dev-gpu.json");
    REQUIRE(text);
    const auto spec = nlohmann::json::parse(*text);
    CHECK(spec["cdiVersion"] == "0.5.0");
    CHECK(spec["kind"] == "atoll.dev/gpu");
    REQUIRE(spec["devices"].size() == 8);
    CHECK(spec["devices"][0]["name"] == "gpu_odd_id");
    CHECK(spec["devices"][1]["name"] == "GPU-01");
    CHECK(spec["devices"][1]["containerEdits"]["deviceNodes"][0]["path"] == "/dev/nvidia1");
    const std::vector<std::string> ids = {"_odd id/"};
    CHECK(allocate(*node, s, views(ids))->cdi.front() == "atoll.dev/gpu=gpu_odd_id");
    s.list.cdi_cri = false;
    s.cdi_dir = at.path() + "/none";
    REQUIRE(kube::write_cdi(*node, s));
    CHECK(!std::filesystem::exists(s.cdi_dir));
    s.list.cdi_cri = true;
    s.cdi_dir = "/proc/no-such-place";
    CHECK(!kube::write_cdi(*node, s));
}

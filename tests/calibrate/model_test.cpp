// SPDX-License-Identifier: Apache-2.0
#include "calibrate/model.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <string>

#include "calibrate/embedded_models.hpp"
#include "calibrate/simulated.hpp"

using calibrate::parse_model;

namespace {

const std::string small = R"(apiVersion: atoll/v1
kind: Machine
name: tiny
description: two GPUs, one NIC
cores: 8
threads_per_core: 2
pcie_generation: 4
nvlinks_per_gpu: 4
numa:
  - {id: 0, cpus: "0-15"}
gpus:
  - {name: GPU0, model: Test GPU, pci: "0000:01:00.0", numa: 0}
  - {name: GPU1, model: Test GPU, pci: "0000:02:00.0", numa: 0}
nics:
  - {name: mlx5_0, model: Test NIC, pci: "0000:03:00.0", numa: 0, gb_per_s: 25}
links: |
  from GPU0 GPU1 mlx5_0
  GPU0 X    NV4  PIX
  GPU1 NV4  X    PIX
paths:
  gpu-gpu:
    NV:
      ce: {alpha_us: 2, gb_per_s_per_link: 20}
      sm-copy: {alpha_us: 2, gb_per_s_per_link: 19}
      sm-flag: {alpha_us: 1}
    NODE:
      ce: {alpha_us: 9, gb_per_s: 20}
      sm-copy: {alpha_us: 9, gb_per_s: 19}
      sm-flag: {alpha_us: 2}
  gpu-nic:
    PIX:
      rdma-write: {alpha_us: 2, gb_per_s: 24}
      rdma-read: {alpha_us: 3, gb_per_s: 24}
  nic-gpu:
    PIX:
      rdma-write: {alpha_us: 2, gb_per_s: 24}
      rdma-read: {alpha_us: 3, gb_per_s: 24}
  host-gpu:
    NODE:
      ce: {alpha_us: 3, gb_per_s: 26}
  gpu-host:
    NODE:
      ce: {alpha_us: 3, gb_per_s: 26}
noise: {sigma: 0.01, outliers: 0.01, outlier_factor: [1.5, 4], jitter_us: 0.1, timer_us: 0.5}
shared: {bridge_gb_per_s: 50, socket_gb_per_s: 40}
)";

std::string with(const std::string& from, const std::string& to) {
    std::string text = small;
    const auto at = text.find(from);
    REQUIRE(at != std::string::npos);
    return text.replace(at, from.size(), to);
}

int line_of(const std::string& needle) {
    const auto at = small.find(needle);
    REQUIRE(at != std::string::npos);
    return static_cast<int>(std::count(small.begin(), small.begin() + static_cast<std::ptrdiff_t>(at), '\n')) + 1;
}

}  // namespace

TEST_CASE("the small model reads as written") {
    const auto m = parse_model(small, "tiny.yaml");
    if (!m) FAIL(m.failure().message());
    CHECK(m->hardware.gpus.size() == 2);
    CHECK(m->hardware.gpu_links(0, 1) == topo::link{topo::link_class::nvlink, 4});
    CHECK(m->hardware.gpus[0].cpus.size() == 16);
    CHECK(m->hardware.gpus[0].uuid != m->hardware.gpus[1].uuid);
    using topo::endpoint;
    const auto path = path_between(*m, {endpoint::gpu, 0}, {endpoint::gpu, 1}, m->hardware.gpu_links(0, 1),
                                   topo::engine::copy_engine);
    REQUIRE(path);
    CHECK(path->gb_per_s == 80);
}

TEST_CASE("every built-in model reads, passes the class check, and has its picture") {
    std::set<std::string> names;
    for (const auto& m : calibrate::embedded_models()) {
        const auto parsed = parse_model(m.text, std::string(m.name));
        if (!parsed) FAIL(parsed.failure().message());
        CHECK(parsed->name == m.name);
        CHECK(topo::check(parsed->hardware).empty());
        CHECK(m.text.find("\n#") != std::string_view::npos);
        names.insert(parsed->name);
    }
    CHECK(names == std::set<std::string>{"dgx-a100", "dgx-h100", "dgx1-v100", "gb200-nvl72-tray", "l40s-pcie-8"});
    CHECK(calibrate::simulated_models().size() == names.size());
}

TEST_CASE("the shapes of the built-in models") {
    for (const auto& m : calibrate::embedded_models()) {
        const auto parsed = parse_model(m.text, std::string(m.name));
        REQUIRE(parsed);
        const auto& hw = parsed->hardware;
        if (m.name == "dgx-h100") {
            CHECK(hw.nics.size() == 12);
            CHECK(std::count_if(hw.nics.begin(), hw.nics.end(), [](const topo::nic& n) { return n.compute; }) == 8);
        }
        if (m.name == "dgx1-v100") {
            CHECK(topo::islands(hw).size() == 1);
            CHECK(hw.gpu_links(0, 5).kind == topo::link_class::sys);
            for (std::size_t a = 0; a < 8; ++a) {
                int links = 0;
                for (std::size_t b = 0; b < 8; ++b) links += hw.gpu_links(a, b).count;
                CHECK(links == 6);
            }
        }
        if (m.name == "l40s-pcie-8") CHECK(topo::islands(hw).size() == 8);
        if (m.name == "gb200-nvl72-tray") {
            CHECK(hw.numa.size() == 6);
            CHECK(hw.numa_has_cpus(0));
            CHECK_FALSE(hw.numa_has_cpus(10));
        }
    }
}

TEST_CASE("wrong models: the line, what is wrong, and a remedy") {
    struct wrong {
        std::string from, to, at;
    };
    const wrong cases[] = {
        {"cores: 8", "cores: many", "cores: 8"},
        {"cores: 8", "cores: -8", "cores: 8"},
        {"cores: 8", "cores: 8.5", "cores: 8"},
        {"cores: 8", "corez: 8", "cores: 8"},
        {"cores: 8", "cores: 8\ncores: 8", "threads_per_core"},
        {"gb_per_s: 25}", "gb_per_s: .nan}", "mlx5_0, model"},
        {"gb_per_s: 25}", "gb_per_s: 25 GB/s}", "mlx5_0, model"},
        {"gb_per_s_per_link: 20}", "gb_per_s_per_link: -20}", "ce: {alpha_us: 2,"},
        {"alpha_us: 9, gb_per_s: 20", "alpha_us: .inf, gb_per_s: 20", "ce: {alpha_us: 9,"},
        {"GPU0 X    NV4  PIX", "GPU0 X    NV4", "  GPU0 X "},
        {"GPU0 X    NV4  PIX", "GPU0 X    NVL  PIX", "  GPU0 X "},
        {"GPU0 X    NV4  PIX", "GPU0 NV4  X    PIX", "  GPU0 X "},
        {"  from GPU0 GPU1 mlx5_0", "  from GPU1 GPU0 mlx5_0", "  from GPU0 GPU1 mlx5_0"},
        {"GPU1 NV4  X    PIX", "GPU1 NV2  X    PIX", "links: |"},
        {"  GPU1 NV4  X    PIX\n", "", "links: |"},
        {"    PIX:\n      rdma-write", "    PIZ:\n      rdma-write", "    PIX:"},
        {"sm-flag: {alpha_us: 1}", "sm-flags: {alpha_us: 1}", "sm-flag: {alpha_us: 1}"},
        {"sigma: 0.01", "sigma: 7", "sigma"},
        {"[1.5, 4]", "[4, 1.5]", "sigma"},
        {"[1.5, 4]", "4", "sigma"},
        {"0000:01:00.0", "not an address", "name: GPU0"},
        {"cpus: \"0-15\"", "cpus: \"15-0\"", "cpus:"},
        {"{id: 0, cpus: \"0-15\"}", "{id: 0}", "{id: 0, cpus"},
        {"{id: 0, cpus: \"0-15\"}", "{id: 0, memory_of: GPU7}", "{id: 0, cpus"},
        {"kind: Machine", "kind: Cluster", "kind: Machine"},
    };
    for (const auto& c : cases) {
        CAPTURE(c.from);
        CAPTURE(c.to);
        const auto m = parse_model(with(c.from, c.to), "tiny.yaml");
        REQUIRE_FALSE(m);
        CHECK(m.failure().code == topo::errc::bad_input);
        CHECK(m.failure().where == "tiny.yaml:" + std::to_string(line_of(c.at)));
        CHECK_FALSE(m.failure().what.empty());
        CHECK_FALSE(m.failure().remedy.empty());
    }
}

TEST_CASE("wrong as a whole") {
    const auto fails = [](const std::string& text) {
        const auto m = parse_model(text, "f.yaml");
        REQUIRE_FALSE(m);
        CHECK(m.failure().where.rfind("f.yaml", 0) == 0);
        CHECK_FALSE(m.failure().remedy.empty());
        return m.failure().code;
    };
    CHECK(fails("") == topo::errc::bad_input);
    CHECK(fails("[1, 2]") == topo::errc::bad_input);
    CHECK(fails("just words") == topo::errc::bad_input);
    CHECK(fails(std::string("\0\xff\x01\x80 binary", 12)) == topo::errc::bad_input);
    CHECK(fails(std::string(100000, '[')) == topo::errc::bad_input);
    CHECK(fails(std::string(100000, '{')) == topo::errc::bad_input);
    CHECK(fails(std::string(calibrate::max_model_bytes + 1, 'a')) == topo::errc::limit);
    CHECK(fails(with("atoll/v1", "atoll/v2")) == topo::errc::unsupported_version);
    // the second GPU takes the first one's name or address
    CHECK(fails(with("0000:02:00.0", "0000:01:00.0")) == topo::errc::bad_input);
    // a path that only a lost NVLink would need
    CHECK(fails(with("    NODE:\n      ce: {alpha_us: 9", "    SYS:\n      ce: {alpha_us: 9")) ==
          topo::errc::bad_input);
}

TEST_CASE("a model cut off anywhere is an error or a model, never a crash") {
    for (std::size_t n = 0; n < small.size(); n += 7) {
        const auto m = parse_model(std::string_view(small).substr(0, n), "cut.yaml");
        if (!m) CHECK(m.failure().where.rfind("cut.yaml", 0) == 0);
    }
}

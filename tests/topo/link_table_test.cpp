// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include "topo/link_table.hpp"
#include "topo/node_class.hpp"

using topo::link_class;
using topo::link_generation;

namespace {

constexpr link_generation generations[] = {link_generation::pcie3_nvlink2, link_generation::pcie4_nvlink3,
                                           link_generation::pcie5_nvlink4, link_generation::pcie5_nvlink5,
                                           link_generation::amd_xgmi};
constexpr link_class far_to_near[] = {link_class::sys, link_class::node, link_class::phb, link_class::pxb,
                                      link_class::pix};

}  // namespace

TEST_CASE("nearer classes are never dearer, and every figure is a valid estimate") {
    for (const auto g : generations)
        for (std::size_t i = 1; i < std::size(far_to_near); ++i) {
            const auto far = topo::estimated_gpu_cost({far_to_near[i - 1], 0}, g);
            const auto near = topo::estimated_gpu_cost({far_to_near[i], 0}, g);
            CHECK(far.valid());
            CHECK(far.from == topo::source::estimated);
            CHECK(near.gb_per_s >= far.gb_per_s);
            CHECK(near.alpha_us < far.alpha_us);
            CHECK(topo::estimated_nic_cost({far_to_near[i], 0}, g, {}).gb_per_s >=
                  topo::estimated_nic_cost({far_to_near[i - 1], 0}, g, {}).gb_per_s);
            CHECK(topo::estimated_gpu_cost({link_class::nvlink, 4}, g).gb_per_s > near.gb_per_s);
        }
}

TEST_CASE("NVLink scales with its links; 18 of the fourth generation agree with what machines measure") {
    const auto h100 = topo::estimated_gpu_cost({link_class::nvlink, 18}, link_generation::pcie5_nvlink4);
    CHECK(h100.gb_per_s == doctest::Approx(370.8));
    CHECK(topo::estimated_gpu_cost({link_class::nvlink, 6}, link_generation::pcie5_nvlink4).gb_per_s * 3 ==
          doctest::Approx(h100.gb_per_s));
    CHECK(topo::estimated_gpu_cost({link_class::nvlink, 0}, link_generation::pcie4_nvlink3).valid());
}

TEST_CASE("a known port speed caps the NIC, an unknown one does not") {
    const topo::link near{link_class::pix, 0};
    CHECK(topo::estimated_nic_cost(near, link_generation::pcie5_nvlink4, 25.0).gb_per_s == 25);
    CHECK(topo::estimated_nic_cost(near, link_generation::pcie5_nvlink4, {}).gb_per_s == doctest::Approx(54.3));
}

TEST_CASE("generations by GPU model") {
    CHECK(topo::generation_of("Tesla V100-SXM2-16GB") == link_generation::pcie3_nvlink2);
    CHECK(topo::generation_of("NVIDIA A100-SXM4-80GB") == link_generation::pcie4_nvlink3);
    CHECK(topo::generation_of("NVIDIA L40S") == link_generation::pcie4_nvlink3);
    CHECK(topo::generation_of("NVIDIA H100 80GB HBM3") == link_generation::pcie5_nvlink4);
    CHECK(topo::generation_of("nvidia gh200 480gb") == link_generation::pcie5_nvlink4);
    CHECK(topo::generation_of("NVIDIA GB200") == link_generation::pcie5_nvlink5);
    CHECK(topo::generation_of("AMD Instinct MI300X") == link_generation::amd_xgmi);
    CHECK(topo::generation_of("NVIDIA GPU (sm 70)") == link_generation::pcie3_nvlink2);
    CHECK(topo::generation_of("NVIDIA GPU (sm 90)") == link_generation::pcie5_nvlink4);
    CHECK(topo::generation_of("NVIDIA RTX 5000 Ada Generation") == link_generation::pcie4_nvlink3);
    CHECK(topo::generation_of("NVIDIA GeForce RTX 4090") == link_generation::pcie4_nvlink3);
    CHECK(topo::generation_of("NVIDIA GeForce RTX 5090") == link_generation::pcie5_nvlink5);
    CHECK(topo::generation_of("") == link_generation::pcie4_nvlink3);
}

TEST_CASE("fill_estimates adds what is absent and leaves what is there") {
    topo::node_class c;
    c.name = "two";
    c.gpus.resize(2);
    c.gpus[0].name = "GPU0";
    c.gpus[1].name = "GPU1";
    c.nics.resize(1);
    c.nics[0].name = "mlx5_0";
    c.gpu_links = topo::matrix<topo::link>(2, 2, {link_class::nvlink, 18});
    c.nic_links = topo::matrix<topo::link>(2, 1, {link_class::pix, 0});
    topo::cost_layer measured{topo::endpoint::gpu, topo::endpoint::nic, topo::engine::rdma_read, false,
                              topo::matrix<topo::cost>(2, 1)};
    for (auto& cell : measured.cells.cells())
        cell = {3, 40, topo::source::measured, topo::source::measured, 9, 0.01, 0};
    c.layers.push_back(measured);
    topo::fill_estimates(c);
    CHECK(topo::check(c).empty());
    REQUIRE(c.layers.size() == 3);
    CHECK(c.layers[0] == measured);
    CHECK(c.best_layer(topo::endpoint::gpu, topo::endpoint::nic)->by == topo::engine::rdma_read);
    // 18 NVLinks: no GPU before the fourth generation has so many.
    CHECK(c.layer(topo::endpoint::gpu, topo::endpoint::gpu, topo::engine::copy_engine)->cells(0, 1).gb_per_s ==
          doctest::Approx(370.8));
    topo::fill_estimates(c);
    CHECK(c.layers.size() == 3);
}

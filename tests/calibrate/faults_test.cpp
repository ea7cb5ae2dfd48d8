// SPDX-License-Identifier: Apache-2.0
#include "calibrate/faults.hpp"

#include "support.hpp"

using topo::endpoint;

TEST_CASE("every fault that --help lists is one that is read") {
    const auto all = calibrate::simulated_faults();
    CHECK(all.size() == 15);
    for (const auto& f : all) {
        CHECK_FALSE(f.description.empty());
        const std::string form = f.form.substr(0, f.form.find('['));
        const std::string device = form.substr(0, form.find(':')) == "dies" ? "dies:GPU1" : form;
        CAPTURE(device);
        const auto made = calibrate::make_simulated("dgx-h100", 1, std::vector<std::string>{device});
        if (!made) FAIL(made.failure().message());
    }
}

TEST_CASE("faults that make no sense are refused with the text and a remedy") {
    for (const char* text : {"",
                             ":",
                             "nvlink",
                             "nvlink-lost",
                             "nvlink-lost:GPU2",
                             "nvlink-lost:GPU2-GPU2",
                             "nvlink-lost:GPU2-GPU9",
                             "nvlink-lost:GPU2-mlx5_0",
                             "nvlink-lost:GPU2-GPU5:19",
                             "nvlink-lost:GPU2-GPU5:0",
                             "nvlink-lost:GPU2-GPU5:1.5",
                             "nvlink-lost:GPU2-GPU5:-1",
                             "nvlink-lost:GPU2-GPU5:nan",
                             "nvlink-lost:GPU2-GPU5:1:1",
                             "pcie-half:mlx5_0",
                             "pcie-half:GPU3:0.5",
                             "nic-slow:GPU3",
                             "nic-slow:mlx5_3:1.5",
                             "nic-slow:mlx5_3:x",
                             "nic-slow:mlx5_3:",
                             "numa-unknown:GPU1",
                             "link-slow:mlx5_0-mlx5_1",
                             "busy"}) {
        CAPTURE(text);
        const auto made = calibrate::make_simulated("dgx-h100", 1, std::vector<std::string>{text});
        REQUIRE_FALSE(made);
        CHECK(made.failure().code == topo::errc::bad_input);
        CHECK(made.failure().where == "--fault " + std::string(text));
        CHECK_FALSE(made.failure().remedy.empty());
    }
    CHECK_FALSE(calibrate::make_simulated("l40s-pcie-8", 1, std::vector<std::string>{"nvlink-lost:GPU0-GPU1"}));
}

TEST_CASE("drivers show a lost NVLink, and NUMA nodes that are not known") {
    const auto enumerate = [](const std::string& model, const std::string& fault) {
        auto m = testing::simulated(model, 1, {fault});
        auto what = m->enumerate();
        REQUIRE(what);
        return *what;
    };
    CHECK(enumerate("dgx-h100", "nvlink-lost:GPU2-GPU5:1").hardware.gpu_links(5, 2).count == 17);
    CHECK(enumerate("dgx-h100", "nvlink-lost:GPU2-GPU5").hardware.gpu_links(5, 2).kind == topo::link_class::sys);
    CHECK(enumerate("dgx-h100", "nvlink-lost:GPU2-GPU1").hardware.gpu_links(1, 2).kind == topo::link_class::node);
    CHECK(enumerate("dgx-h100", "numa-unknown").hardware.gpus[3].numa == topo::unknown_numa);
    const auto guest = enumerate("dgx-h100", "flat-guest");
    CHECK(guest.hardware.numa.size() == 1);
    CHECK(guest.hardware.gpu_links(0, 1).kind == topo::link_class::phb);
    CHECK(enumerate("gb200-nvl72-tray", "busy:GPU0").hardware.nic_links(0, 0).kind == topo::link_class::sys);
}

TEST_CASE("counters tell what hardware would tell, and no more") {
    auto m = testing::simulated("dgx1-v100", 1,
                                {"nvlink-lost:GPU0-GPU3:1", "pcie-half:GPU4", "busy:GPU5", "throttled:GPU6"});
    const auto now = m->read_counters();
    REQUIRE(now);
    CHECK(now->gpus[0].nvlinks_up == 5);
    CHECK(now->gpus[0].nvlinks_total == 6);
    CHECK(now->gpus[1].nvlinks_up == 6);
    CHECK(now->gpus[4].pcie_width == 8);
    CHECK(now->gpus[5].busy.size() == 1);
    CHECK(now->gpus[6].throttled);
    auto slow = testing::simulated("dgx1-v100", 1, {"nic-slow:mlx5_1"});
    CHECK(slow->read_counters()->nics[1].gb_per_s == 12.5);
}

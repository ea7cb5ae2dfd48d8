// SPDX-License-Identifier: Apache-2.0
// What slurmctld says of a job's devices, good and bad.
#include "cli/slurm_job.hpp"

#include <doctest/doctest.h>

TEST_CASE("device lines") {
    const auto mask = [](std::string_view line) {
        const auto got = cli::gpus_of_gres(line);
        REQUIRE_MESSAGE(got, std::string(line));
        return *got;
    };
    CHECK(mask("gpu:2(IDX:0-1)") == 0x3);
    CHECK(mask("gpu:a100:3(IDX:0,2,5)") == 0x25);
    CHECK(mask("nic:2(IDX:0-1),gpu:a100:1(IDX:4),gpu:v100:1(IDX:63)") == (0x10 | std::uint64_t{1} << 63));
    CHECK(mask("") == 0);
    CHECK(mask("nic:1(IDX:0)") == 0);
    CHECK(mask("gpus:1") == 0);
}

TEST_CASE("device lines that cannot be read are refused") {
    for (const char* line : {"gpu:2", "gpu", "gpu:2(IDX:0-1", "gpu:1(IDX:64)", "gpu:1(IDX:1-)", "gpu:1(IDX:x)",
                             "gpu:1(CNT:1)", "gpu:1()", "gpu:2(IDX:0-1),gpu:1", "gpu:1(IDX:99999999999999999999)"}) {
        const auto got = cli::gpus_of_gres(line);
        CHECK_MESSAGE(!got, line);
        if (!got) CHECK_FALSE(got.failure().remedy.empty());
    }
    const auto long_line = cli::gpus_of_gres("gpu" + std::string(100000, '('));
    CHECK_FALSE(long_line);
}

// SPDX-License-Identifier: GPL-2.0-or-later
// What Slurm tells a task about itself, good and tampered with.
#include "plugin/spank/task_text.hpp"

#include <doctest/doctest.h>

using namespace slurm_plugin;
using bytes = std::vector<std::uint8_t>;

TEST_CASE("tasks per node") {
    CHECK(task_counts("2(x3),1", 8) == std::vector<std::uint32_t>{2, 2, 2, 1});
    CHECK(task_counts("8", 1) == std::vector<std::uint32_t>{8});
    for (const char* text :
         {"", "2(x3", "2(x0)", "2(x-1)", "-2", "2,", "2(y3)", "2(x4294967295)", "65536", "1(x9)", "2 (x2)", "two"})
        CHECK_MESSAGE(task_counts(text, 8).empty(), text);
}

TEST_CASE("lists of devices") {
    CHECK(gpu_numbers("0,2,5") == bytes{0, 2, 5});
    for (const char* text : {"", ",", "0,", "0,0", "64", "-1", "0x1", "1.5", "NoDevFiles", "0;1", "0 1"})
        CHECK_MESSAGE(gpu_numbers(text).empty(), text);
    CHECK(device_words("GPU-8f3a-1,GPU-77").size() == 2);
    CHECK(device_words("a\nb").empty());
    CHECK(device_words(std::string(500, ',')).empty());
}

TEST_CASE("visible devices follow the GPUs, also where they are numbered inside the job") {
    const bytes told = {4, 5, 6, 7};
    const bytes ring = {4, 6, 5, 7};
    CHECK(reordered(device_words("4,5,6,7"), told, ring) == "4,6,5,7");
    CHECK(reordered(device_words("0,1,2,3"), told, ring) == "0,2,1,3");  // constrained by cgroups
    CHECK(reordered(device_words("GPU-a,GPU-b,GPU-c,GPU-d"), told, ring) == "GPU-a,GPU-c,GPU-b,GPU-d");
    CHECK(reordered(device_words("0,1,2"), told, ring).empty());
    CHECK(reordered(device_words("0,1,2,3"), told, {4, 6, 5, 8}).empty());
    CHECK(reordered({}, {}, {}).empty());
}

TEST_CASE("each task's share") {
    const bytes ring = {0, 2, 3, 1};
    CHECK(share_of(ring, 1, 4) == bytes{2});
    CHECK(share_of(ring, 1, 2) == bytes{3, 1});
    CHECK(share_of(ring, 0, 1) == ring);
    CHECK(share_of(ring, 7, 8) == bytes{1});
    CHECK(share_of({0, 1, 2}, 1, 2) == bytes{1, 2});
    CHECK(share_of(ring, 4, 4).empty());
    CHECK(share_of(ring, 0, 0).empty());
    CHECK(share_of({}, 0, 1).empty());
    for (std::uint32_t tasks = 1; tasks < 20; ++tasks)
        for (std::uint32_t t = 0; t < tasks; ++t) CHECK_FALSE(share_of(ring, t, tasks).empty());
}

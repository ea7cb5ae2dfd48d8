// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <random>

#include "tests/topo/import_text.hpp"

using import_test::hardware;
using import_test::has;
using import_test::read;
using import_test::refusal;
using import_test::says;
using topo::format;
using topo::link_class;

namespace {

constexpr std::string_view two_pairs =
    "\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
    "GPU0\t X \tSYS\tNV12\tSYS\tPXB\tSYS\t0-7\t0\t\tN/A\n"
    "GPU1\tSYS\t X \tSYS\tNV12\tSYS\tPXB\t8-15\t1\t\tN/A\n"
    "GPU2\tNV12\tSYS\t X \tSYS\tPXB\tSYS\t0-7\t0\t\tN/A\n"
    "GPU3\tSYS\tNV12\tSYS\t X \tSYS\tPXB\t8-15\t1\t\tN/A\n"
    "NIC0\tPXB\tSYS\tPXB\tSYS\t X \tSYS\n"
    "NIC1\tSYS\tPXB\tSYS\tPXB\tSYS\t X \n"
    "\nLegend:\n\n  X    = Self\n  NV#  = Connection traversing a bonded set of # NVLinks\n"
    "\nNIC Legend:\n\n  NIC0: mlx5_3\n  NIC1: mlx5_0\n";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string out(text);
    const std::size_t at = out.find(from);
    REQUIRE(at != std::string::npos);
    out.replace(at, from.size(), to);
    return out;
}

std::string all_replaced(std::string_view text, char from, std::string_view to) {
    std::string out;
    for (const char c : text)
        if (c == from)
            out += to;
        else
            out += c;
    return out;
}

// n GPUs and k NICs, all joined by SYS.
std::string square(std::size_t gpus, std::size_t nics) {
    std::string header;
    for (std::size_t i = 0; i < gpus; ++i) header += "\tGPU" + std::to_string(i);
    for (std::size_t i = 0; i < nics; ++i) header += "\tNIC" + std::to_string(i);
    std::string out = header + "\tCPU Affinity\n";
    for (std::size_t i = 0; i < gpus; ++i) {
        out += "GPU" + std::to_string(i);
        for (std::size_t k = 0; k < gpus + nics; ++k) out += i == k ? "\t X " : "\tSYS";
        out += "\t0-3\n";
    }
    return out;
}

}  // namespace

TEST_CASE("a matrix with tabs: links, affinity, NIC legend, estimates") {
    const auto c = hardware(two_pairs);
    REQUIRE(c.gpus.size() == 4);
    REQUIRE(c.nics.size() == 2);
    CHECK(c.gpu_links(0, 2) == topo::link{link_class::nvlink, 12});
    CHECK(c.gpu_links(0, 1).kind == link_class::sys);
    CHECK(c.nic_links(1, 1).kind == link_class::pxb);
    CHECK(c.nics[0].name == "mlx5_3");
    CHECK(c.nics[0].numa == 0);
    CHECK(c.gpus[3].numa == 1);
    CHECK(c.gpus[3].cpus.text() == "8-15");
    REQUIRE(c.numa.size() == 2);
    CHECK(c.numa[1].cpus.text() == "8-15");
    const auto* costs = c.best_layer(topo::endpoint::gpu, topo::endpoint::gpu);
    REQUIRE(costs != nullptr);
    CHECK(costs->cells(0, 2).from == topo::source::estimated);
    CHECK(costs->cells(0, 2).gb_per_s > 5 * costs->cells(0, 1).gb_per_s);
    CHECK(costs->cells(0, 2).alpha_us < costs->cells(0, 1).alpha_us);
    CHECK(topo::islands(c) == std::vector<topo::gpu_mask>{0b0101, 0b1010});
}

TEST_CASE("tabs turned to blanks, Windows line ends, indentation and terminal colours read the same") {
    const auto plain = hardware(two_pairs);
    CHECK(hardware(all_replaced(two_pairs, '\t', "     ")).gpu_links == plain.gpu_links);
    CHECK(hardware(all_replaced(two_pairs, '\n', "\r\n")).gpu_links == plain.gpu_links);
    CHECK(hardware(all_replaced(two_pairs, '\n', "\n  ")).gpu_links == plain.gpu_links);
    const auto coloured = replaced(two_pairs, "\tGPU0\tGPU1", "\t\x1b[4mGPU0\x1b[0m\t\x1b[4mGPU1\x1b[0m");
    CHECK(hardware(coloured).gpu_links == plain.gpu_links);
    const auto blanks = hardware(all_replaced(two_pairs, '\t', "     "));
    CHECK(blanks.gpus == plain.gpus);
    CHECK(blanks.numa == plain.numa);
    CHECK(hardware("$ nvidia-smi topo -m\n" + std::string(two_pairs)).nics == plain.nics);
}

TEST_CASE("a header without its leading tab and with mixed blanks") {
    const auto c = hardware(
        "GPU0\tGPU1\tmlx5_0 CPU Affinity NUMA Affinity\n"
        "GPU0\t X \tNV4\tSYS\t24-31\t3\n"
        "GPU1\tNV4\t X \tPHB\t16-23\t2\n");
    CHECK(c.gpus[0].numa == 3);
    CHECK(c.gpus[1].cpus.text() == "16-23");
    REQUIRE(c.nics.size() == 1);
    CHECK(c.nic_links(1, 0).kind == link_class::phb);
    CHECK(c.nics[0].numa == 2);
}

TEST_CASE("affinity columns: absent, empty, cut, two tabs before them") {
    SUBCASE("no NUMA column: unknown, never node 0") {
        const auto c = hardware("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tSOC\t0-5\nGPU1\tSOC\t X \t6-11\n");
        CHECK(c.gpus[0].numa == topo::unknown_numa);
        CHECK(c.numa.empty());
        CHECK(c.gpu_links(0, 1).kind == link_class::sys);
    }
    SUBCASE("N/A after two tabs") {
        const auto c = hardware(
            "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\nGPU0\t X \tNV2\t0-31\t\tN/A\nGPU1\tNV2\t X \t0-31\t\tN/A\n");
        CHECK(c.gpus[1].numa == topo::unknown_numa);
        CHECK(c.gpus[1].cpus.text() == "0-31");
    }
    SUBCASE("empty CPU affinity inside a job keeps the NUMA node") {
        const auto got = read(
            "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
            "GPU0\t X \tNV4\t0\t0\t\tN/A\nGPU1\tNV4\t X \t\t1\t\tN/A\n");
        REQUIRE(got.has_value());
        const auto& c = got->nodes.front().hardware;
        CHECK(c.gpus[0].cpus.text() == "0");
        CHECK(c.gpus[1].cpus.empty());
        CHECK(c.gpus[1].numa == 1);
        CHECK(says(got->notes, "no CPU affinity for GPU1"));
    }
    SUBCASE("blanks: a missing CPU affinity is seen by position") {
        const auto c = hardware(
            "        GPU0    GPU1    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
            "GPU0     X      NV4     0-7             0               N/A\n"
            "GPU1    NV4      X                      1               N/A\n");
        CHECK(c.gpus[1].cpus.empty());
        CHECK(c.gpus[1].numa == 1);
    }
    SUBCASE("a list no one can read is left out with its line") {
        const auto got = read("\tGPU0\tCPU Affinity\nGPU0\t X \t0-5-9\n");
        REQUIRE(got.has_value());
        CHECK(says(got->notes, "in.txt:2: CPU Affinity '0-5-9'", topo::severity::warning));
    }
    SUBCASE("several NUMA nodes without GPU memory nodes are ambiguous") {
        const auto c = hardware("\tGPU0\tCPU Affinity\tNUMA Affinity\nGPU0\t X \t0-63\t0-1\n");
        CHECK(c.gpus[0].numa == topo::unknown_numa);
    }
}

TEST_CASE("NUMA affinity lists of Grace systems: only the node with CPUs counts") {
    const auto c = hardware(
        "\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tNV18\t0-71\t0,3-9\t\t2\n"
        "GPU1\tNV18\t X \t72-143\t1,11-17\t\t10\n");
    CHECK(c.gpus[0].numa == 0);
    CHECK(c.gpus[1].numa == 1);
    CHECK(c.numa.size() == 18);
    CHECK(c.numa_has_cpus(0));
    CHECK_FALSE(c.numa_has_cpus(2));
    CHECK(c.numa_of(0b11) == std::vector<int>{0, 1});
}

TEST_CASE("columns are never shifted") {
    SUBCASE("glued cells") {
        const auto text = refusal("\tGPU0\tGPU1\tNIC0\tNIC1\nGPU0\t X \tNV1\tNODENODE\nGPU1\tNV1\t X \tSYS\tSYS\n");
        CHECK(has(text, "in.txt:2: row GPU0 has 3 link cells, 4 expected"));
        CHECK(has(text, "'NODENODE'"));
    }
    SUBCASE("glued names in the header alone") {
        const auto text = refusal("\tGPU0\tGPU1\tNIC8NIC9\nGPU0\t X \tNV1\tSYS\tSYS\nGPU1\tNV1\t X \tSYS\tSYS\n");
        CHECK(has(text, "in.txt:1: "));
        CHECK(has(text, "4 columns expected, 3 found"));
    }
    SUBCASE("a lost cell") {
        CHECK(has(refusal("\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \t0-3\nGPU1\tSYS\t X \t0-3\n"),
                  "row GPU0 has 1 link cells, 2 expected"));
    }
    SUBCASE("a cell too many") {
        CHECK(has(refusal("\tGPU0\tGPU1\nGPU0\t X \tSYS\tSYS\nGPU1\tSYS\t X \n"),
                  "row GPU0 has 3 link cells, 2 expected"));
    }
    SUBCASE("an empty cell between tabs") {
        CHECK(has(refusal("\tGPU0\tGPU1\tNIC0\nGPU0\t X \t\tSYS\nGPU1\tSYS\t X \tSYS\n"), "link cells, 3 expected"));
    }
    SUBCASE("X off the diagonal") {
        CHECK(has(refusal("\tGPU0\tGPU1\nGPU0\tSYS\t X \nGPU1\tSYS\t X \n"), "columns are shifted"));
    }
    SUBCASE("an unknown word") {
        CHECK(has(refusal("\tGPU0\tGPU1\nGPU0\t X \tWIFI\nGPU1\tSYS\t X \n"), "'WIFI', no link class"));
        CHECK(has(refusal("\tGPU0\tGPU1\nGPU0\t X \tNV-1\nGPU1\tSYS\t X \n"), "'NV-1', no link class"));
    }
    SUBCASE("a device twice") {
        CHECK(has(refusal("\tGPU0\tGPU0\nGPU0\t X \tSYS\n"), "column GPU0 stands twice"));
        CHECK(has(refusal("\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU0\t X \tSYS\n"), "row GPU0 stands twice"));
    }
    SUBCASE("a row of a device that has no column") {
        CHECK(has(refusal("\tGPU0\tGPU1\nGPU7\t X \tSYS\n"), "row GPU7 has no column"));
    }
    SUBCASE("a truncated matrix") {
        for (const std::size_t part : {two_pairs.find("GPU2\tNV12"), two_pairs.find("GPU3\tSYS")})
            CHECK(has(refusal(two_pairs.substr(0, part)), "is missing: the text is cut"));
        CHECK(has(refusal(two_pairs.substr(0, two_pairs.find("GPU3\tSYS") + 9)), "link cells, 6 expected"));
    }
}

TEST_CASE("every truncation and every flipped byte gives a node or an error with a place") {
    for (std::size_t n = 0; n < two_pairs.size(); n += 3) {
        const auto got = read(two_pairs.substr(0, n), format::nvidia_smi);
        if (!got) CHECK_FALSE(got.failure().remedy.empty());
    }
    std::mt19937 random(7);
    for (int i = 0; i < 500; ++i) {
        std::string text(two_pairs);
        for (int k = 0; k < 3; ++k) text[random() % text.size()] = static_cast<char>(random() % 256);
        const auto got = read(text, format::nvidia_smi);
        if (got)
            CHECK(topo::check(got->nodes.front().hardware).empty());
        else
            CHECK(got.failure().where.starts_with("in.txt"));
    }
}

TEST_CASE("two directions that differ are both kept and said") {
    const auto text = replaced(two_pairs, "GPU2\tNV12", "GPU2\tNV8");
    const auto got = read(text);
    REQUIRE(got.has_value());
    CHECK(says(got->notes, "GPU0 → GPU2 is NV12, but GPU2 → GPU0 is NV8", topo::severity::warning));
    const auto& c = got->nodes.front().hardware;
    CHECK(c.gpu_links(0, 2).count == 12);
    CHECK(c.gpu_links(2, 0).count == 8);
    const auto* costs = c.best_layer(topo::endpoint::gpu, topo::endpoint::gpu);
    CHECK(costs->cells(0, 2).gb_per_s > costs->cells(2, 0).gb_per_s);
    topo::import_options strict;
    strict.strict = true;
    const auto refused = read(text, format::automatic, strict);
    REQUIRE_FALSE(refused.has_value());
    CHECK(refused.failure().code == topo::errc::refused);
}

TEST_CASE("storage and management NICs are told from compute NICs, rails follow the GPUs") {
    const auto c = hardware(
        "\tGPU0\tGPU1\tmlx5_0\tmlx5_1\tmlx5_2\tmlx5_3\n"
        "GPU0\t X \tNV18\tNODE\tSYS\tPXB\tNODE\n"
        "GPU1\tNV18\t X \tSYS\tPXB\tSYS\tSYS\n");
    CHECK_FALSE(c.nics[0].compute);
    CHECK(c.nics[1].compute);
    CHECK(c.nics[2].compute);
    CHECK_FALSE(c.nics[3].compute);
    CHECK(c.nics[2].rail == 0);
    CHECK(c.nics[1].rail == 1);
    CHECK(c.nics[0].rail == -1);
    const auto far = hardware("\tGPU0\tmlx5_0\tmlx5_1\nGPU0\t X \tSYS\tSYS\n");
    CHECK(far.nics[0].compute);
    CHECK(far.nics[1].compute);
}

TEST_CASE("a flat guest topology is not trusted; two GPUs or two NUMA nodes are no guest") {
    const auto flat = [](int gpus, const char* last_numa) {
        std::string text;
        for (int i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
        text += "\tCPU Affinity\tNUMA Affinity\n";
        for (int i = 0; i < gpus; ++i) {
            text += "GPU" + std::to_string(i);
            for (int k = 0; k < gpus; ++k) text += i == k ? "\t X " : "\tPHB";
            text += std::string("\t0-15\t") + (i == gpus - 1 ? last_numa : "0") + "\n";
        }
        return text;
    };
    CHECK_FALSE(hardware(flat(3, "0")).locality_trusted);
    CHECK_FALSE(hardware(flat(3, "N/A")).locality_trusted);
    CHECK(hardware(flat(3, "1")).locality_trusted);
    CHECK(hardware(flat(2, "0")).locality_trusted);
}

TEST_CASE("no fixed limit below 1,024 devices") {
    const auto got = read(square(144, 34));
    REQUIRE(got.has_value());
    CHECK(got->nodes.front().hardware.gpus.size() == 144);
    CHECK(got->nodes.front().hardware.nics.size() == 34);
    CHECK(says(got->notes, "144 GPUs read; placement takes nodes of at most 64", topo::severity::warning));
    const auto faults = topo::check(got->nodes.front().hardware);
    CHECK(says(faults, "144 GPUs", topo::severity::error));
    const auto large = read(square(1100, 0));
    REQUIRE_FALSE(large.has_value());
    CHECK(large.failure().code == topo::errc::limit);
}

TEST_CASE("other text is refused in words") {
    CHECK(has(refusal("", format::nvidia_smi), "the file is empty"));
    CHECK(has(refusal("hello\n", format::nvidia_smi), "no header line"));
    CHECK(has(refusal(std::string("GPU0\0GPU1", 9), format::nvidia_smi), "binary"));
    CHECK(has(refusal("\tGPU0\tGPU1\tmeta?\nGPU0\t X \tSYS\tSYS\n"), "'meta?' in the header"));
    CHECK(has(refusal("something else\n"), "nvidia-smi, nccl-xml, hwloc-xml"));
    CHECK(has(refusal("# System topology:\n# | MB/s | GPU0 |\n"), "ucx_info"));
}

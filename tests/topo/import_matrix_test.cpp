// SPDX-License-Identifier: Apache-2.0
#include <doctest/doctest.h>

#include <random>

#include "tests/topo/import_text.hpp"

using import_test::hardware;
using import_test::has;
using import_test::read;
using import_test::refusal;
using import_test::says;
using topo::endpoint;
using topo::engine;
using topo::format;
using topo::source;

namespace {

constexpr std::string_view nvbandwidth_text =
    "nvbandwidth Version: v0.8\n"
    "Driver Version: 570.86.15\n\n"
    "Device 0: NVIDIA H100 80GB HBM3 (00000000:4f:00)\n"
    "Device 1: NVIDIA H100 80GB HBM3 (00000000:52:00)\n\n"
    "Running host_to_device_memcpy_ce.\n"
    "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0     55.10     11.20\n\n"
    "SUM host_to_device_memcpy_ce 66.30\n\n"
    "Running device_to_host_memcpy_ce.\n"
    "memcpy CE CPU(row) <- GPU(column) bandwidth (GB/s)\n"
    "0         1\n"
    "0     25.50     25.60\n\n"
    "Running host_to_device_bidirectional_memcpy_ce.\n"
    "memcpy CE CPU(row) <-> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0     40.10     41.10\n\n"
    "Running device_to_device_memcpy_read_ce.\n"
    "memcpy CE GPU(row) -> GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0       N/A    301.00\n"
    " 1    302.00       N/A\n\n"
    "Running device_to_device_memcpy_write_ce.\n"
    "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n"
    "           0         1\n"
    " 0      0.00    370.00\n"
    " 1    280.00      0.00\n\n"
    "Running device_to_device_latency_sm.\n"
    "Device to Device Latency SM GPU(row) <-> GPU(column) (ns)\n"
    "           0         1\n"
    " 0       N/A    600.00\n"
    " 1    601.00       N/A\n";

constexpr std::string_view p2p_text =
    "[P2P (Peer-to-Peer) GPU Bandwidth Latency Test]\n"
    "Device: 0, NVIDIA H100 PCIe, pciBusID: c2, pciDeviceID: 0, pciDomainID:0\n"
    "Device: 1, NVIDIA H100 PCIe, pciBusID: d5, pciDeviceID: 0, pciDomainID:1a\n"
    "P2P Connectivity Matrix\n"
    "     D\\D     0     1\n"
    "     0\t     1     1\n"
    "     1\t     1     1\n"
    "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n"
    "   D\\D     0      1 \n"
    "     0 1622.17  26.10 \n"
    "     1  25.00 1634.15 \n"
    "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n"
    "   D\\D     0      1 \n"
    "     0 1634.15 256.62 \n"
    "     1 250.99 1660.74 \n"
    "Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n"
    "   D\\D     0      1 \n"
    "     0 1667.81 500.00 \n"
    "     1 480.00 1669.81 \n"
    "P2P=Enabled Latency (P2P Writes) Matrix (us)\n"
    "   GPU     0      1 \n"
    "     0   2.35   2.56 \n"
    "     1   2.52   2.31 \n\n"
    "   CPU     0      1 \n"
    "     0   2.24   1.72 \n"
    "     1   1.75   2.18 \n";

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    std::string out(text);
    const std::size_t at = out.find(from);
    REQUIRE(at != std::string::npos);
    out.replace(at, from.size(), to);
    return out;
}

std::string matrix_of(int n, double value, const char* odd) {
    std::string out = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D";
    for (int i = 0; i < n; ++i) out += " " + std::to_string(i);
    for (int r = 0; r < n; ++r) {
        out += "\n " + std::to_string(r);
        for (int k = 0; k < n; ++k) out += " " + (r == 0 && k == 1 ? std::string(odd) : std::to_string(value));
    }
    return out + "\n";
}

}  // namespace

TEST_CASE("nvbandwidth: one PCI address for two devices is refused, not written") {
    const std::string text =
        "nvbandwidth Version: v0.8\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:4f:00)\n"
        "Device 1: NVIDIA H100 80GB HBM3 (00000000:4f:00)\n\nRunning device_to_device_memcpy_read_ce.\n"
        "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A    370.10\n"
        " 1    371.00       N/A\n";
    const auto got = import_text(text, "nvb.txt", format::automatic, {});
    REQUIRE_FALSE(got);
    CHECK(got.failure().where == "nvb.txt");
    CHECK(got.failure().what.find("0000:4f:00.0 of GPU1 stands twice") != std::string::npos);
}

TEST_CASE("nvbandwidth: engines, directions and load are kept apart; nothing is averaged") {
    const auto got = read(nvbandwidth_text);
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    CHECK(got->kind == format::nvbandwidth);
    const auto c = hardware(nvbandwidth_text);
    REQUIRE(c.gpus.size() == 2);
    CHECK(c.gpus[0].model == "NVIDIA H100 80GB HBM3");
    CHECK(c.gpus[1].pci->text() == "0000:52:00.0");
    CHECK(c.made_by.tool == "nvbandwidth v0.8");
    CHECK(c.made_by.driver == "570.86.15");
    const auto* pairs = c.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine);
    REQUIRE(pairs != nullptr);
    // "GPU(row) <- GPU(column)": row 0, column 1 is what came from GPU 1 to GPU 0. Writes win over reads.
    CHECK(pairs->cells(1, 0).gb_per_s == 370);
    CHECK(pairs->cells(0, 1).gb_per_s == 280);
    CHECK(pairs->cells(0, 1).from == source::imported);
    CHECK(pairs->cells(0, 1).alpha_from == source::estimated);
    CHECK_FALSE(pairs->cells(0, 0).present());
    const auto* down = c.layer(endpoint::host, endpoint::gpu, engine::copy_engine);
    const auto* up = c.layer(endpoint::gpu, endpoint::host, engine::copy_engine);
    REQUIRE(down != nullptr);
    REQUIRE(up != nullptr);
    CHECK(down->cells(0, 1).gb_per_s == 11.2);
    CHECK(up->cells(1, 0).gb_per_s == 25.6);
    const auto loaded = std::find_if(c.layers.begin(), c.layers.end(), [](const auto& l) { return l.loaded; });
    REQUIRE(loaded != c.layers.end());
    CHECK(loaded->from == endpoint::host);
    CHECK(loaded->cells(0, 1).gb_per_s == 41.1);
    CHECK(c.numa.empty());
    CHECK(says(got->notes, "a pointer chase is another engine's latency"));
    CHECK(says(got->notes, "left out: the matrix of in.txt"));
}

TEST_CASE("nvbandwidth: reads go the way their arrow says when they are all there is") {
    const auto text =
        std::string(nvbandwidth_text.substr(nvbandwidth_text.find("Running device_to_device_memcpy_read_ce")));
    const auto c = hardware(text.substr(0, text.find("Running device_to_device_memcpy_write_ce")));
    CHECK(c.best_layer(endpoint::gpu, endpoint::gpu)->cells(0, 1).gb_per_s == 301);
}

TEST_CASE("nvbandwidth: broken matrices name row, expected and found") {
    CHECK(has(refusal(replaced(nvbandwidth_text, " 1    302.00       N/A", " 1    302.00")),
              "row 1 has 1 value, 2 expected"));
    CHECK(has(refusal(replaced(nvbandwidth_text, " 0       N/A    301.00", " 0       N/A    301.00  4")),
              "row 0 has 3 values, 2 expected"));
    CHECK(has(refusal(replaced(nvbandwidth_text, " 1    302.00       N/A\n", "")), "2 rows expected, 1 found"));
    CHECK(has(refusal(replaced(nvbandwidth_text, "302.00", "-302.0")), "'-302.0' is no bandwidth"));
    CHECK(has(refusal(replaced(nvbandwidth_text, "302.00", "nan")), "'nan' is no bandwidth"));
    CHECK(has(refusal(replaced(nvbandwidth_text, "302.00", "inf")), "'inf' is no bandwidth"));
    CHECK(has(refusal(replaced(nvbandwidth_text, "302.00", "1e999")), "'1e999' is no bandwidth"));
    CHECK(has(refusal(replaced(nvbandwidth_text, "bandwidth (GB/s)", "bandwidth (MB/s)")), "'MB/s', GB/s expected"));
    CHECK(has(refusal(replaced(nvbandwidth_text, "           0         1\n 0       N/A",
                               "           0         2\n 0       N/A")),
              "column 1 is headed '2'"));
    CHECK(has(refusal("nvbandwidth Version: v0.8\n"), "no complete bandwidth matrix"));
}

TEST_CASE("nvbandwidth: a cut file keeps what is complete, strict refuses it") {
    const auto cut = nvbandwidth_text.substr(0, nvbandwidth_text.find("370.00"));
    const auto got = read(cut);
    REQUIRE(got.has_value());
    CHECK(says(got->notes, "device_to_device_memcpy_write_ce is cut off", topo::severity::warning));
    CHECK(got->nodes.front().hardware.best_layer(endpoint::gpu, endpoint::gpu)->cells(0, 1).gb_per_s == 301);
    topo::import_options strict;
    strict.strict = true;
    CHECK(has(refusal(cut, format::automatic, strict), "cut off"));
}

TEST_CASE("nvbandwidth: pairs without peer access are estimated, host rows that could be any NUMA node are left out") {
    const auto got = read(replaced(nvbandwidth_text, " 0      0.00    370.00", " 0      0.00       N/A"));
    REQUIRE(got.has_value());
    CHECK(says(got->notes, "1 pair holds no value", topo::severity::warning));
    const auto* pairs = got->nodes.front().hardware.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine);
    CHECK(pairs->cells(1, 0).from == source::estimated);
    CHECK(pairs->cells(0, 1).from == source::imported);
    const auto rows = read(
        replaced(nvbandwidth_text, " 0     55.10     11.20\n", " 0     55.10     11.20\n 1     50.00     12.00\n"));
    REQUIRE(rows.has_value());
    CHECK(says(rows->notes, "2 host rows", topo::severity::warning));
}

TEST_CASE("p2pBandwidthLatencyTest: writes, staged copies, half of two-way sums, latency in µs") {
    const auto c = hardware(p2p_text);
    CHECK(c.gpus[1].pci->text() == "001a:d5:00.0");
    CHECK(c.gpus[1].model == "NVIDIA H100 PCIe");
    const auto* direct = c.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine);
    REQUIRE(direct != nullptr);
    CHECK(direct->cells(0, 1).gb_per_s == 256.62);
    CHECK(direct->cells(1, 0).gb_per_s == 250.99);
    CHECK(direct->cells(0, 1).alpha_us == 2.56);
    CHECK(direct->cells(0, 1).alpha_from == source::imported);
    const auto* staged = c.layer(endpoint::gpu, endpoint::gpu, engine::host);
    REQUIRE(staged != nullptr);
    CHECK(staged->cells(1, 0).gb_per_s == 25);
    CHECK(staged->cells(1, 0).alpha_from == source::estimated);
    const auto loaded = std::find_if(c.layers.begin(), c.layers.end(), [](const auto& l) { return l.loaded; });
    REQUIRE(loaded != c.layers.end());
    CHECK(loaded->cells(0, 1).gb_per_s == 250);
    CHECK(loaded->cells(1, 0).gb_per_s == 240);
    CHECK(c.best_layer(endpoint::gpu, endpoint::gpu) == direct);
}

TEST_CASE("p2pBandwidthLatencyTest: latencies alone, no peer access, a cut last matrix") {
    const auto latency = std::string(p2p_text.substr(p2p_text.find("P2P=Enabled Latency")));
    const auto only = read(latency);
    REQUIRE_MESSAGE(only.has_value(), only.failure().message());
    const auto* layer = only->nodes.front().hardware.best_layer(endpoint::gpu, endpoint::gpu);
    CHECK(layer->cells(1, 0).alpha_us == 2.52);
    CHECK(layer->cells(1, 0).from == source::estimated);
    CHECK(says(only->notes, "no bandwidth to these latencies"));
    const auto apart = read(replaced(p2p_text, "     1\t     1     1", "     1\t     0     1"));
    REQUIRE(apart.has_value());
    CHECK(says(apart->notes, "1 pair has no peer access", topo::severity::warning));
    const auto cut = p2p_text.substr(0, p2p_text.find("     1 250.99"));
    const auto got = read(cut);
    REQUIRE(got.has_value());
    CHECK(says(got->notes, "is cut off", topo::severity::warning));
    CHECK(got->nodes.front().hardware.best_layer(endpoint::gpu, endpoint::gpu)->by == engine::host);
    CHECK(has(refusal(p2p_text.substr(0, p2p_text.find("     1  25.00"))), "no complete bandwidth"));
    CHECK(has(refusal(replaced(p2p_text, "Matrix (us)", "Matrix (ns)")), "'ns', us expected"));
}

TEST_CASE("two-way figures alone stand in for one way as an estimate") {
    const auto c =
        hardware("Bidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D 0 1\n 0 918.31 41.38\n 1 41.36 923.67\n");
    const auto* one_way = c.layer(endpoint::gpu, endpoint::gpu, engine::copy_engine);
    REQUIRE(one_way != nullptr);
    CHECK(one_way->cells(0, 1).from == source::estimated);
    CHECK(one_way->cells(0, 1).gb_per_s == doctest::Approx(20.69));
}

TEST_CASE("a cell far from the median of its matrix is flagged, one at 60 % is not") {
    const auto slow = read(matrix_of(8, 100, "7.25"));
    REQUIRE(slow.has_value());
    CHECK(says(slow->notes, "row 0, column 1: 7.25 is 93 % below the median 100.00", topo::severity::warning));
    const auto fast = read(matrix_of(8, 100, "250"));
    REQUIRE(fast.has_value());
    CHECK(says(fast->notes, "row 0, column 1: 250.00 is 150 % above"));
    CHECK_FALSE(says(fast->notes, "above", topo::severity::warning));
    const auto fine = read(matrix_of(8, 100, "60"));
    REQUIRE(fine.has_value());
    CHECK_FALSE(says(fine->notes, "median"));
}

TEST_CASE("busGrind's host matrix: two directions, the two-way row judged but not stored") {
    const auto got = read(
        "Host/Device Bandwidth Matrix (GB/s), memory=Pinned\n   Dir\\D 0 1 2 3\n"
        "   D2H 56.8 57.1 57.1 53.5\n   H2D 56.1 56.2 56.2 56.1\n   BiDir 101.2 101.3 7.2 101.4\n");
    REQUIRE_MESSAGE(got.has_value(), got.failure().message());
    const auto& c = got->nodes.front().hardware;
    CHECK(topo::check(c).empty());
    CHECK(c.layer(endpoint::gpu, endpoint::host, engine::copy_engine)->cells(3, 0).gb_per_s == 53.5);
    CHECK(c.layer(endpoint::host, endpoint::gpu, engine::copy_engine)->cells(0, 3).gb_per_s == 56.1);
    CHECK(says(got->notes, "row BiDir, column 2: 7.20", topo::severity::warning));
    CHECK(says(got->notes, "row BiDir is left out"));
}

TEST_CASE("every truncation and flipped byte of a printed matrix gives costs that are valid or an error") {
    std::mt19937 random(5);
    for (const auto& [text, kind] :
         {std::pair{nvbandwidth_text, format::nvbandwidth}, std::pair{p2p_text, format::p2p}}) {
        for (std::size_t n = 0; n < text.size(); n += 3) {
            const auto got = read(text.substr(0, n), kind);
            if (got) CHECK(topo::check(got->nodes.front().hardware).empty());
        }
        for (int i = 0; i < 500; ++i) {
            std::string broken(text);
            for (int k = 0; k < 3; ++k) broken[random() % broken.size()] = static_cast<char>(random() % 256);
            const auto got = read(broken, kind);
            if (got)
                CHECK(topo::check(got->nodes.front().hardware).empty());
            else
                CHECK(got.failure().where.starts_with("in.txt"));
        }
    }
}

TEST_CASE("a matrix of 2,000 columns is refused") {
    std::string text = "Unidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D";
    for (int i = 0; i < 2000; ++i) text += " " + std::to_string(i);
    const auto got = read(text + "\n 0 1\n");
    REQUIRE_FALSE(got.has_value());
    CHECK(got.failure().code == topo::errc::limit);
}

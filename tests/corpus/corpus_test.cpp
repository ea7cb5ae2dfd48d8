// SPDX-License-Identifier: Apache-2.0
// Every file of the corpus is found by content and read, or refused for the reason its case asks for.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdio>
#include <map>
#include <string>

#include "tests/corpus/folder.hpp"
#include "topo/cluster.hpp"

using topo::format;

namespace {

// Files that must be refused, and words of the message.
const std::map<std::string, std::string> refusals = {
    {"nvidia-smi-topo/dgx-h100-8gpu-12nic-glued-columns.txt", "19 link cells, 20 expected"},
    {"bench/sb-cuda_memory_h2d_bw.log", "bandwidthTest"},
    {"bench/sb-gpu_copy_bw_performance.log", "gpu_copy_bw"},
    {"bench/sb-ib_loopback_8M_size.log", "perftest"},
    {"bench/sb-nccl_allreduce.log", "nccl-tests"},
    {"bench/ucx-info-T-2gpu.txt", "ucx_info"},
    {"bench/ucx-port-counters-unbalanced.txt", "port counters"},
    {"slurm/aws-pc-slurm.conf", "no format that can be imported"},
    {"slurm/azure-cc-nodes_clusterUUIDs.txt", "no format that can be imported"},
    {"slurm/deepops-gres.conf.j2", "template"},
    {"slurm/gres-dgx-a100-links-typo.conf", ":3:53: "},
    {"slurm/slurm-man-gres-examples.conf", "import each alone"},
    {"ib/roce-4node-iblinkinfo.txt", "iblinkinfo"},
};

// What a folder's files are read as.
format expected_format(const std::string& path) {
    const auto in = [&](const char* part) { return path.find(part) != std::string::npos; };
    if (in("nvidia-smi-topo/")) return format::nvidia_smi;
    if (in("nccl-xml/")) return format::nccl_xml;
    if (in("hwloc-xml/")) return format::hwloc_xml;
    if (in("slurm/")) return in("gres") ? format::slurm_gres : format::slurm_topology;
    if (in("ib/")) return format::ibnetdiscover;
    if (in("k8s/")) return format::topograph;
    return in("nvbandwidth") ? format::nvbandwidth : format::p2p;
}

struct tally {
    int read = 0;
    int refused = 0;
};

// What was read must be fit for use: classes without fault, a fabric that can be built.
void check_usable(const std::string& path, const topo::import_output& got) {
    CHECK_MESSAGE((!got.nodes.empty() || got.fabric.has_value()), path);
    for (const auto& n : got.nodes)
        for (const auto& fault : topo::check(n.hardware)) CHECK_MESSAGE(false, path << ": " << fault.message());
    if (got.fabric) {
        std::vector<std::string> names;
        for (const auto& s : got.fabric->switches) names.insert(names.end(), s.nodes.begin(), s.nodes.end());
        const auto built = topo::build_fabric(*got.fabric, names, true);
        CHECK_MESSAGE(built.has_value(), path);
    }
}

void read_one(const std::string& path, std::map<std::string, tally>& tallies) {
    const auto got = corpus::import(path);
    const auto refusal = refusals.find(path);
    const bool foreign = !got && topo::detect_format(corpus::text(path)) == format::automatic;
    tally& t = tallies[foreign ? "(none of them)" : std::string(topo::name_of(expected_format(path)))];
    if (!got) {
        ++t.refused;
        CHECK_MESSAGE(got.failure().where.starts_with(path), got.failure().message());
        CHECK_FALSE(got.failure().remedy.empty());
        if (refusal == refusals.end())
            CHECK_MESSAGE(false, "refused: " << got.failure().message());
        else
            CHECK_MESSAGE(got.failure().message().find(refusal->second) != std::string::npos, got.failure().message());
        return;
    }
    ++t.read;
    CHECK_MESSAGE(refusal == refusals.end(), path << " was read, but must be refused");
    CHECK_MESSAGE(got->kind == expected_format(path), path << " was read as " << topo::name_of(got->kind));
    check_usable(path, *got);
}

}  // namespace

TEST_CASE("the corpus: each kind is read, and what is broken is refused for its reason") {
    if (!corpus::present()) return;
    std::map<std::string, tally> tallies;
    const auto start = std::chrono::steady_clock::now();
    for (const char* folder : {"nvidia-smi-topo", "nccl-xml", "hwloc-xml", "slurm", "ib", "bench"})
        for (const auto& name : corpus::files(folder)) read_one(std::string(folder) + "/" + name, tallies);
    for (const auto& name : corpus::files("k8s"))
        if (name.starts_with("topograph-model-")) read_one("k8s/" + name, tallies);
    const double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    std::puts("kind             read  refused (each refusal expected and for its reason)");
    int read = 0;
    for (const auto& [kind, t] : tallies) {
        std::printf("%-16s %4d  %7d\n", kind.c_str(), t.read, t.refused);
        read += t.read;
    }
    std::printf("%d files read in %.0f ms\n", read, ms);
    for (const format kind : topo::all_formats())
        CHECK_MESSAGE(tallies[std::string(topo::name_of(kind))].read > 0, topo::name_of(kind));
}

TEST_CASE("other files of the corpus are refused, not misread") {
    if (!corpus::present()) return;
    for (const auto& name : corpus::files("k8s")) {
        if (name.starts_with("topograph-model-")) continue;
        const auto got = corpus::import("k8s/" + name);
        CHECK_MESSAGE(!got.has_value(), name);
    }
}

TEST_CASE("every file of the corpus, cut at many places or asked for as another kind, ends in a result or an error") {
    if (!corpus::present()) return;
    for (const char* folder : {"nvidia-smi-topo", "nccl-xml", "hwloc-xml", "slurm", "ib", "bench"})
        for (const auto& name : corpus::files(folder)) {
            const std::string path = std::string(folder) + "/" + name;
            const std::string whole = corpus::text(path);
            for (int part = 1; part < 8; ++part) {
                const auto got = topo::import_text(
                    std::string_view(whole).substr(0, whole.size() * static_cast<std::size_t>(part) / 8), path,
                    format::automatic, {});
                if (got) check_usable(path, *got);
            }
            for (const format kind : topo::all_formats()) {
                const auto got = topo::import_text(whole, path, kind, {});
                if (got) CHECK_MESSAGE(kind == got->kind, path);
                if (!got) CHECK_MESSAGE(got.failure().where.starts_with(path), got.failure().message());
            }
        }
}

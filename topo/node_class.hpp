// SPDX-License-Identifier: Apache-2.0
// A node class: the hardware of one kind of node and what moving bytes inside it costs. All nodes
// whose devices and costs are equal within tolerance share one class; a degraded node is a class of
// its own.
//
// Example:
//   const topo::cost_layer* layer = hardware.best_layer(endpoint::gpu, endpoint::gpu);
//   double us = layer->cells(0, 1).time_us(64e6);   // GPU 0 → GPU 1, 64 MB
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topo/cost.hpp"
#include "topo/device.hpp"
#include "topo/finding.hpp"
#include "topo/ids.hpp"
#include "topo/matrix.hpp"

namespace topo {

// What the rows or columns of a cost layer stand for. host: one row a NUMA node of node_class::numa, or
// one row for the whole host when numa is empty (unknown).
enum class endpoint : std::uint8_t { gpu, nic, host };

// The costs of one engine from every row endpoint to every column endpoint, directed: cells(a, b) is
// a → b and is never averaged with b → a. The diagonal of a layer from a kind to itself holds no cost.
struct cost_layer {
    endpoint from = endpoint::gpu;
    endpoint to = endpoint::gpu;
    engine by = engine::copy_engine;
    bool loaded = false;  // measured with both directions (or all pairs) busy at once
    matrix<cost> cells;
    friend bool operator==(const cost_layer&, const cost_layer&) = default;
};

// Who measured, with what, when. Empty strings and 0 mean unknown.
struct provenance {
    std::string tool;       // "atoll 0.1.0 calibrate", "nvbandwidth v0.8"
    std::string driver;     // GPU driver version
    std::string firmware;   // NIC firmware
    std::string host;       // where it was measured
    std::string input;      // file or simulated model it was made from
    std::int64_t time = 0;  // seconds since 1970
    friend bool operator==(const provenance&, const provenance&) = default;
};

struct node_class {
    std::string name;             // "dgx-h100"; unique in a cluster
    std::vector<gpu> gpus;        // ≤ max_gpus_per_node, in the order Slurm and NVML number them
    std::vector<nic> nics;        // ≤ max_nics_per_node
    std::vector<numa_node> numa;  // by id; may be empty (unknown)
    int cores = 0;                // physical cores as Slurm counts them; 0: unknown
    int threads_per_core = 0;     // 0: unknown

    matrix<link> gpu_links;  // gpus × gpus; may be empty when only costs are known
    matrix<link> nic_links;  // gpus × nics; may be empty

    std::vector<cost_layer> layers;  // at most one for each (from, to, by, loaded)
    bool locality_trusted = true;    // false: a flat guest topology ("virtual, locality not trusted")
    provenance made_by;

    // The layer of that engine, unloaded; nullptr when there is none. O(layers).
    [[nodiscard]] const cost_layer* layer(endpoint from, endpoint to, engine by) const noexcept;

    // The layer that placement uses for NCCL-like traffic: sm_copy, else copy_engine for GPU ↔ GPU;
    // rdma_write, else rdma_read for GPU ↔ NIC; else whatever is there; nullptr when there is none.
    [[nodiscard]] const cost_layer* best_layer(endpoint from, endpoint to) const noexcept;

    // The worst source of any cell of any layer (`simulated` counts as worst of all), `none` when
    // there is no layer. O(cells).
    [[nodiscard]] source worst_source() const noexcept;
    [[nodiscard]] bool simulated() const noexcept;  // true if any cell's bandwidth or latency is simulated

    // True where the NUMA node has CPUs; unknown ids and memory-only nodes give false.
    [[nodiscard]] bool numa_has_cpus(int id) const noexcept;
    // The CPU-bearing NUMA nodes of `mask`, most GPUs first (ties: lower id); empty when all unknown.
    [[nodiscard]] std::vector<int> numa_of(gpu_mask mask) const;

    // How many rows or columns a layer has for that endpoint; host: at least 1. O(1).
    [[nodiscard]] std::size_t endpoints(endpoint e) const noexcept;

    friend bool operator==(const node_class&, const node_class&) = default;
};

// Checks everything a reader must be sure of: device counts and unique names, matrix shapes, every
// off-diagonal cell present and valid, no duplicate layer, NUMA ids, and that the NUMA node of a device
// is unknown or in `numa` (unless that is empty). Each fault is a finding of
// severity error with the class, device or pair as its place. O(cells).
[[nodiscard]] findings check(const node_class& hardware);

// Islands: the partition of the GPUs by NVLink, xGMI or C2C (connected components over gpu_links);
// without gpu_links, by bandwidth ≥ half the best off-diagonal one. Each GPU in exactly one mask;
// ordered by lowest GPU. O(gpus²).
[[nodiscard]] std::vector<gpu_mask> islands(const node_class& hardware);

// The NIC of each GPU (index into nics, or -1 with no usable NIC): cheapest by best_layer(gpu, nic),
// else by nic_links, else by NUMA; ties are shared out so that each GPU gets its own, in order of PCI
// address then index, so that no rail idles. Only NICs with `compute` count, unless there are none.
// O(gpus × nics).
[[nodiscard]] std::vector<int> nearest_nics(const node_class& hardware);

// One host as discovered, imported or calibrated: what a node file holds.
struct node_description {
    std::string host;     // "" when the input names none
    node_class hardware;  // with every identity (uuid, guid, pci)
    findings notes;       // what the reader or measurement wants known
};

}  // namespace topo

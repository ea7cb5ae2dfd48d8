// SPDX-License-Identifier: Apache-2.0
// The one door between calibration and hardware. A backend (CUDA, RDMA, host, simulated) makes buffers
// and takes *time samples*; it never says what a latency or a bandwidth is: that is fit.hpp's business.
//
// All operations of one call run at the same moment, so that a round of disjoint pairs costs the time
// of one, and so that contention is really there when it is asked for. Times are µs, sizes bytes.
//
// Every call may fail with errc::hardware (device lost, peer refused; the place names the device) or
// errc::missing (an index or handle that does not exist). No call throws, hangs without bound, or
// leaves work running. Calls come from one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/cost.hpp"
#include "topo/finding.hpp"
#include "topo/ids.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace calibrate {

// One end of a transfer: a GPU, a NIC, or the memory of one NUMA node (index into node_class::numa).
struct place {
    topo::endpoint kind = topo::endpoint::gpu;
    std::size_t index = 0;
    friend bool operator==(const place&, const place&) = default;
};

using buffer_id = topo::index<struct buffer_tag>;
using registration_id = topo::index<struct registration_tag>;

// Whether two GPUs reach each other's memory, or every byte goes through the host.
enum class peer_path : std::uint8_t { direct, host_staged };

// How a NIC reaches a buffer. host_staged: it does not, and the bytes go through host memory.
enum class memory_path : std::uint8_t { host, dma_buf, peer_memory, host_staged };
[[nodiscard]] std::string_view name_of(memory_path p) noexcept;

// What is there. `hardware` has every device with its identity (uuid, guid, PCI address), links and
// provenance (driver, firmware), but no layer. NUMA nodes that own neither CPUs nor memory are left out.
struct inventory {
    std::string host;
    std::string model;                           // "dgx-h100, seed 7" of a simulated machine; else empty
    topo::source from = topo::source::measured;  // what every cost taken here must be marked as
    topo::node_class hardware;
    topo::findings notes;
};

// `copies` copies of `bytes` bytes, back to back. by: copy_engine, sm_copy or host.
struct copy {
    topo::engine by = topo::engine::copy_engine;
    buffer_id from;
    buffer_id to;
    std::uint64_t bytes = 0;
    std::uint32_t copies = 1;
};

// `count` RDMA operations of `bytes` bytes through the NIC's own loop-back; the far end is host memory
// next to the NIC. to_memory: the NIC writes into the registered buffer; else it reads from it.
struct rdma_operation {
    topo::engine by = topo::engine::rdma_write;  // rdma_write or rdma_read
    registration_id memory;
    bool to_memory = true;
    std::uint64_t bytes = 0;
    std::uint32_t count = 1;
};

struct registration {
    registration_id id;
    memory_path path = memory_path::host;
};

struct flag_pair {
    std::size_t a = 0;  // GPU that writes first
    std::size_t b = 0;
    std::uint32_t round_trips = 1;
};

// Facts that tell a disturbed run or a degraded part. -1 (or 0 for widths and generations): unknown.
struct gpu_counters {
    std::uint64_t ecc_errors = 0;
    std::uint64_t nvlink_replays = 0;
    std::uint64_t pcie_replays = 0;
    bool throttled = false;  // any clock-throttle reason other than idle
    int nvlinks_up = -1;
    int nvlinks_total = -1;
    int pcie_width = 0;  // read under load: idle slots train down
    int pcie_width_max = 0;
    int pcie_generation = 0;
    int pcie_generation_max = 0;
    std::vector<std::string> busy;  // "4242 python": other processes on this GPU
};

struct nic_counters {
    bool up = true;
    double gb_per_s = -1;  // port rate; -1 unknown
    std::uint64_t symbol_errors = 0;
};

struct counters {
    std::vector<gpu_counters> gpus;
    std::vector<nic_counters> nics;
};

class machine {
public:
    machine() = default;
    machine(const machine&) = delete;
    machine& operator=(const machine&) = delete;
    virtual ~machine() = default;

    [[nodiscard]] virtual topo::result<inventory> enumerate() = 0;

    // A buffer in a GPU's memory, or in host memory bound to that NUMA node and pinned. Lives until the
    // machine ends. A NIC has no memory: errc::missing.
    [[nodiscard]] virtual topo::result<buffer_id> allocate(place where, std::uint64_t bytes) = 0;

    [[nodiscard]] virtual topo::result<peer_path> enable_peer(std::size_t from_gpu, std::size_t to_gpu) = 0;

    // Fills `from` with a pattern, copies it by that engine, compares the contents at `to`. True when
    // they are equal. A path that delivers wrong bytes must never get a cost.
    [[nodiscard]] virtual topo::result<bool> verify(const copy& what) = 0;
    [[nodiscard]] virtual topo::result<bool> verify_rdma(const rdma_operation& what) = 0;  // the same, by a NIC

    // us[i] becomes the time of together[i]; all start at once. us.size() ≥ together.size().
    [[nodiscard]] virtual topo::result<topo::done> timed_copy(std::span<const copy> together, std::span<double> us) = 0;

    // One thread of `gpu` follows `steps` dependent pointers through `bytes` bytes of `memory`: µs in total.
    [[nodiscard]] virtual topo::result<double> load_chase(std::size_t gpu, buffer_id memory, std::uint64_t bytes,
                                                          std::uint32_t steps) = 0;

    // Release/acquire flags, each in the receiver's memory: µs of all round trips of each pair.
    [[nodiscard]] virtual topo::result<topo::done> flag_ping_pong(std::span<const flag_pair> together,
                                                                  std::span<double> us) = 0;

    // Makes the buffer reachable by the NIC: dma-buf, else peer memory, else host-staged.
    [[nodiscard]] virtual topo::result<registration> register_memory(std::size_t nic, buffer_id memory) = 0;
    [[nodiscard]] virtual topo::result<topo::done> rdma(std::span<const rdma_operation> together,
                                                        std::span<double> us) = 0;

    [[nodiscard]] virtual topo::result<counters> read_counters() = 0;

    [[nodiscard]] virtual double now_us() = 0;           // monotonic
    [[nodiscard]] virtual std::int64_t unix_time() = 0;  // seconds since 1970
};

}  // namespace calibrate

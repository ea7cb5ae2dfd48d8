// SPDX-License-Identifier: Apache-2.0
// The machine that simulated.hpp hands out; a header of its own so that tests can look behind it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "calibrate/faults.hpp"
#include "calibrate/machine.hpp"
#include "calibrate/model.hpp"
#include "calibrate/random.hpp"

namespace calibrate {

class simulated_machine final : public machine {
public:
    simulated_machine(machine_model model, std::uint64_t seed, std::vector<machine_fault> faults,
                      double real_time_factor);

    topo::result<inventory> enumerate() override;
    topo::result<buffer_id> allocate(place where, std::uint64_t bytes) override;
    topo::result<peer_path> enable_peer(std::size_t from_gpu, std::size_t to_gpu) override;
    topo::result<bool> verify(const copy& what) override;
    topo::result<bool> verify_rdma(const rdma_operation& what) override;
    topo::result<topo::done> timed_copy(std::span<const copy> together, std::span<double> us) override;
    topo::result<double> load_chase(std::size_t gpu, buffer_id memory, std::uint64_t bytes,
                                    std::uint32_t steps) override;
    topo::result<topo::done> flag_ping_pong(std::span<const flag_pair> together, std::span<double> us) override;
    topo::result<registration> register_memory(std::size_t nic, buffer_id memory) override;
    topo::result<topo::done> rdma(std::span<const rdma_operation> together, std::span<double> us) override;
    topo::result<counters> read_counters() override;
    double now_us() override { return now_us_; }
    std::int64_t unix_time() override;

private:
    // What one directed pair really does by one engine, faults included, and where its noise stands.
    struct pair_state {
        true_path truth;
        double sigma = 0;
        double burst_left = 0;
        random_stream random{0};
    };
    struct buffer {
        place where;
        std::uint64_t bytes = 0;
    };
    struct registered {
        std::size_t nic = 0;
        place where;
        memory_path path = memory_path::host;
    };
    struct job {  // one operation of a call, whatever its kind
        place from;
        place to;
        topo::engine by = topo::engine::copy_engine;
        double bytes = 0;
        double count = 1;
        bool staged = false;
    };

    void apply_faults();
    [[nodiscard]] bool known(place p) const;
    [[nodiscard]] bool corrupts(place a, place b) const;
    [[nodiscard]] std::string name(place p) const;
    [[nodiscard]] topo::link link(place a, place b) const;
    [[nodiscard]] topo::result<pair_state*> state(place from, place to, topo::engine by);
    [[nodiscard]] pair_state make_state(place from, place to, topo::engine by, true_path path) const;
    [[nodiscard]] topo::result<place> buffer_place(buffer_id id, std::uint64_t bytes) const;
    [[nodiscard]] topo::result<topo::done> touch(const job& j);
    [[nodiscard]] topo::result<topo::done> run(std::span<const job> jobs, std::span<double> us);
    [[nodiscard]] std::vector<double> bandwidths(std::span<const job> jobs, std::span<pair_state* const> states) const;
    [[nodiscard]] double sample(pair_state& s, double us) const;
    void advance(double us);

    machine_model model_;  // links as they are now
    topo::node_class shown_;
    std::uint64_t seed_;
    std::vector<machine_fault> faults_;
    double real_time_factor_;
    double now_us_ = 0;
    std::vector<buffer> buffers_;
    std::vector<registered> registered_;
    std::vector<std::uint64_t> replays_;
    std::vector<int> links_down_;
    std::unordered_map<std::uint64_t, pair_state> pairs_;
    std::unordered_map<std::uint64_t, double> touched_;
};

}  // namespace calibrate

// SPDX-License-Identifier: Apache-2.0
// The node run: measures every cell of a plan, repeats what was disturbed, and says what is wrong with
// the machine.
//
// Example:
//   auto p = calibrate::make_plan(*m, {});
//   auto out = calibrate::run_node(*m, *p, {.log_path = "run.jsonl", .cancel = &stop}, bar);
//   if (out && out->complete) topo::write_file("node.json", topo::write_node(out->node));
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "calibrate/machine.hpp"
#include "calibrate/plan.hpp"
#include "topo/finding.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace calibrate {

struct progress {
    std::size_t done = 0;  // cells
    std::size_t total = 0;
    double seconds_left = 0;  // by what was done so far
    std::string_view what;    // "GPU0 → GPU1, ce (+3)": first cell of the round; valid during the call
};

// One measured cell, as it was found.
struct cell_report {
    cell where;
    topo::cost value;                      // rounded as stored
    double alpha_spread = 0;               // relative half-width of α's interval
    std::uint32_t outliers = 0;            // samples far above their median
    std::uint32_t repeats = 0;             // how often the cell was measured again
    bool noisy = false;                    // 63 samples and still wider than ±2 %
    bool disturbed = false;                // counters moved or clocks were held back in every attempt
    memory_path path = memory_path::host;  // of RDMA cells
    bool staged = false;                   // the bytes went through the host
    friend bool operator==(const cell_report&, const cell_report&) = default;
};

// Called from the thread that called run_node.
class observer {
public:
    virtual ~observer() = default;
    virtual void on_progress(const progress& now) = 0;  // before a round, and once at the end
    virtual void on_cell(const cell_report& /*finished*/) {}
    virtual void on_finding(const topo::finding& /*found*/) {}
};

struct run_options {
    std::uint64_t seed = 1;                     // of the bootstrap
    std::string tool = "atoll calibrate";       // provenance
    std::string log_path;                       // JSON lines of finished cells; "": none
    bool resume = false;                        // take the finished cells of log_path first, then go on
    bool force = false;                         // measure although other processes use a GPU
    const std::atomic<bool>* cancel = nullptr;  // set: stop after the samples under way
};

struct run_output {
    topo::node_description node;  // layers that are not complete are left out; notes = the findings
    bool complete = false;
    std::size_t done = 0;
    std::size_t total = 0;
    double seconds = 0;  // by the machine's clock
    std::vector<cell_report> cells;
};

// A cancelled run is not a failure: complete is false, and what was finished stands in `cells` and in the log.
// Fails with refused (a GPU is in use and no force), hardware (a device died, or a path delivers wrong
// bytes and so must get no cost: what was finished is in the log), bad_input (a log of another machine or a broken
// line, "file:line"), io (the log cannot be written).
[[nodiscard]] topo::result<run_output> run_node(machine& m, const plan& what, const run_options& options,
                                                observer& watcher);

}  // namespace calibrate

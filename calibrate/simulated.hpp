// SPDX-License-Identifier: Apache-2.0
// The simulated machine: a YAML model that answers the machine interface with samples of time on a
// virtual clock. Its results are marked `simulated`. Same model, seed and faults: the same samples.
//
// Noise is multiplicative log-normal with rare outliers, positive jitter and a quantised timer: not the
// law that fit.hpp assumes. Each pair draws from a stream of its own, so that the order of measurements
// and a resumed run do not change what a pair shows.
//
// Example:
//   auto m = calibrate::make_simulated("dgx-h100", 7, faults);
//   if (!m) return print(m.failure().message());
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "calibrate/machine.hpp"
#include "topo/result.hpp"

namespace calibrate {

struct model_name {
    std::string name;         // "dgx-h100"
    std::string description;  // one line
};

// The models built into the binary (configs/machines/*.yaml), by name.
[[nodiscard]] std::vector<model_name> simulated_models();

struct fault_name {
    std::string form;         // "nvlink-lost:GPU2-GPU5[:n]"
    std::string description;  // one line
};

// The faults a simulated machine can be given, for --help.
[[nodiscard]] std::vector<fault_name> simulated_faults();

// A built-in model by name, or a model file when the text has a '/' or ends in .yaml or .yml.
// real_time_factor: 0 runs at once; 1 sleeps as long as the machine would take; 0.1 a tenth of it.
// Fails with missing (no such model or file; the remedy lists the names), bad_input (model file:
// "file:line"; fault: "--fault TEXT", a device it names is not in the model), limit or io.
[[nodiscard]] topo::result<std::unique_ptr<machine>> make_simulated(const std::string& name_or_path, std::uint64_t seed,
                                                                    std::span<const std::string> faults,
                                                                    double real_time_factor = 0);

}  // namespace calibrate

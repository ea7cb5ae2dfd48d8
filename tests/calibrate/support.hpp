// SPDX-License-Identifier: Apache-2.0
// What the calibration tests share.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "calibrate/machine.hpp"
#include "calibrate/plan.hpp"
#include "calibrate/run.hpp"
#include "calibrate/simulated.hpp"

namespace testing {

// How many of `n` seeds a test tries: a sanitizer looks at memory, for which a fifth of them is enough.
constexpr std::uint64_t seeds(std::uint64_t n) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return n / 5;
#else
    return n;
#endif
}

inline std::unique_ptr<calibrate::machine> simulated(const std::string& model, std::uint64_t seed,
                                                     const std::vector<std::string>& faults = {}) {
    auto made = calibrate::make_simulated(model, seed, faults);
    if (!made) FAIL(made.failure().message());
    return std::move(*made);
}

// Keeps all it is told.
struct recorder : calibrate::observer {
    std::vector<calibrate::progress> seen;
    std::vector<calibrate::cell_report> cells;
    topo::findings findings;
    void on_progress(const calibrate::progress& now) override {
        seen.push_back(now);
        seen.back().what = {};
    }
    void on_cell(const calibrate::cell_report& finished) override { cells.push_back(finished); }
    void on_finding(const topo::finding& found) override { findings.push_back(found); }
};

inline calibrate::run_output calibrated(calibrate::machine& m, const calibrate::plan_options& parts = {},
                                        const calibrate::run_options& options = {}) {
    auto p = calibrate::make_plan(m, parts);
    if (!p) FAIL(p.failure().message());
    recorder ignored;
    auto out = calibrate::run_node(m, *p, options, ignored);
    if (!out) FAIL(out.failure().message());
    return std::move(*out);
}

// Whether a finding of that name stands at that place.
inline bool named(const topo::findings& all, const std::string& name, const std::string& where) {
    for (const auto& f : all)
        if (f.where == where && f.what.rfind(name + ":", 0) == 0) return true;
    return false;
}
inline std::string text(const topo::findings& all) {
    std::string out;
    for (const auto& f : all) out += f.message() + "\n";
    return out;
}

}  // namespace testing

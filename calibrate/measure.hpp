// SPDX-License-Identifier: Apache-2.0
// One round: all its cells at once, from the first warm-up to a fit that repeats well enough.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "calibrate/fit.hpp"
#include "calibrate/machine.hpp"
#include "calibrate/plan.hpp"
#include "calibrate/run.hpp"
#include "topo/result.hpp"

namespace calibrate {

inline constexpr double least_sample_us = 200;  // shorter samples would be timer, not link

// The sizes an engine is measured at, bytes, ascending.
[[nodiscard]] std::vector<std::uint64_t> sizes_of(topo::engine by);
// How many samples of that size are taken before the fit is asked: 9 from 1 MiB on, else 31.
[[nodiscard]] std::size_t first_samples(std::uint64_t bytes) noexcept;

// As stored in files: so many significant digits.
[[nodiscard]] double rounded(double value, int digits) noexcept;

class measurer {
public:
    measurer(machine& m, const inventory& what, const run_options& options);

    // Reports in the order of the cells; empty when `cancel` was set on the way. Cells of a device whose
    // error or replay counters move, whose clocks are held back, or that another process uses meanwhile are
    // measured again, twice at most. Fails as the machine does, and with hardware when a path delivers wrong bytes.
    [[nodiscard]] topo::result<std::vector<cell_report>> measure(std::span<const cell> cells);

private:
    struct work {
        cell where;
        std::vector<size_samples> sizes;
        std::vector<std::uint32_t> copies;  // a sample, by size
        std::vector<double> flags;          // µs one way
        buffer_id from, to;
        registration memory;
        bool staged = false;
        fitted line;
        fitted_median flag;
    };

    [[nodiscard]] bool cancelled() const noexcept;
    [[nodiscard]] topo::result<work> prepare(const cell& c);
    [[nodiscard]] topo::result<buffer_id> buffer_at(place p);
    [[nodiscard]] topo::result<topo::done> verify(const work& w);
    [[nodiscard]] topo::result<topo::done> time(std::span<work* const> works, std::size_t size, std::span<double> us);
    [[nodiscard]] topo::result<topo::done> take(std::span<work* const> works, std::size_t more);
    [[nodiscard]] topo::result<topo::done> take_flags(std::span<work* const> works, std::size_t more);
    [[nodiscard]] topo::result<topo::done> fit_all(std::span<work* const> works);
    [[nodiscard]] topo::result<topo::done> sample_until_settled(std::vector<work>& works);
    [[nodiscard]] topo::result<std::vector<bool>> disturbed(const counters& before, std::span<const cell> cells);
    [[nodiscard]] cell_report report(const work& w, std::uint32_t repeats, bool was_disturbed);

    machine& machine_;
    const inventory& what_;
    const run_options& options_;
    std::map<std::pair<topo::endpoint, std::size_t>, buffer_id> buffers_;
    std::map<std::pair<std::size_t, std::uint32_t>, registration> registered_;
};

}  // namespace calibrate

// SPDX-License-Identifier: Apache-2.0
// The log of finished cells: JSON lines, one a cell, after a first line that names the machine. A run
// that ended early is resumed from it. Devices stand by UUID, GUID or PCI address, never by index.
#pragma once

#include <fstream>
#include <string>
#include <vector>

#include "calibrate/machine.hpp"
#include "calibrate/run.hpp"
#include "topo/result.hpp"

namespace calibrate {

class journal {
public:
    // Starts a new log, or with `resume` reads what is there first (a missing or empty file is a new log).
    // A last line without a line end was cut by a crash and is dropped; the file is put right.
    // Fails with bad_input ("file:line": not a log, another machine, an unknown device, a broken cell) or io.
    [[nodiscard]] static topo::result<journal> open(const std::string& path, const inventory& what, bool resume);
    journal() = default;  // keeps nothing

    // What was resumed; of a cell that stands twice, the last.
    [[nodiscard]] const std::vector<cell_report>& finished() const noexcept { return finished_; }

    // Writes the line and flushes it. Fails with io.
    [[nodiscard]] topo::result<topo::done> add(const cell_report& cell);

private:
    std::string path_;
    inventory what_;
    std::ofstream file_;
    std::vector<cell_report> finished_;
};

}  // namespace calibrate

// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: what must hold for the switches of a file before they are a fabric_description.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/fabric.hpp"
#include "topo/finding.hpp"
#include "topo/result.hpp"

namespace topo {

// Makes the switches of one file into a description that check() accepts. Each has `where` set.
//   Refused (bad_input, both places named): two switches of one name, a switch under two parents, a cycle.
//   Left out with a warning: a child that has no line; a node's second leaf (Slurm 22.05 warns of "multiple
//   leaf switches" and goes on); a name that stands twice in one list.
//   Kept with a warning: a switch that has neither nodes nor switches, or both (Slurm refuses these).
//   Noted: more than one root; they stay unconnected.
// `kind` is "switch" or "block", for the messages. O(switches + nodes).
[[nodiscard]] result<done> settle_switches(std::vector<switch_description>& switches, std::string_view kind,
                                           findings& notes);

// Expands host lists for one file and counts their names, so that many long ranges cannot fill the memory.
class host_reader {
public:
    // Errors carry `where`; when `column` is not 0 and the fault has a column in the list, their place is
    // where:column, counted on from it.
    [[nodiscard]] result<std::vector<std::string>> expand(std::string_view list, const std::string& where,
                                                          std::size_t column);

private:
    std::size_t taken_ = 0;
};

// Takes one more of BlockSizes: bad_input when it is no number of nodes, not larger than the one before or no
// multiple of the first. `where` is its place.
[[nodiscard]] result<done> add_block_size(std::string_view text, const std::string& where,
                                          std::vector<std::uint32_t>& sizes);

// Trims a domain id; "" for an absent id and for one of zeros only ("00000000-0000-…", "0"):
// a driver without multi-node NVLink reports such a cluster UUID, and all its nodes would seem to be one domain.
[[nodiscard]] std::string domain_id(std::string_view text);

}  // namespace topo

// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: the records of ibnetdiscover output and of ibsim net files, as a graph.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "topo/finding.hpp"
#include "topo/result.hpp"

namespace topo {

enum class ib_kind : std::uint8_t { switch_, adapter, router };

struct ib_node {
    std::string id;           // "S-2c5eab0000000001", "Hca1"
    std::string description;  // "node0001 mlx5_5"; empty in ibsim files
    ib_kind kind = ib_kind::adapter;
    std::size_t line = 0;
};

// One cable, named once though both ends may list it.
struct ib_link {
    std::uint32_t a = 0;  // index of a node
    std::uint32_t b = 0;
    double gb_per_s = 0;  // one direction; 0: the file does not tell
};

struct ib_net {
    std::vector<ib_node> nodes;
    std::vector<ib_link> links;
};

// Fails with file:line on a line that is cut or is no record, a node that stands twice, and a port with two
// peers. A peer without a record is taken from the port line when that names an adapter, else left out;
// both with a warning. O(length).
[[nodiscard]] result<ib_net> read_ib_records(std::string_view text, const std::string& file, findings& notes);

// GB/s of "4xNDR": width × data rate of a lane (InfiniBand Trade Association, roadmap; SDR … QDR carry 8 of 10
// bits, FDR and later 64 of 66 or more, counted in their names). 0 for anything else.
[[nodiscard]] double ib_gb_per_s(std::string_view width_and_speed) noexcept;

}  // namespace topo

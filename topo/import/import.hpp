// SPDX-License-Identifier: Apache-2.0
// Readers of other tools' files. Each reader is one file of this folder with one function; this header
// is all that callers need.
//
// Example:
//   auto got = topo::import_text(text, "topo.txt", topo::format::automatic, {});
//   for (const auto& f : got->notes) …;  use(got->nodes.front().hardware);
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/fabric.hpp"
#include "topo/finding.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace topo {

enum class format {
    automatic,       // by content
    nvidia_smi,      // "nvidia-smi": nvidia-smi topo -m / -mp
    nccl_xml,        // "nccl-xml": NCCL_TOPO_FILE / NCCL_TOPO_DUMP_FILE, RCCL's too
    hwloc_xml,       // "hwloc-xml": lstopo XML, v1 to v3
    slurm_topology,  // "slurm-topology": topology.conf (tree and block) and topology.yaml
    slurm_gres,      // "slurm-gres": gres.conf
    ibnetdiscover,   // "ibnetdiscover": its output, and ibsim net files
    topograph,       // "topograph": model YAML
    nvbandwidth,     // "nvbandwidth": its printed matrices
    p2p,             // "p2p": p2pBandwidthLatencyTest's printed matrices
};
[[nodiscard]] std::string_view name_of(format f) noexcept;
[[nodiscard]] std::optional<format> format_named(std::string_view text) noexcept;
[[nodiscard]] std::span<const format> all_formats() noexcept;  // without automatic

struct import_options {
    bool strict = false;    // the first finding of severity warning or worse becomes an error (refused)
    std::string gpu_model;  // chooses the link generation when the file does not tell; "" unknown
};

struct import_output {
    format kind = format::automatic;      // what it was read as
    std::vector<node_description> nodes;  // one for a matrix or XML; one a NodeName for gres.conf
    std::optional<fabric_description> fabric;
    findings notes;  // what was left out and why, "0 NICs in file", "locality unknown" …; those of a single node
                     // stand in its node_description::notes too, so print only these
};

// Reads `text`; `file` is the place in messages. Content never decides by name or extension.
// Costs from measured matrices are `imported`; all others `estimated` from the link class. A latency
// that a matrix does not hold is `estimated` (cost::alpha_from).
// Fails with bad_input (place "file:line" or "file:line:column"), limit, or — automatic only — with
// the list of formats it knows. Never throws; text may be anything, up to max_file_bytes. O(length).
[[nodiscard]] result<import_output> import_text(std::string_view text, const std::string& file, format kind,
                                                const import_options& options);

// What content looks like; automatic when none matches. O(first 64 kB).
[[nodiscard]] format detect_format(std::string_view text) noexcept;

}  // namespace topo

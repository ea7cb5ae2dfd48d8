// SPDX-License-Identifier: Apache-2.0
// Reads whatever a verb is given: one of our three files, or a file of another tool.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/cluster.hpp"
#include "topo/import/import.hpp"
#include "topo/result.hpp"

namespace cli {

enum class content { cluster, fabric, node, imported };

struct loaded {
    std::string path;
    content kind = content::imported;
    topo::format read_as = topo::format::automatic;  // of `imported`
    std::optional<topo::cluster_description> cluster;
    std::optional<topo::fabric_description> fabric;  // fabric file, or imported topology
    std::vector<topo::node_description> nodes;       // node file (one), or imported devices
    topo::findings notes;                            // what the reader wants known

    [[nodiscard]] std::string kind_text() const;
};

// Standard input for "-"; its place in messages is "standard input". Fails as topo::read_file.
[[nodiscard]] topo::result<std::string> read_input(const std::string& path);
[[nodiscard]] std::string place_of(const std::string& path);

// The words for a kind of content: "cluster file", "nvidia-smi"; "" for what is of no known kind.
[[nodiscard]] std::string kind_text(content kind, topo::format read_as);

// Fails with bad_input for what is empty or binary, so that no reader guesses at it. `place` is for the message.
// What says of itself that it is ours passes: its reader names the line. O(first 64 kB).
[[nodiscard]] topo::result<topo::done> check_text(std::string_view text, const std::string& place);

// What text is by its own words: apiVersion atoll/… and kind; `imported` when it is not ours. O(first 64 kB).
[[nodiscard]] content content_of(std::string_view text);

// Parses text of the file `path`: ours by kind, all else by the importers with `how`. The nodes of a node file
// and of an import have passed their reader, not topo::check(). Fails as the reader does.
[[nodiscard]] topo::result<loaded> parse_input(std::string_view text, const std::string& path,
                                               topo::format how = topo::format::automatic,
                                               const topo::import_options& options = {});
// The same by content alone, for verbs that take any file; fails as check_text too.
[[nodiscard]] topo::result<loaded> parse_any(std::string_view text, const std::string& path,
                                             const topo::import_options& options = {});
// read_input, then parse_any.
[[nodiscard]] topo::result<loaded> load(const std::string& path);

// Everything the readers want known about the file: `notes` and those of its nodes, each once.
[[nodiscard]] topo::findings notes_of(const loaded& from);

// A cluster to place on or to export: a cluster file as it is; a node file or import of one node as a
// cluster of that one node, in a fabric that is unknown. Findings of the build are in cluster::notes().
[[nodiscard]] topo::result<topo::cluster> load_as_cluster(loaded from);

// Adds what is not there yet: a reader may say the same of a file and of its nodes.
void add_missing(topo::findings& to, const topo::findings& from);

// The name a node is shown by: its host, else its class, else "node".
[[nodiscard]] std::string name_of(const topo::node_description& n);

}  // namespace cli

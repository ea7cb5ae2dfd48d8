// SPDX-License-Identifier: Apache-2.0
// Atoll's own files. docs/file-format.md describes them with examples.
//   cluster file (YAML, kind Cluster): classes, nodes, fabric; what plugins load.
//   fabric file  (YAML, kind Fabric):  a fabric alone, as an importer writes it.
//   node file    (JSON, kind Node):    one host with every identity and sample.
// All carry apiVersion atoll/v1; a file of another version is refused by name (unsupported_version).
#pragma once

#include <string>
#include <string_view>

#include "topo/cluster.hpp"
#include "topo/fabric.hpp"
#include "topo/node_class.hpp"
#include "topo/result.hpp"

namespace topo {

inline constexpr std::string_view api_version = "atoll/v1";
inline constexpr std::size_t max_file_bytes = 64u << 20;  // readers refuse more

// Whole file as text. missing / io / limit (over max_bytes; also for devices and pipes, which are
// read up to the limit). The error's place is the path.
[[nodiscard]] result<std::string> read_file(const std::string& path, std::size_t max_bytes = max_file_bytes);

// Atomic: temp file beside it, fsync, rename, fsync of the folder; on failure the old file stands
// and no temp file is left. A symbolic link stays: the file it names is made or replaced. "-" writes to
// standard output. Fails with io; the error's place is the path.
[[nodiscard]] result<done> write_file(const std::string& path, std::string_view text);

// Whether write_file would work now, for callers with long work before it: makes a temp file beside
// `path` and removes it. Fails as write_file. Space is not looked at.
[[nodiscard]] result<done> check_writable(const std::string& path);

// Readers of text; `file` is only used as the place of errors ("file:line").
// Unknown keys, wrong types, NaN, negative or missing costs, wrong shapes, duplicate names, a deeper
// nesting than 64 levels: bad_input with file, line, what and remedy. The first fault is returned.
[[nodiscard]] result<cluster_description> parse_cluster(std::string_view text, const std::string& file);
[[nodiscard]] result<fabric_description> parse_fabric(std::string_view text, const std::string& file);
[[nodiscard]] result<node_description> parse_node(std::string_view text, const std::string& file);

// Writers; parse(write(x)) == x.
[[nodiscard]] std::string write_cluster(const cluster_description& c);
[[nodiscard]] std::string write_fabric(const fabric_description& f);
[[nodiscard]] std::string write_node(const node_description& n);

// read_file, parse_cluster, cluster::build.
[[nodiscard]] result<cluster> load_cluster(const std::string& path, bool lenient = false);

}  // namespace topo

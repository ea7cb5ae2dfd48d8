// SPDX-License-Identifier: Apache-2.0
// Private to topo/import: one reader and one look at the content a format. import.cpp calls them.
//
// Every read_… takes the whole text, `file` as the place of messages ("file:line"), and throws nothing
// of its own; import_text catches what libraries throw. Every looks_like_… sees only the first
// 64 kB, is true only when the format's own marks are there, and never throws.
#pragma once

#include <string>
#include <string_view>

#include "topo/import/import.hpp"
#include "topo/result.hpp"

namespace topo {

[[nodiscard]] result<import_output> read_nvidia_smi(std::string_view text, const std::string& file,
                                                    const import_options& options);
[[nodiscard]] result<import_output> read_nccl_xml(std::string_view text, const std::string& file,
                                                  const import_options& options);
[[nodiscard]] result<import_output> read_hwloc_xml(std::string_view text, const std::string& file,
                                                   const import_options& options);
[[nodiscard]] result<import_output> read_slurm_topology(std::string_view text, const std::string& file,
                                                        const import_options& options);
[[nodiscard]] result<import_output> read_slurm_gres(std::string_view text, const std::string& file,
                                                    const import_options& options);
[[nodiscard]] result<import_output> read_ibnetdiscover(std::string_view text, const std::string& file,
                                                       const import_options& options);
[[nodiscard]] result<import_output> read_topograph(std::string_view text, const std::string& file,
                                                   const import_options& options);
[[nodiscard]] result<import_output> read_nvbandwidth(std::string_view text, const std::string& file,
                                                     const import_options& options);
[[nodiscard]] result<import_output> read_p2p(std::string_view text, const std::string& file,
                                             const import_options& options);

[[nodiscard]] bool looks_like_nvidia_smi(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_nccl_xml(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_hwloc_xml(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_slurm_topology(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_slurm_gres(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_ibnetdiscover(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_topograph(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_nvbandwidth(std::string_view head) noexcept;
[[nodiscard]] bool looks_like_p2p(std::string_view head) noexcept;

}  // namespace topo

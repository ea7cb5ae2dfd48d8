// SPDX-License-Identifier: Apache-2.0
// Where faults are learnt from.
#pragma once

#include <memory>
#include <string_view>

#include "k8s-device-plugin/health.hpp"

namespace kube {

// As the settings say. automatic: the health file when one is named, else NVML when its library is there, else none.
[[nodiscard]] std::unique_ptr<health_source> make_health_source(const settings& s);

// A text file: one line a fault, "ID REASON…"; '#' starts a comment. REASON is `xid N`, ecc, nvlink, nic, lost or any
// words. ID is the UUID or name of a GPU. A fault lasts as long as its line stands; no file: no fault. For node
// agents that know better than the driver, and for tests. An error names the line.
[[nodiscard]] std::unique_ptr<health_source> file_health_source(std::string path);
[[nodiscard]] topo::result<std::vector<fault>> parse_faults(std::string_view text, const std::string& file,
                                                            const inventory& node);

// NVML, opened when first needed: Xid and ECC events, lost GPUs, NVLinks that were up and no longer are. An error
// when the library cannot be opened or does not start, which is no fault of any GPU.
[[nodiscard]] std::unique_ptr<health_source> nvml_health_source();
[[nodiscard]] bool nvml_present();

}  // namespace kube

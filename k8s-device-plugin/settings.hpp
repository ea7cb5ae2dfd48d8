// SPDX-License-Identifier: Apache-2.0
// What the device plugin can be told. The same names everywhere: the flag --node-name is the variable NODE_NAME and
// the key node-name under `flags:` of the config file. A flag wins over the environment, that over the file.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "topo/result.hpp"

namespace kube {

// Which of a shared GPU's slices a container gets: on as many or on as few GPUs as possible.
enum class share_policy : std::uint8_t { spread, pack };
enum class id_strategy : std::uint8_t { uuid, index };
enum class health_kind : std::uint8_t { automatic, none, nvml, file };

struct list_strategies {  // how the container is told of its GPUs; several may be set
    bool envvar = true;
    bool volume_mounts = false;
    bool cdi_annotations = false;
    bool cdi_cri = false;
    [[nodiscard]] bool cdi() const noexcept { return cdi_annotations || cdi_cri; }
};

struct settings {
    std::string resource = "atoll.dev/gpu";
    std::string plugin_dir = "/var/lib/kubelet/device-plugins";
    std::string socket_name;   // empty: made from the resource, "atoll.dev-gpu.sock"
    std::string devices_file;  // node file; empty: this host is looked at
    std::string cluster_file;
    std::string node_name;  // this node in the cluster file; empty: host name
    bool allow_simulated = false;
    bool fail_on_init_error = true;
    double message_bytes = 64e6;  // size at which sets of GPUs are compared

    unsigned replicas = 1;  // containers that may share one GPU
    share_policy policy = share_policy::spread;

    list_strategies list;
    id_strategy ids = id_strategy::uuid;
    bool pass_device_specs = false;
    bool nics = true;
    bool numa_hints = true;
    std::string nccl_topo_file;  // file of the host, mounted read-only into containers; empty: none
    std::string cdi_dir = "/var/run/cdi";
    std::string cdi_prefix = "cdi.k8s.io/";
    std::string dev_root = "/";  // where the host's /dev stands in the container of the plugin; "/": at its own place
    std::string sysfs_root = "/sys";
    std::string proc_root = "/proc";

    health_kind health = health_kind::automatic;
    std::string health_file;
    double health_interval_s = 5;  // > 0
    unsigned clean_checks = 3;     // in a row before an unhealthy GPU is healthy again, ≥ 1
    std::vector<unsigned> ignored_xids = {13, 31, 43, 45, 68, 109};  // faults of the application, not of the GPU

    std::string metrics_address = "127.0.0.1:9402";  // "off": no /metrics, /healthz and /readyz
    bool pre_start = false;
    std::string config_file;
    std::string log_level = "info";

    [[nodiscard]] std::string socket() const;  // socket_name or what is made from the resource
};

// One setting: its name, what it says and how text is taken. take() gives what is wrong with the text, if anything.
struct option {
    std::string_view name;  // "node-name"
    std::string_view help;
    bool flag = false;  // a flag alone is "true"
    std::function<std::optional<std::string>(settings&, const std::string& text)> take;
};
[[nodiscard]] std::span<const option> options();
[[nodiscard]] std::string environment_name(std::string_view option_name);  // "NODE_NAME"

// Arguments without the program's name. `getenv_` gives a variable's value or nullptr. Reads the config file when one
// is named. Fails with bad_input: unknown or repeated flag, a value that does not fit, in words that name its source.
[[nodiscard]] topo::result<settings> read_settings(std::span<const std::string> arguments,
                                                   const std::function<const char*(const char*)>& getenv_);

// Takes the text of a config file: `version: v1`, `flags:` (names of options). Unknown keys, wrong types and values
// out of range: bad_input with file and line.
[[nodiscard]] topo::result<topo::done> take_config_text(settings& into, std::string_view text, const std::string& file);

// What cannot be meant of settings that are each in range; fails with bad_input.
[[nodiscard]] topo::result<topo::done> check(const settings& s);

[[nodiscard]] std::string usage();

}  // namespace kube

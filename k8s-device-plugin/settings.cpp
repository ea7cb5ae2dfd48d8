// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/settings.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <set>

#include "topo/file.hpp"
#include "topo/quote.hpp"

namespace kube {
namespace {

using fault = std::optional<std::string>;
using taker = std::function<fault(settings&, const std::string&)>;

std::string quoted(std::string_view t) { return "'" + topo::shown(t) + "'"; }

taker text(std::string settings::*member) {
    return [member](settings& s, const std::string& t) -> fault {
        if (t.size() > 4096) return "is longer than 4096 characters";
        s.*member = t;
        return {};
    };
}

taker yes_no(bool settings::*member) {
    return [member](settings& s, const std::string& t) -> fault {
        if (t == "true" || t == "1" || t == "yes" || t == "on")
            s.*member = true;
        else if (t == "false" || t == "0" || t == "no" || t == "off")
            s.*member = false;
        else
            return "is neither true nor false";
        return {};
    };
}

std::optional<double> number_of(const std::string& t) {
    double value = 0;
    const auto [end, code] = std::from_chars(t.data(), t.data() + t.size(), value);
    if (code != std::errc{} || end != t.data() + t.size() || !std::isfinite(value)) return {};
    return value;
}

taker real(double settings::*member, double least, double most) {
    return [=](settings& s, const std::string& t) -> fault {
        const auto value = number_of(t);
        if (!value || *value < least || *value > most)
            return fmt::format("is no number from {:g} to {:g}", least, most);
        s.*member = *value;
        return {};
    };
}

taker whole(unsigned settings::*member, unsigned least, unsigned most) {
    return [=](settings& s, const std::string& t) -> fault {
        const auto value = number_of(t);
        if (!value || *value < least || *value > most || *value != std::floor(*value))
            return fmt::format("is no whole number from {} to {}", least, most);
        s.*member = static_cast<unsigned>(*value);
        return {};
    };
}

template <class Choice>
taker one_of(Choice settings::*member, std::vector<std::pair<std::string_view, Choice>> words) {
    return [member, words](settings& s, const std::string& t) -> fault {
        std::string known;
        for (const auto& [word, value] : words) {
            if (t == word) {
                s.*member = value;
                return {};
            }
            known += (known.empty() ? "" : ", ") + std::string(word);
        }
        return "is none of " + known;
    };
}

std::vector<std::string> split(const std::string& t) {
    std::vector<std::string> out;
    for (std::size_t at = 0; at <= t.size();) {
        const std::size_t end = std::min(t.find(',', at), t.size());
        if (end > at) out.push_back(t.substr(at, end - at));
        at = end + 1;
    }
    return out;
}

fault take_list(settings& s, const std::string& t) {
    list_strategies list;
    list.envvar = false;
    for (const std::string& word : split(t)) {
        if (word == "envvar")
            list.envvar = true;
        else if (word == "volume-mounts")
            list.volume_mounts = true;
        else if (word == "cdi-annotations")
            list.cdi_annotations = true;
        else if (word == "cdi-cri")
            list.cdi_cri = true;
        else if (word != "none")
            return "has a word that is none of envvar, volume-mounts, cdi-annotations, cdi-cri, none";
    }
    if (list.envvar && list.volume_mounts) return "has both envvar and volume-mounts; take one of them";
    s.list = list;
    return {};
}

fault take_xids(settings& s, const std::string& t) {
    std::vector<unsigned> xids;
    for (const std::string& word : split(t)) {
        const auto value = number_of(word);
        if (!value || *value < 0 || *value > 100000 || *value != std::floor(*value))
            return "is no list of Xid numbers like 13,31,43";
        xids.push_back(static_cast<unsigned>(*value));
    }
    s.ignored_xids = std::move(xids);
    return {};
}

fault take_resource(settings& s, const std::string& t) {
    const std::size_t slash = t.find('/');
    const auto plain = [](std::string_view part) {
        return !part.empty() && part.size() <= 63 && std::all_of(part.begin(), part.end(), [](char c) {
            return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '-' ||
                   c == '_';
        });
    };
    if (slash == std::string::npos || !plain(t.substr(0, slash)) || !plain(t.substr(slash + 1)))
        return "is no resource name like atoll.dev/gpu";
    const std::string domain = t.substr(0, slash);
    if (domain == "kubernetes.io" || domain.ends_with(".kubernetes.io"))
        return "lies in kubernetes.io, which the kubelet refuses";
    s.resource = t;
    return {};
}

std::vector<option> make_options() {
    using S = settings;
    return {
        {"resource", "resource that pods ask for", false, take_resource},
        {"devices", "node file (atoll discover, calibrate or import) instead of looking at this host", false,
         text(&S::devices_file)},
        {"cluster-file", "cluster file of atoll merge, for measured costs; without one they are estimated", false,
         text(&S::cluster_file)},
        {"node-name", "this node in the cluster file; default: the host's name", false, text(&S::node_name)},
        {"config-file", "YAML file with version: v1 and flags: {name: value}", false, text(&S::config_file)},
        {"allow-simulated", "take costs that were simulated; for trials", true, yes_no(&S::allow_simulated)},
        {"fail-on-init-error", "end when no device is found; false: offer none and look again on reload", true,
         yes_no(&S::fail_on_init_error)},
        {"message-bytes", "size of the all-reduce at which sets of GPUs are compared", false,
         real(&S::message_bytes, 1, 1e12)},
        {"replicas", "containers that may share one GPU", false, whole(&S::replicas, 1, 1000)},
        {"shared-devices-allocation-policy", "slices of one container on many GPUs (spread) or on few (pack)", false,
         one_of(&S::policy, {{"spread", share_policy::spread},
                             {"distributed", share_policy::spread},
                             {"pack", share_policy::pack},
                             {"packed", share_policy::pack}})},
        {"device-list-strategy", "envvar, volume-mounts, cdi-annotations, cdi-cri, none; several with commas", false,
         take_list},
        {"device-id-strategy", "what the container is told of a GPU: uuid or index", false,
         one_of(&S::ids, {{"uuid", id_strategy::uuid}, {"index", id_strategy::index}})},
        {"pass-device-specs", "also hand /dev/nvidia* to the container", true, yes_no(&S::pass_device_specs)},
        {"nics", "give each GPU its NIC: /dev/infiniband/*, NCCL_IB_HCA, UCX_NET_DEVICES", true, yes_no(&S::nics)},
        {"numa-hints", "tell the kubelet the NUMA node of each GPU", true, yes_no(&S::numa_hints)},
        {"nccl-topo-file", "file of the host that containers get as NCCL_TOPO_FILE, read-only", false,
         text(&S::nccl_topo_file)},
        {"cdi-dir", "where CDI specifications are written", false, text(&S::cdi_dir)},
        {"cdi-annotation-prefix", "start of the key of CDI annotations", false, text(&S::cdi_prefix)},
        {"nvidia-dev-root", "folder of the host that holds /dev", false, text(&S::dev_root)},
        {"health", "where health comes from: auto, none, nvml, file", false,
         one_of(&S::health, {{"auto", health_kind::automatic},
                             {"none", health_kind::none},
                             {"nvml", health_kind::nvml},
                             {"file", health_kind::file}})},
        {"health-file", "text file of faults, one line a GPU: ID REASON", false, text(&S::health_file)},
        {"health-interval", "seconds between two looks at the health", false, real(&S::health_interval_s, 0.01, 3600)},
        {"health-clean-checks", "clean looks in a row before an unhealthy GPU is offered again", false,
         whole(&S::clean_checks, 1, 100000)},
        {"health-ignored-xids", "Xids that are the application's fault", false, take_xids},
        {"metrics-address", "ADDRESS:PORT of /metrics, /healthz, /readyz; off: none", false, text(&S::metrics_address)},
        {"pre-start", "ask the kubelet for a call before each container start; it does nothing yet but is counted",
         true, yes_no(&S::pre_start)},
        {"plugin-dir", "the kubelet's folder of plugin sockets", false, text(&S::plugin_dir)},
        {"socket-name", "file name of the plugin's own socket", false, text(&S::socket_name)},
        {"sysfs-root", "another /sys, for tests", false, text(&S::sysfs_root)},
        {"proc-root", "another /proc, for tests", false, text(&S::proc_root)},
        {"log-level", "debug, info, warning or error", false, text(&S::log_level)},
    };
}

const option* find(std::string_view name) {
    for (const option& o : options())
        if (o.name == name) return &o;
    return nullptr;
}

topo::error wrong(const std::string& source, const std::string& value, const std::string& what) {
    return {topo::errc::bad_input, source, quoted(value) + " " + what, "see atoll-device-plugin --help"};
}

}  // namespace

std::string settings::socket() const {
    if (!socket_name.empty()) return socket_name;
    std::string name = resource;
    std::replace(name.begin(), name.end(), '/', '-');
    return name + ".sock";
}

std::span<const option> options() {
    static const std::vector<option> all = make_options();
    return all;
}

std::string environment_name(std::string_view option_name) {
    std::string out(option_name);
    for (char& c : out) c = c == '-' ? '_' : static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
    return out;
}

topo::result<settings> read_settings(std::span<const std::string> arguments,
                                     const std::function<const char*(const char*)>& getenv_) {
    std::vector<std::pair<const option*, std::string>> given;
    std::set<std::string_view> seen;
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const std::string& word = arguments[i];
        const std::size_t equals = word.find('=');
        const option* o =
            word.starts_with("--")
                ? find(std::string_view(word).substr(2, equals == std::string::npos ? word.npos : equals - 2))
                : nullptr;
        if (o == nullptr) return wrong("command line", word, "is no option");
        if (!seen.insert(o->name).second) return wrong("command line", word, "is given twice");
        if (equals != std::string::npos)
            given.emplace_back(o, word.substr(equals + 1));
        else if (o->flag)
            given.emplace_back(o, "true");
        else if (i + 1 < arguments.size())
            given.emplace_back(o, arguments[++i]);
        else
            return wrong("command line", word, "needs a value");
    }
    settings out;
    const auto value_of = [&](const option& o) -> std::optional<std::pair<std::string, std::string>> {
        for (const auto& [one, value] : given)
            if (one == &o) return std::pair{"--" + std::string(o.name), value};
        const std::string name = environment_name(o.name);
        if (const char* value = getenv_(name.c_str()); value != nullptr && *value != '\0')
            return std::pair{"environment variable " + name, std::string(value)};
        return {};
    };
    if (const auto file = value_of(*find("config-file"))) {
        const auto content = topo::read_file(file->second, 1u << 20);
        if (!content) return content.failure();
        if (const auto taken = take_config_text(out, *content, file->second); !taken) return taken.failure();
    }
    for (const option& o : options())
        if (const auto value = value_of(o))
            if (const auto bad = o.take(out, value->second)) return wrong(value->first, value->second, *bad);
    if (const auto sound = check(out); !sound) return sound.failure();
    return out;
}

topo::result<topo::done> check(const settings& s) {
    const auto bad = [](std::string what, std::string remedy) {
        return topo::error{topo::errc::bad_input, "settings", std::move(what), std::move(remedy)};
    };
    const std::string name = s.socket();
    if (name.find('/') != std::string::npos || name == "kubelet.sock" || name.starts_with("."))
        return bad("socket-name " + quoted(name) + " is no file name of its own", "leave it out");
    if (s.plugin_dir.size() + 1 + name.size() > 107)
        return bad("the path of the socket is longer than 107 characters, the system's limit",
                   "choose a shorter socket-name or plugin-dir");
    if (s.health == health_kind::file && s.health_file.empty())
        return bad("health=file without a health-file", "name one");
    constexpr std::array<std::string_view, 4> levels = {"debug", "info", "warning", "error"};
    if (std::find(levels.begin(), levels.end(), s.log_level) == levels.end())
        return bad("log-level " + quoted(s.log_level) + " is none of debug, info, warning, error", "choose one");
    return topo::done{};
}

std::string usage() {
    std::string out =
        "usage: atoll-device-plugin [OPTIONS]\n\n"
        "Offers the GPUs of this node to the kubelet and chooses the ones that belong together.\n"
        "Every option is also an environment variable (--node-name: NODE_NAME) and a key under\n"
        "flags: of the config file. A flag wins over the environment, that over the file.\n\n";
    for (const option& o : options())
        out += fmt::format("  --{}{}\n      {}\n", o.name, o.flag ? "[=true|false]" : " VALUE", o.help);
    out +=
        "  --version, --help\n\n"
        "SIGTERM ends it; SIGHUP reads devices and cluster file again, as does a change of them.\n"
        "Exit codes: 0 ended by a signal; 2 wrong use or bad input; 3 no device, or the socket failed.\n";
    return out;
}

}  // namespace kube

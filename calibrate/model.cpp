// SPDX-License-Identifier: Apache-2.0
#include "calibrate/model.hpp"
#include "topo/counted.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>
#include <sstream>

#include "calibrate/random.hpp"

namespace calibrate {
namespace {

using topo::endpoint;
using topo::link_class;

// Thrown and caught in this file only: the readers below are nested, and the first fault ends them all.
struct fault {
    topo::error why;
};

class reader {
public:
    explicit reader(const std::string& file) : file_(file) {}

    [[noreturn]] void fail(const YAML::Node& at, std::string what, std::string remedy) const {
        fail_line(at.Mark().is_null() ? 1 : at.Mark().line + 1, std::move(what), std::move(remedy));
    }
    [[noreturn]] void fail_line(int line, std::string what, std::string remedy) const {
        throw fault{{topo::errc::bad_input, fmt::format("{}:{}", file_, line), std::move(what), std::move(remedy)}};
    }

    // A map whose keys are all among `known`, none twice.
    void check_keys(const YAML::Node& map, std::string_view title,
                    std::initializer_list<std::string_view> known) const {
        if (!map.IsMap()) fail(map, fmt::format("{} is not a map", title), "write it as \"key: value\" lines");
        std::set<std::string> seen;
        for (const auto& entry : map) {
            if (!entry.first.IsScalar()) fail(entry.first, "a key is not plain text", "use one of the known keys");
            const std::string& key = entry.first.Scalar();
            if (std::find(known.begin(), known.end(), key) == known.end())
                fail(entry.first, fmt::format("unknown key \"{}\" in {}", short_text(key), title),
                     fmt::format("known are: {}", fmt::join(known, ", ")));
            if (!seen.insert(key).second)
                fail(entry.first, fmt::format("key \"{}\" stands twice in {}", key, title), "keep one of them");
        }
    }
    [[nodiscard]] YAML::Node need(const YAML::Node& map, const char* key, std::string_view title) const {
        const YAML::Node found = map[key];
        if (!found) fail(map, fmt::format("{} has no \"{}\"", title, key), "add it");
        return found;
    }
    [[nodiscard]] std::string text(const YAML::Node& node, std::string_view title) const {
        if (!node.IsScalar()) fail(node, fmt::format("{} is not plain text", title), "write one word or line");
        if (node.Scalar().size() > 200) fail(node, fmt::format("{} is longer than 200 bytes", title), "shorten it");
        return node.Scalar();
    }
    [[nodiscard]] double number(const YAML::Node& node, std::string_view title, double low, double high) const {
        double value = std::numeric_limits<double>::quiet_NaN();
        if (!node.IsScalar() || !YAML::convert<double>::decode(node, value) || !(value >= low && value <= high))
            fail(node, fmt::format("{} is \"{}\"", title, node.IsScalar() ? short_text(node.Scalar()) : "no number"),
                 fmt::format("give a number from {} to {}, without a unit", low, high));
        return value;
    }
    [[nodiscard]] int whole(const YAML::Node& node, std::string_view title, int low, int high) const {
        const double value = number(node, title, low, high);
        if (value != std::floor(value))
            fail(node, fmt::format("{} is {}, not a whole number", title, value), "give a whole number");
        return static_cast<int>(value);
    }
    [[nodiscard]] bool flag(const YAML::Node& node, std::string_view title) const {
        bool value = false;
        if (!node.IsScalar() || !YAML::convert<bool>::decode(node, value))
            fail(node, fmt::format("{} is neither true nor false", title), "write true or false");
        return value;
    }
    [[nodiscard]] YAML::Node sequence(const YAML::Node& node, std::string_view title) const {
        if (!node.IsSequence()) fail(node, fmt::format("{} is not a list", title), "write it as \"- …\" lines");
        if (node.size() > 1024) fail(node, fmt::format("{} has {} entries", title, node.size()), "1024 is the limit");
        return node;
    }
    [[nodiscard]] static std::string short_text(const std::string& s) {
        return s.size() <= 40 ? s : s.substr(0, 37) + "…";
    }

private:
    const std::string& file_;
};

std::string identity(std::string_view model, std::string_view device) {
    random_stream bits(mix(hash_of(model), hash_of(device)));
    const std::uint64_t a = bits.next();
    const std::uint64_t b = bits.next();
    return fmt::format("{:08x}-{:04x}-{:04x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xffff, b >> 48,
                       b & 0xffffffffffffu);
}

std::string guid_of(std::string_view model, std::string_view device) {
    const std::uint64_t bits = mix(hash_of(model), hash_of(device));
    return fmt::format("{:04x}:{:04x}:{:04x}:{:04x}", bits >> 48, (bits >> 32) & 0xffff, (bits >> 16) & 0xffff,
                       bits & 0xffff);
}

void read_numa(const reader& r, const YAML::Node& root, machine_model& m) {
    for (const auto& node : r.sequence(r.need(root, "numa", "the machine"), "numa")) {
        r.check_keys(node, "a NUMA node", {"id", "cpus", "memory_of"});
        topo::numa_node n;
        n.id = r.whole(r.need(node, "id", "a NUMA node"), "id", 0, 1023);
        if (node["cpus"]) {
            auto cpus = topo::id_set::parse(r.text(node["cpus"], "cpus"));
            if (!cpus) r.fail(node["cpus"], cpus.failure().what, cpus.failure().remedy);
            n.cpus = *cpus;
        }
        int owner = -1;
        if (node["memory_of"]) {
            const std::string name = r.text(node["memory_of"], "memory_of");
            for (std::size_t g = 0; g < m.hardware.gpus.size(); ++g)
                if (m.hardware.gpus[g].name == name) owner = static_cast<int>(g);
            if (owner < 0) r.fail(node["memory_of"], "no GPU is called \"" + name + "\"", "name a GPU of the list");
        }
        if (n.cpus.empty() && owner < 0)
            r.fail(node, fmt::format("NUMA node {} has neither CPUs nor memory", n.id), "leave such nodes out");
        m.hardware.numa.push_back(n);
        m.memory_of.push_back(owner);
    }
}

topo::pci_address read_pci(const reader& r, const YAML::Node& node) {
    auto address = topo::pci_address::parse(r.text(node, "pci"));
    if (!address) r.fail(node, address.failure().what, "write it as 0000:1b:00.0");
    return *address;
}

void read_devices(const reader& r, const YAML::Node& root, machine_model& m) {
    for (const auto& node : r.sequence(r.need(root, "gpus", "the machine"), "gpus")) {
        r.check_keys(node, "a GPU", {"name", "model", "pci", "numa"});
        topo::gpu g;
        g.name = r.text(r.need(node, "name", "a GPU"), "name");
        g.model = r.text(r.need(node, "model", "a GPU"), "model");
        g.pci = read_pci(r, r.need(node, "pci", "a GPU"));
        g.numa = r.whole(r.need(node, "numa", "a GPU"), "numa", -1, 1023);
        g.uuid = "GPU-" + identity(m.name, g.name);
        m.hardware.gpus.push_back(g);
    }
    if (m.hardware.gpus.empty()) r.fail(root["gpus"], "a machine without a GPU", "list at least one");
    if (!root["nics"]) return;
    for (const auto& node : r.sequence(root["nics"], "nics")) {
        r.check_keys(node, "a NIC", {"name", "model", "pci", "numa", "rail", "gb_per_s", "compute"});
        topo::nic n;
        n.name = r.text(r.need(node, "name", "a NIC"), "name");
        n.model = r.text(r.need(node, "model", "a NIC"), "model");
        n.pci = read_pci(r, r.need(node, "pci", "a NIC"));
        n.numa = r.whole(r.need(node, "numa", "a NIC"), "numa", -1, 1023);
        if (node["rail"]) n.rail = r.whole(node["rail"], "rail", -1, 1023);
        if (node["gb_per_s"]) n.gb_per_s = r.number(node["gb_per_s"], "gb_per_s", 1e-3, 1e5);
        if (node["compute"]) n.compute = r.flag(node["compute"], "compute");
        n.guid = guid_of(m.name, n.name);
        m.hardware.nics.push_back(n);
    }
}

void fill_affinity(machine_model& m) {
    for (auto& g : m.hardware.gpus)
        for (const auto& n : m.hardware.numa)
            if (n.id == g.numa) g.cpus = n.cpus;
}

// The table looks like `nvidia-smi topo -m`, cut to one row a GPU.
void read_links(const reader& r, const YAML::Node& root, machine_model& m) {
    const YAML::Node node = r.need(root, "links", "the machine");
    if (!node.IsScalar()) r.fail(node, "links is not a table of text", "write \"links: |\" and the table below it");
    const auto& hw = m.hardware;
    std::vector<std::string> columns;
    for (const auto& g : hw.gpus) columns.push_back(g.name);
    for (const auto& n : hw.nics) columns.push_back(n.name);
    const std::size_t gpus = hw.gpus.size();
    m.hardware.gpu_links = topo::matrix<topo::link>(gpus, gpus);
    m.hardware.nic_links = topo::matrix<topo::link>(gpus, hw.nics.size());

    std::istringstream lines(node.Scalar());
    std::string line;
    int number = node.Mark().line + 1;
    std::size_t row = 0;
    bool header = true;
    while (std::getline(lines, line)) {
        ++number;
        std::istringstream words(line);
        std::vector<std::string> found;
        for (std::string word; words >> word;) found.push_back(word);
        if (found.empty()) continue;
        if (header) {
            // A word in the corner keeps the block's indentation where YAML looks for it: at the first line.
            if (found.size() == columns.size() + 1 && found.front() == "from") found.erase(found.begin());
            if (found != columns)
                r.fail_line(number, "the columns of the link table are not the GPUs and NICs in their order",
                            fmt::format("write: from {}", fmt::join(columns, " ")));
            header = false;
            continue;
        }
        if (row >= gpus || found.size() != columns.size() + 1 || found.front() != columns[row])
            r.fail_line(number, "this row of the link table does not fit",
                        row < gpus ? fmt::format("it must start with {} and hold {}", columns[row],
                                                 topo::counted(columns.size(), "link"))
                                   : "the table has one row a GPU");
        for (std::size_t k = 0; k < columns.size(); ++k) {
            const auto l = topo::link_named(found[k + 1]);
            if (!l || (l->kind == link_class::self) != (k == row))
                r.fail_line(number,
                            fmt::format("\"{}\" is no link from {} to {}", reader::short_text(found[k + 1]),
                                        columns[row], columns[k]),
                            "use NV<count>, PIX, PXB, PHB, NODE, SYS, and X only on the diagonal");
            (k < gpus ? m.hardware.gpu_links(row, k) : m.hardware.nic_links(row, k - gpus)) = *l;
        }
        ++row;
    }
    if (row != gpus)
        r.fail(node, fmt::format("the link table has {} for {}", topo::counted(row, "row"), topo::counted(gpus, "GPU")),
               "add the rows that are missing");
    for (std::size_t a = 0; a < gpus; ++a)
        for (std::size_t b = 0; b < a; ++b)
            if (!(hw.gpu_links(a, b) == hw.gpu_links(b, a)))
                r.fail(
                    node,
                    fmt::format("the link table says {} for {}-{} but {} for {}-{}", topo::text_of(hw.gpu_links(a, b)),
                                columns[a], columns[b], topo::text_of(hw.gpu_links(b, a)), columns[b], columns[a]),
                    "a link is the same from both ends");
}

struct path_kind {
    const char* name;
    endpoint from;
    endpoint to;
};
constexpr std::array path_kinds = {
    path_kind{"gpu-gpu", endpoint::gpu, endpoint::gpu}, path_kind{"gpu-nic", endpoint::gpu, endpoint::nic},
    path_kind{"nic-gpu", endpoint::nic, endpoint::gpu}, path_kind{"host-gpu", endpoint::host, endpoint::gpu},
    path_kind{"gpu-host", endpoint::gpu, endpoint::host}};

std::optional<link_class> class_named(const std::string& text) {
    if (text == "NV") return link_class::nvlink;
    if (text == "XGMI") return link_class::xgmi;
    const auto l = topo::link_named(text);
    if (!l || l->count != 0) return std::nullopt;
    return l->kind;
}

void read_rules(const reader& r, const YAML::Node& root, machine_model& m) {
    const YAML::Node paths = r.need(root, "paths", "the machine");
    r.check_keys(paths, "paths", {"gpu-gpu", "gpu-nic", "nic-gpu", "host-gpu", "gpu-host"});
    for (const auto& kind : path_kinds) {
        const YAML::Node classes = paths[kind.name];
        if (!classes) continue;
        if (!classes.IsMap()) r.fail(classes, fmt::format("{} is not a map", kind.name), "write one line a link class");
        for (const auto& c : classes) {
            const auto link = class_named(r.text(c.first, "a link class"));
            if (!link)
                r.fail(c.first, "unknown link class \"" + reader::short_text(c.first.Scalar()) + "\"",
                       "use X, NV, XGMI, C2C, PIX, PXB, PHB, NODE or SYS");
            if (!c.second.IsMap())
                r.fail(c.second, "the engines of a link class are not a map",
                       "write \"ce: {alpha_us: 2, gb_per_s: 370}\"");
            for (const auto& e : c.second) {
                const auto by = topo::engine_named(r.text(e.first, "an engine"));
                if (!by)
                    r.fail(e.first, "unknown engine \"" + reader::short_text(e.first.Scalar()) + "\"",
                           "use ce, sm-copy, sm-load, sm-flag, rdma-write, rdma-read or host");
                r.check_keys(e.second, "a path", {"alpha_us", "gb_per_s", "gb_per_s_per_link", "staged"});
                path_rule rule{kind.from, kind.to, *link, *by, 0, 0, false, false};
                rule.alpha_us = r.number(r.need(e.second, "alpha_us", "a path"), "alpha_us", 0, 1e6);
                if (e.second["staged"]) rule.staged = r.flag(e.second["staged"], "staged");
                const bool bulk = *by != topo::engine::sm_flag && *by != topo::engine::sm_load;
                rule.per_link = static_cast<bool>(e.second["gb_per_s_per_link"]);
                if (bulk) {
                    const char* key = rule.per_link ? "gb_per_s_per_link" : "gb_per_s";
                    rule.gb_per_s = r.number(r.need(e.second, key, "a path"), key, 1e-3, 1e5);
                }
                for (const auto& other : m.rules)
                    if (other.from == rule.from && other.to == rule.to && other.link == rule.link &&
                        other.by == rule.by)
                        r.fail(e.first, "this path stands twice", "keep one of them");
                m.rules.push_back(rule);
            }
        }
    }
}

void read_reported(const reader& r, const YAML::Node& root, machine_model& m) {
    const YAML::Node node = root["reported"];
    if (!node) return;
    if (!node.IsMap()) r.fail(node, "reported is not a map", "write \"PHB: SYS\"");
    for (const auto& entry : node) {
        const auto truth = class_named(r.text(entry.first, "a link class"));
        const auto shown = class_named(r.text(entry.second, "a link class"));
        if (!truth || !shown) r.fail(entry.first, "unknown link class", "use PIX, PXB, PHB, NODE or SYS");
        m.reported.emplace_back(*truth, *shown);
    }
}

void read_noise(const reader& r, const YAML::Node& root, machine_model& m) {
    if (const YAML::Node n = root["noise"]) {
        r.check_keys(n, "noise", {"sigma", "outliers", "outlier_factor", "jitter_us", "timer_us"});
        if (n["sigma"]) m.noise.sigma = r.number(n["sigma"], "sigma", 0, 1);
        if (n["outliers"]) m.noise.outliers = r.number(n["outliers"], "outliers", 0, 0.5);
        if (const YAML::Node f = n["outlier_factor"]) {
            if (!f.IsSequence() || f.size() != 2) r.fail(f, "outlier_factor is not two numbers", "write [1.3, 8]");
            m.noise.outlier_low = r.number(f[0], "outlier_factor", 1, 1000);
            m.noise.outlier_high = r.number(f[1], "outlier_factor", m.noise.outlier_low, 1000);
        }
        if (n["jitter_us"]) m.noise.jitter_us = r.number(n["jitter_us"], "jitter_us", 0, 1000);
        if (n["timer_us"]) m.noise.timer_us = r.number(n["timer_us"], "timer_us", 0, 1000);
    }
    const YAML::Node s = r.need(root, "shared", "the machine");
    r.check_keys(s, "shared", {"bridge_gb_per_s", "socket_gb_per_s"});
    m.shared.bridge_gb_per_s = r.number(r.need(s, "bridge_gb_per_s", "shared"), "bridge_gb_per_s", 1e-3, 1e6);
    m.shared.socket_gb_per_s = r.number(r.need(s, "socket_gb_per_s", "shared"), "socket_gb_per_s", 1e-3, 1e6);
}

// Every pair must have a path by every engine that calibration uses, also after its NVLinks are lost.
void check_rules(const reader& r, const YAML::Node& root, const machine_model& m) {
    using topo::engine;
    const YAML::Node paths = root["paths"];
    const auto need = [&](endpoint from, endpoint to, topo::link l, std::initializer_list<engine> engines) {
        for (const engine by : engines) {
            if (path_of(m, from, to, l, by)) continue;
            const auto kind = std::find_if(path_kinds.begin(), path_kinds.end(),
                                           [&](const path_kind& k) { return k.from == from && k.to == to; });
            r.fail(paths, fmt::format("no {} path by {} over {}", kind->name, topo::name_of(by), topo::text_of(l)),
                   "add its alpha_us and gb_per_s");
        }
    };
    const auto& hw = m.hardware;
    for (std::size_t a = 0; a < hw.gpus.size(); ++a) {
        for (std::size_t b = 0; b < hw.gpus.size(); ++b) {
            if (a == b) continue;
            for (const topo::link l : {hw.gpu_links(a, b), topo::link{without_nvlink(m, a, b), 0}})
                need(endpoint::gpu, endpoint::gpu, l, {engine::copy_engine, engine::sm_copy, engine::sm_flag});
        }
        for (std::size_t n = 0; n < hw.nics.size(); ++n) {
            need(endpoint::gpu, endpoint::nic, hw.nic_links(a, n), {engine::rdma_write, engine::rdma_read});
            need(endpoint::nic, endpoint::gpu, hw.nic_links(a, n), {engine::rdma_write, engine::rdma_read});
        }
        for (std::size_t n = 0; n < hw.numa.size(); ++n) {
            const topo::link l = link_between(m, {endpoint::host, n}, {endpoint::gpu, a});
            need(endpoint::host, endpoint::gpu, l, {engine::copy_engine});
            need(endpoint::gpu, endpoint::host, l, {engine::copy_engine});
        }
    }
}

machine_model read_model(const reader& r, const YAML::Node& root) {
    r.check_keys(root, "the machine",
                 {"apiVersion", "kind", "name", "description", "driver", "firmware", "cores", "threads_per_core",
                  "pcie_generation", "nvlinks_per_gpu", "numa", "gpus", "nics", "links", "reported", "paths", "noise",
                  "shared"});
    const std::string version = r.text(r.need(root, "apiVersion", "the machine"), "apiVersion");
    if (version != "atoll/v1")
        throw fault{{topo::errc::unsupported_version, "",
                     "machine model of version \"" + reader::short_text(version) + "\"", "this Atoll reads atoll/v1"}};
    if (r.text(r.need(root, "kind", "the machine"), "kind") != "Machine")
        r.fail(root["kind"], "this is a file of another kind", "a machine model has \"kind: Machine\"");
    machine_model m;
    m.name = r.text(r.need(root, "name", "the machine"), "name");
    m.description = r.text(r.need(root, "description", "the machine"), "description");
    m.hardware.name = m.name;
    if (root["driver"]) m.hardware.made_by.driver = r.text(root["driver"], "driver");
    if (root["firmware"]) m.hardware.made_by.firmware = r.text(root["firmware"], "firmware");
    m.hardware.cores = r.whole(r.need(root, "cores", "the machine"), "cores", 1, 65536);
    m.hardware.threads_per_core = r.whole(r.need(root, "threads_per_core", "the machine"), "threads_per_core", 1, 8);
    m.pcie_generation = r.whole(r.need(root, "pcie_generation", "the machine"), "pcie_generation", 1, 9);
    if (root["nvlinks_per_gpu"]) m.nvlinks_per_gpu = r.whole(root["nvlinks_per_gpu"], "nvlinks_per_gpu", 0, 999);
    read_devices(r, root, m);
    read_numa(r, root, m);
    fill_affinity(m);
    read_links(r, root, m);
    for (const auto& f : topo::check(m.hardware))
        if (f.level == topo::severity::error) r.fail(root, f.what, f.remedy);
    read_reported(r, root, m);
    read_rules(r, root, m);
    read_noise(r, root, m);
    check_rules(r, root, m);
    return m;
}

}  // namespace

topo::result<machine_model> parse_model(std::string_view text, const std::string& file) {
    if (text.size() > max_model_bytes)
        return topo::error{topo::errc::limit, file,
                           fmt::format("{} bytes are too many for a machine model", text.size()),
                           fmt::format("{} is the limit", max_model_bytes)};
    const reader r(file);
    try {
        const YAML::Node root = YAML::Load(std::string(text));
        if (!root.IsMap()) r.fail_line(1, "this is not a machine model", "see configs/machines for examples");
        return read_model(r, root);
    } catch (const fault& f) {
        topo::error why = f.why;
        if (why.where.empty()) why.where = file;
        return why;
    } catch (const YAML::Exception& e) {
        return topo::error{topo::errc::bad_input, fmt::format("{}:{}", file, e.mark.is_null() ? 1 : e.mark.line + 1),
                           "not valid YAML: " + e.msg, "correct the file"};
    } catch (const std::exception& e) {
        return topo::error{topo::errc::bad_input, file, std::string("cannot be read: ") + e.what(), "correct the file"};
    }
}

}  // namespace calibrate

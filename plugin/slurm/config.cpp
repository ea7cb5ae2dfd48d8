// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/config.hpp"

#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <cmath>
#include <filesystem>
#include <set>

namespace slurm_plugin {
namespace {

constexpr const char* known_keys =
    "known keys: cluster_file, mode, allow_simulated, damage_weight, message_bytes, far_cores, nccl_topo_file, "
    "stats_file, log_decisions";

struct fault {
    topo::error why;
};

[[noreturn]] void refuse(const std::string& file, int line, std::string what, std::string remedy) {
    throw fault{{topo::errc::bad_input, line > 0 ? fmt::format("{}:{}", file, line) : file, std::move(what),
                 std::move(remedy)}};
}

class reader {
public:
    reader(const std::string& file, const std::string& key, const YAML::Node& value)
        : file_(file), key_(key), value_(value) {}

    [[nodiscard]] std::string text() const {
        if (!value_.IsScalar() || value_.Scalar().empty()) bad("a text");
        return value_.Scalar();
    }
    [[nodiscard]] bool choice(std::string_view yes, std::string_view no) const {
        const std::string given = value_.IsScalar() ? value_.Scalar() : std::string{};
        if (given == yes) return true;
        if (given != no) bad(fmt::format("{} or {}", yes, no));
        return false;
    }
    [[nodiscard]] double number(double least, double most) const {
        double given = 0;
        if (!value_.IsScalar() || !YAML::convert<double>::decode(value_, given) || !std::isfinite(given) ||
            given < least || given > most)
            bad(fmt::format("a number from {} to {}", least, most));
        return given;
    }

private:
    [[noreturn]] void bad(const std::string& wanted) const {
        refuse(file_, value_.Mark().line + 1,
               value_.IsScalar() ? fmt::format("'{}' is no value for {}", value_.Scalar(), key_)
                                 : fmt::format("{} has a list or map where one value belongs", key_),
               fmt::format("write {}: {}", key_, wanted));
    }
    const std::string& file_;
    const std::string& key_;
    const YAML::Node& value_;
};

void set(config& out, const std::string& file, const std::string& key, const YAML::Node& value, int line) {
    const reader read(file, key, value);
    if (key == "cluster_file")
        out.cluster_file = read.text();
    else if (key == "mode")
        out.on = read.choice("on", "off");
    else if (key == "allow_simulated")
        out.allow_simulated = read.choice("true", "false");
    else if (key == "damage_weight")
        out.damage_weight = read.number(0, 1);
    else if (key == "message_bytes")
        out.message_bytes = read.number(1, 1e12);
    else if (key == "far_cores")
        out.exclude_far_cores = read.choice("exclude", "keep");
    else if (key == "nccl_topo_file")
        out.nccl_topo_file = read.text();
    else if (key == "stats_file")
        out.stats_file = read.text();
    else if (key == "log_decisions")
        out.log_decisions = read.choice("true", "false");
    else
        refuse(file, line, fmt::format("unknown key '{}'", key), known_keys);
}

}  // namespace

topo::result<config> parse_config(std::string_view text, const std::string& file) {
    try {
        const YAML::Node root = YAML::Load(std::string(text));
        config out;
        if (!root.IsNull() && !root.IsMap())
            refuse(file, root.Mark().line + 1, "this is not a map of keys and values", known_keys);
        std::set<std::string> seen;
        for (const auto& entry : root) {
            const int line = entry.first.Mark().line + 1;
            if (!entry.first.IsScalar()) refuse(file, line, "a key is not a plain word", known_keys);
            const std::string key = entry.first.Scalar();
            if (!seen.insert(key).second) refuse(file, line, fmt::format("'{}' is given twice", key), "remove one");
            set(out, file, key, entry.second, line);
        }
        if (out.on && out.cluster_file.empty())
            refuse(file, 0, "cluster_file is missing", "add cluster_file: /etc/atoll/cluster.yaml, or mode: off");
        if (!out.cluster_file.empty() && out.cluster_file.front() != '/')
            out.cluster_file = (std::filesystem::path(file).parent_path() / out.cluster_file).string();
        return out;
    } catch (const fault& f) {
        return f.why;
    } catch (const YAML::Exception& e) {
        return topo::error{topo::errc::bad_input, fmt::format("{}:{}", file, e.mark.line + 1),
                           fmt::format("not valid YAML: {}", e.msg), "correct that line"};
    } catch (const std::exception& e) {
        return topo::error{topo::errc::bad_input, file, fmt::format("cannot be read: {}", e.what()),
                           "see docs/slurm.md for an example"};
    }
}

}  // namespace slurm_plugin

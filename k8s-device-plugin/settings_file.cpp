// SPDX-License-Identifier: Apache-2.0
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <set>

#include "k8s-device-plugin/settings.hpp"
#include "topo/quote.hpp"

namespace kube {
namespace {

std::string place(const std::string& file, const YAML::Node& at) {
    return at.Mark().is_null() ? file : file + ":" + std::to_string(at.Mark().line + 1);
}

topo::error bad(std::string where, std::string what, std::string remedy) {
    return {topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}

// A scalar, or a list of scalars joined by commas.
std::optional<std::string> text_of(const YAML::Node& value) {
    if (value.IsScalar()) return value.Scalar();
    if (!value.IsSequence() || value.size() > 100) return {};
    std::string out;
    for (const auto& item : value) {
        if (!item.IsScalar()) return {};
        out += (out.empty() ? "" : ",") + item.Scalar();
    }
    return out;
}

topo::result<topo::done> take_flag(settings& into, const YAML::Node& key, const YAML::Node& value,
                                   std::set<std::string>& seen, const std::string& file) {
    if (!key.IsScalar()) return bad(place(file, key), "a key is no word", "write NAME: VALUE");
    const std::string name = key.Scalar();
    const auto all = options();
    const auto found = std::find_if(all.begin(), all.end(), [&](const option& o) { return o.name == name; });
    if (found == all.end() || name == "config-file")
        return bad(place(file, key), "unknown flag '" + topo::shown(name) + "'",
                   "atoll-device-plugin --help lists the names");
    if (!seen.insert(name).second) return bad(place(file, key), "'" + name + "' stands twice", "keep one");
    const auto text = text_of(value);
    if (!text)
        return bad(place(file, value), "'" + name + "' is neither a value nor a list", "write " + name + ": VALUE");
    if (const auto wrong = found->take(into, *text))
        return bad(place(file, value), name + " '" + topo::shown(*text) + "' " + *wrong, "correct it");
    return topo::done{};
}

}  // namespace

topo::result<topo::done> take_config_text(settings& into, std::string_view text, const std::string& file) try {
    // Depth is bounded before parsing: the library recurses a level a bracket.
    if (std::count_if(text.begin(), text.end(), [](char c) { return c == '[' || c == '{'; }) > 200)
        return bad(file, "more than 200 brackets", "write plain NAME: VALUE lines");
    if (text.find('\0') != std::string_view::npos) return bad(file, "is binary", "write YAML");
    const std::vector<YAML::Node> documents = YAML::LoadAll(std::string(text));
    if (documents.size() != 1 || !documents[0].IsMap())
        return bad(file, "is not one map", "write version: v1 and flags: {NAME: VALUE}");
    const YAML::Node& root = documents[0];
    std::set<std::string> seen;
    std::set<std::string> keys;
    for (const auto& entry : root) {
        const std::string key = entry.first.IsScalar() ? entry.first.Scalar() : "";
        if (!keys.insert(key).second)
            return bad(place(file, entry.first), "'" + topo::shown(key) + "' stands twice", "keep one");
        if (key == "version") {
            if (!entry.second.IsScalar() || entry.second.Scalar() != "v1")
                return bad(place(file, entry.second), "the version is not v1", "write version: v1");
        } else if (key == "flags") {
            if (!entry.second.IsMap())
                return bad(place(file, entry.second), "flags is no map", "write flags: {NAME: VALUE}");
            for (const auto& flag : entry.second)
                if (auto taken = take_flag(into, flag.first, flag.second, seen, file); !taken) return taken;
        } else {
            return bad(place(file, entry.first), "unknown key '" + topo::shown(key) + "'",
                       "known are version and flags");
        }
    }
    if (!keys.contains("version")) return bad(file, "no version", "write version: v1 at the top");
    return topo::done{};
} catch (const YAML::Exception& e) {
    return bad(e.mark.is_null() ? file : file + ":" + std::to_string(e.mark.line + 1),
               "is no YAML: " + topo::shown(e.msg, topo::longest_sentence), "correct it");
} catch (const std::bad_alloc&) {
    return topo::error{topo::errc::limit, file, "too little memory to read it", "shorten it"};
}

}  // namespace kube

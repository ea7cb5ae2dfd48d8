// SPDX-License-Identifier: Apache-2.0
#include "calibrate/simulated.hpp"

#include <fmt/format.h>

#include "calibrate/embedded_models.hpp"
#include "calibrate/faults.hpp"
#include "calibrate/model.hpp"
#include "calibrate/simulated_machine.hpp"
#include "topo/file.hpp"

namespace calibrate {
namespace {

bool looks_like_a_path(const std::string& text) {
    return text.find('/') != std::string::npos || text.ends_with(".yaml") || text.ends_with(".yml");
}

topo::result<machine_model> find_model(const std::string& name) {
    for (const auto& m : embedded_models())
        if (m.name == name) return parse_model(m.text, fmt::format("built-in {}.yaml", m.name));
    if (looks_like_a_path(name)) {
        const auto text = topo::read_file(name, max_model_bytes);
        if (!text) return text.failure();
        return parse_model(*text, name);
    }
    std::vector<std::string> names;
    for (const auto& m : embedded_models()) names.emplace_back(m.name);
    return topo::error{topo::errc::missing, "--simulate " + name, "no such machine",
                       fmt::format("known are {}; a file needs a / or .yaml in its name", fmt::join(names, ", "))};
}

}  // namespace

std::vector<model_name> simulated_models() {
    std::vector<model_name> out;
    for (const auto& m : embedded_models()) {
        auto parsed = parse_model(m.text, std::string(m.name));
        out.push_back({std::string(m.name), parsed ? parsed->description : parsed.failure().message()});
    }
    return out;
}

topo::result<std::unique_ptr<machine>> make_simulated(const std::string& name_or_path, std::uint64_t seed,
                                                      std::span<const std::string> faults, double real_time_factor) {
    auto model = find_model(name_or_path);
    if (!model) return model.failure();
    auto parsed = parse_faults(faults, *model);
    if (!parsed) return parsed.failure();
    return std::unique_ptr<machine>(
        std::make_unique<simulated_machine>(std::move(*model), seed, std::move(*parsed), real_time_factor));
}

}  // namespace calibrate

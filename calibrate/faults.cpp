// SPDX-License-Identifier: Apache-2.0
#include "calibrate/faults.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <string_view>

#include "calibrate/simulated.hpp"

namespace calibrate {
namespace {

enum class shape { alone, gpu, nic, any, pair };

struct form {
    std::string_view name;
    fault_kind kind;
    shape takes;
    std::string_view number;  // "" none, "n" a count, "f" a factor
    double preset;
    std::string_view description;
};

constexpr std::array forms = {
    form{"nvlink-lost", fault_kind::nvlink_lost, shape::pair, "n", 0, "NVLinks of a pair are down, all or n of them"},
    form{"pcie-half", fault_kind::pcie_half, shape::gpu, "", 0.5, "a GPU's slot trained to half its width"},
    form{"nic-slow", fault_kind::nic_slow, shape::nic, "f", 0.5, "a NIC at a fraction of its bandwidth"},
    form{"link-slow", fault_kind::link_slow, shape::pair, "f", 0.8, "a pair at a fraction of its bandwidth"},
    form{"one-way", fault_kind::one_way, shape::pair, "f", 0.5, "the same, in this direction only"},
    form{"numa-unknown", fault_kind::numa_unknown, shape::alone, "", 0, "every device reports NUMA node -1"},
    form{"flat-guest", fault_kind::flat_guest, shape::alone, "", 0, "a virtual machine that hides its topology"},
    form{"gdr-refused", fault_kind::gdr_refused, shape::alone, "", 0, "NICs cannot reach GPU memory directly"},
    form{"noisy", fault_kind::noisy, shape::pair, "f", 0.5, "samples of a pair scatter (log-normal sigma)"},
    form{"burst", fault_kind::burst, shape::pair, "n", 400, "the first n samples of a pair are far too long"},
    form{"busy", fault_kind::busy, shape::gpu, "", 0, "another process uses a GPU"},
    form{"throttled", fault_kind::throttled, shape::gpu, "", 0.9, "a GPU's clocks are held back"},
    form{"replays", fault_kind::replays, shape::gpu, "", 0, "a GPU's NVLink replay counter moves"},
    form{"corrupt", fault_kind::corrupt, shape::pair, "", 0, "a pair delivers wrong bytes"},
    form{"dies", fault_kind::dies, shape::any, "n", 2000, "a device stops answering after n operations"},
};

std::string text_of(const form& f) {
    constexpr std::array<std::string_view, 5> devices = {"", ":GPU3", ":mlx5_3", ":DEVICE", ":GPU2-GPU5"};
    std::string text = std::string(f.name) + std::string(devices[static_cast<std::size_t>(f.takes)]);
    if (f.number == "n") text += "[:n]";
    if (f.number == "f") text += fmt::format("[:{}]", f.preset);
    return text;
}

std::optional<place> device_named(const machine_model& m, std::string_view name) {
    for (std::size_t i = 0; i < m.hardware.gpus.size(); ++i)
        if (m.hardware.gpus[i].name == name) return place{topo::endpoint::gpu, i};
    for (std::size_t i = 0; i < m.hardware.nics.size(); ++i)
        if (m.hardware.nics[i].name == name) return place{topo::endpoint::nic, i};
    return std::nullopt;
}

std::string device_names(const machine_model& m) {
    std::vector<std::string_view> names;
    for (const auto& g : m.hardware.gpus) names.push_back(g.name);
    for (const auto& n : m.hardware.nics) names.push_back(n.name);
    return fmt::format("{}", fmt::join(names, " "));
}

class fault_reader {
public:
    fault_reader(const std::string& text, const machine_model& m) : text_(text), model_(m) {}

    topo::result<machine_fault> read() {
        std::vector<std::string_view> parts;
        for (std::string_view rest = text_;;) {
            const auto colon = rest.find(':');
            parts.push_back(rest.substr(0, colon));
            if (colon == std::string_view::npos) break;
            rest.remove_prefix(colon + 1);
        }
        const form* f = nullptr;
        for (const auto& known : forms)
            if (known.name == parts.front()) f = &known;
        if (f == nullptr) {
            std::vector<std::string> known;
            for (const auto& k : forms) known.push_back(text_of(k));
            return wrong("no such fault", fmt::format("known are: {}", fmt::join(known, ", ")));
        }
        const std::size_t least = f->takes == shape::alone ? 1 : 2;
        const std::size_t most = least + (f->number.empty() ? 0 : 1);
        if (parts.size() < least || parts.size() > most)
            return wrong("this fault has another form", "write " + text_of(*f));
        machine_fault out{f->kind, {}, {}, f->preset};
        if (parts.size() > least) {
            const std::string_view digits = parts.back();
            const auto end = digits.data() + digits.size();
            const auto [stop, code] = std::from_chars(digits.data(), end, out.value);
            const double high = f->number == "n" ? 1e9 : f->kind == fault_kind::noisy ? 2.0 : 1.0;
            if (code != std::errc{} || stop != end || !(out.value > 0 && out.value <= high) ||
                (f->number == "n" && out.value != std::floor(out.value)))
                return wrong(fmt::format("\"{}\" is no {}", digits, f->number == "n" ? "count" : "fraction"),
                             "write " + text_of(*f));
        }
        return f->takes == shape::alone ? topo::result<machine_fault>(out) : with_devices(*f, parts[1], out);
    }

private:
    topo::error wrong(std::string what, std::string remedy) const {
        return {topo::errc::bad_input, "--fault " + text_, std::move(what), std::move(remedy)};
    }

    topo::result<machine_fault> with_devices(const form& f, std::string_view names, machine_fault out) const {
        const auto dash = f.takes == shape::pair ? names.find('-') : std::string_view::npos;
        const auto a = device_named(model_, names.substr(0, dash));
        if (!a || (f.takes == shape::gpu && a->kind != topo::endpoint::gpu) ||
            (f.takes == shape::nic && a->kind != topo::endpoint::nic))
            return wrong(fmt::format("{} has no such {} \"{}\"", model_.name,
                                     f.takes == shape::nic   ? "NIC"
                                     : f.takes == shape::gpu ? "GPU"
                                                             : "device",
                                     names.substr(0, dash)),
                         "its devices are: " + device_names(model_));
        out.a = *a;
        if (f.takes != shape::pair) return out;
        const auto b = dash == std::string_view::npos ? std::nullopt : device_named(model_, names.substr(dash + 1));
        if (!b || *b == *a || (a->kind == topo::endpoint::nic && b->kind == topo::endpoint::nic))
            return wrong(fmt::format("\"{}\" is no pair of devices of {}", names, model_.name),
                         "write two of them with a dash: " + device_names(model_));
        out.b = *b;
        if (f.kind != fault_kind::nvlink_lost) return out;
        const bool gpus = a->kind == topo::endpoint::gpu && b->kind == topo::endpoint::gpu;
        const topo::link l = gpus ? model_.hardware.gpu_links(a->index, b->index) : topo::link{};
        if (l.kind != topo::link_class::nvlink || out.value > l.count)
            return wrong(fmt::format("{} has {} between them", model_.name, gpus ? topo::text_of(l) : "no NVLink"),
                         "name a pair with NVLinks and lose at most as many as it has");
        if (out.value == 0) out.value = l.count;
        return out;
    }

    const std::string& text_;
    const machine_model& model_;
};

}  // namespace

topo::result<std::vector<machine_fault>> parse_faults(std::span<const std::string> texts, const machine_model& m) {
    std::vector<machine_fault> out;
    for (const auto& text : texts) {
        auto one = fault_reader(text, m).read();
        if (!one) return one.failure();
        out.push_back(*one);
    }
    return out;
}

std::vector<fault_name> simulated_faults() {
    std::vector<fault_name> out;
    for (const auto& f : forms) out.push_back({text_of(f), std::string(f.description)});
    return out;
}

}  // namespace calibrate

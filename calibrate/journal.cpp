// SPDX-License-Identifier: Apache-2.0
#include "calibrate/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "calibrate/random.hpp"
#include "topo/file.hpp"

namespace calibrate {
namespace {

using nlohmann::json;
using topo::endpoint;

constexpr std::size_t longest_line = 4096;

std::string identity_of(const inventory& what, place p) {
    const auto& hw = what.hardware;
    const auto pick = [](const std::string& id, const auto& pci, const std::string& name) {
        return !id.empty() ? id : pci ? pci->text() : name;
    };
    switch (p.kind) {
        case endpoint::gpu: return pick(hw.gpus[p.index].uuid, hw.gpus[p.index].pci, hw.gpus[p.index].name);
        case endpoint::nic: return "nic " + pick(hw.nics[p.index].guid, hw.nics[p.index].pci, hw.nics[p.index].name);
        case endpoint::host: return "numa " + std::to_string(hw.numa[p.index].id);
    }
    return {};
}

std::string fingerprint_of(const inventory& what) {
    const auto& hw = what.hardware;
    std::string all = what.host + "|" + what.model + "|" + hw.made_by.driver + "|" + hw.made_by.firmware;
    for (std::size_t i = 0; i < hw.gpus.size(); ++i) all += "|" + identity_of(what, {endpoint::gpu, i});
    for (std::size_t i = 0; i < hw.nics.size(); ++i) all += "|" + identity_of(what, {endpoint::nic, i});
    for (std::size_t i = 0; i < hw.numa.size(); ++i) all += "|" + identity_of(what, {endpoint::host, i});
    for (const auto& l : hw.gpu_links.cells()) all += topo::text_of(l);
    for (const auto& l : hw.nic_links.cells()) all += topo::text_of(l);
    return fmt::format("{:016x}", hash_of(all));
}

std::string header_of(const inventory& what) {
    return json{{"atoll", "calibration log"}, {"version", 1}, {"host", what.host}, {"machine", fingerprint_of(what)}}
        .dump();
}

std::string line_of(const inventory& what, const cell_report& r) {
    return json{{"from", identity_of(what, r.where.from)},
                {"to", identity_of(what, r.where.to)},
                {"engine", topo::name_of(r.where.by)},
                {"alpha_us", r.value.alpha_us},
                {"gb_per_s", r.value.gb_per_s},
                {"alpha_spread", r.alpha_spread},
                {"spread", r.value.spread},
                {"samples", r.value.samples},
                {"time", r.value.time},
                {"outliers", r.outliers},
                {"repeats", r.repeats},
                {"noisy", r.noisy},
                {"disturbed", r.disturbed},
                {"path", name_of(r.path)},
                {"staged", r.staged}}
        .dump();
}

std::optional<place> place_of(const inventory& what, const std::string& id) {
    const auto& hw = what.hardware;
    const std::pair<endpoint, std::size_t> kinds[] = {
        {endpoint::gpu, hw.gpus.size()}, {endpoint::nic, hw.nics.size()}, {endpoint::host, hw.numa.size()}};
    for (const auto& [kind, count] : kinds)
        for (std::size_t i = 0; i < count; ++i)
            if (identity_of(what, {kind, i}) == id) return place{kind, i};
    return std::nullopt;
}

std::optional<memory_path> path_named(const std::string& text) {
    for (const auto p : {memory_path::host, memory_path::dma_buf, memory_path::peer_memory, memory_path::host_staged})
        if (name_of(p) == text) return p;
    return std::nullopt;
}

// Throws json's own exceptions for missing keys and wrong types; the caller turns them into an error.
std::optional<cell_report> read_cell(const inventory& what, const json& line) {
    cell_report r;
    const auto from = place_of(what, line.at("from").get<std::string>());
    const auto to = place_of(what, line.at("to").get<std::string>());
    const auto by = topo::engine_named(line.at("engine").get<std::string>());
    const auto path = path_named(line.at("path").get<std::string>());
    if (!from || !to || !by || !path || *from == *to) return std::nullopt;
    r.where = {*from, *to, *by};
    r.path = *path;
    r.value = {line.at("alpha_us").get<double>(),
               line.at("gb_per_s").get<double>(),
               what.from,
               what.from,
               line.at("samples").get<std::uint32_t>(),
               line.at("spread").get<double>(),
               line.at("time").get<std::int64_t>()};
    r.alpha_spread = line.at("alpha_spread").get<double>();
    r.outliers = line.at("outliers").get<std::uint32_t>();
    r.repeats = line.at("repeats").get<std::uint32_t>();
    r.noisy = line.at("noisy").get<bool>();
    r.disturbed = line.at("disturbed").get<bool>();
    r.staged = line.at("staged").get<bool>();
    return r.value.valid() ? std::optional(r) : std::nullopt;
}

topo::error wrong(const std::string& path, std::size_t line, std::string what) {
    return {topo::errc::bad_input, fmt::format("{}:{}", path, line), std::move(what),
            "resume with the log of this machine, or start a new one without --resume"};
}

topo::result<std::vector<cell_report>> read_log(const std::string& path, const std::string& text,
                                                const inventory& what) {
    std::vector<cell_report> out;
    std::size_t number = 0;
    for (std::size_t at = 0; at < text.size();) {
        ++number;
        const std::size_t end = text.find('\n', at);
        const std::string line = text.substr(at, end - at);
        at = end + 1;  // the text ends with a line end: the caller saw to it
        if (line.size() > longest_line)
            return wrong(path, number, "a line of more than 4096 bytes is no finished cell");
        try {
            const json parsed = json::parse(line);
            if (number == 1) {
                if (parsed.at("atoll") != "calibration log" || parsed.at("version") != 1)
                    return wrong(path, number, "this is not a calibration log that this version reads");
                if (parsed.at("machine") != fingerprint_of(what))
                    return wrong(path, number,
                                 "this log was written on another machine, or devices, driver or links changed since");
                continue;
            }
            const auto cell = read_cell(what, parsed);
            if (!cell) return wrong(path, number, "this line is no finished cell of this machine");
            std::erase_if(out, [&](const cell_report& old) { return old.where == cell->where; });
            out.push_back(*cell);
        } catch (const json::exception& e) {
            return wrong(path, number, std::string("this line is no finished cell: ") + e.what());
        }
    }
    return out;
}

}  // namespace

topo::result<journal> journal::open(const std::string& path, const inventory& what, bool resume) {
    journal out;
    out.path_ = path;
    out.what_ = what;
    std::string kept = header_of(what) + "\n";
    std::error_code ignored;
    if (resume && std::filesystem::exists(path, ignored)) {
        auto text = topo::read_file(path);
        if (!text) return text.failure();
        const std::size_t whole = text->rfind('\n');
        text->resize(whole == std::string::npos ? 0 : whole + 1);
        if (!text->empty()) {
            auto cells = read_log(path, *text, what);
            if (!cells) return cells.failure();
            out.finished_ = std::move(*cells);
            kept = std::move(*text);
        }
    }
    if (auto written = topo::write_file(path, kept); !written) return written.failure();
    out.file_.open(path, std::ios::app | std::ios::binary);
    if (!out.file_)
        return topo::error{topo::errc::io, path, "the log cannot be opened", "check the folder and its permissions"};
    return out;
}

topo::result<topo::done> journal::add(const cell_report& cell) {
    if (path_.empty()) return topo::done{};
    file_ << line_of(what_, cell) << '\n' << std::flush;
    if (file_) return topo::done{};
    return topo::error{topo::errc::io, path_, "the log cannot be written", "free some space, then --resume"};
}

}  // namespace calibrate

// SPDX-License-Identifier: GPL-2.0-or-later
#include "plugin/slurm/job_hint.hpp"

#include <array>
#include <charconv>

#include "topo/size.hpp"

namespace slurm_plugin {
namespace {

constexpr std::uint32_t most_ranks = 1u << 20;

bool read_count(std::string_view text, std::uint32_t& to) noexcept {
    std::uint32_t n = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), n);
    if (code != std::errc{} || end != text.data() + text.size() || n == 0 || n > most_ranks) return false;
    to = n;
    return true;
}

// nullptr when the value is good.
const char* set_policy(std::string_view value, job_hint& out) noexcept {
    if (value == "pack")
        out.how = job_hint::policy::pack;
    else if (value == "spread")
        out.how = job_hint::policy::spread;
    else if (value == "off")
        out.how = job_hint::policy::off;
    else
        return "policy is pack, spread or off";
    return nullptr;
}

const char* set_pattern(std::string_view value, job_hint& out) noexcept {
    out.talks = placement::pattern_named(value);
    if (!out.talks)
        return "patterns are ring, tree, hierarchical, sharp, allreduce, fsdp, alltoall, p2p, pipeline, tp, dp, ep, "
               "composite and halo";
    if (*out.talks == placement::pattern::traffic_matrix)
        return "a traffic matrix is a file: order the ranks with atoll ranks --traffic";
    return nullptr;
}

using setter = const char* (*)(std::string_view, job_hint&) noexcept;

template <std::uint32_t job_hint::*Member>
const char* set_count(std::string_view value, job_hint& out) noexcept {
    return read_count(value, out.*Member) ? nullptr : "write a whole number from 1 to 1048576";
}

const char* set_message(std::string_view value, job_hint& out) noexcept {
    out.message_bytes = topo::size_named(value);
    if (out.message_bytes > 0 && out.message_bytes <= 1e12) return nullptr;
    return "write bytes up to a terabyte: 64k, 64M, 1G";
}

struct key {
    std::string_view name;
    setter set;
};

constexpr std::array<key, 7> keys = {{{"pattern", set_pattern},
                                      {"message", set_message},
                                      {"tp", set_count<&job_hint::tp>},
                                      {"pp", set_count<&job_hint::pp>},
                                      {"dp", set_count<&job_hint::dp>},
                                      {"ep", set_count<&job_hint::ep>},
                                      {"policy", set_policy}}};

}  // namespace

bool parse_hint(std::string_view text, job_hint& out, hint_fault& fault) noexcept {
    out = {};
    const auto fail = [&fault](std::string_view part, const char* why) {
        fault = {part, why};
        return false;
    };
    if (text.empty()) return fail(text, "write for example --atoll=pattern=allreduce,message=256M");
    if (text.size() > longest_hint) return fail(text.substr(0, 32), "it is too long; 512 characters are enough");
    std::uint32_t seen = 0;
    while (true) {
        const std::size_t comma = text.find(',');
        const std::string_view part = text.substr(0, comma);
        const std::size_t sign = part.find('=');
        std::size_t k = 0;
        while (k < keys.size() && keys[k].name != part.substr(0, sign)) ++k;
        if (k == keys.size() || sign == std::string_view::npos)
            return fail(part, "keys are pattern=, message=, tp=, pp=, dp=, ep= and policy=");
        if ((seen >> k & 1) != 0) return fail(part, "this key is given twice; remove one");
        seen |= 1u << k;
        if (const char* why = keys[k].set(part.substr(sign + 1), out)) return fail(part, why);
        if (comma == std::string_view::npos) return true;
        text.remove_prefix(comma + 1);
    }
}

bool apply_hint(const job_hint& hint, std::uint64_t ranks, placement::request& to) noexcept {
    placement::request wanted = to;
    const bool layout = hint.tp + hint.pp + hint.dp + hint.ep > 0;
    if (hint.message_bytes > 0) wanted.message_bytes = hint.message_bytes;
    if (layout) wanted.talks = placement::pattern::composite;
    if (hint.talks) wanted.talks = *hint.talks;
    wanted.parallel.tp = hint.tp > 0 ? hint.tp : 1;
    wanted.parallel.pp = hint.pp > 0 ? hint.pp : 1;
    wanted.parallel.ep = hint.ep > 0 ? hint.ep : 1;
    wanted.parallel.dp = hint.dp;
    if (!placement::fault_of(wanted, ranks).empty()) return false;
    to = wanted;
    return true;
}

}  // namespace slurm_plugin

// SPDX-License-Identifier: Apache-2.0
#include "cli/pattern_options.hpp"

#include <fmt/format.h>

#include <charconv>

#include "cli/load.hpp"
#include "cli/size.hpp"
#include "placement/model_bytes.hpp"
#include "placement/traffic_text.hpp"
#include "topo/quote.hpp"

namespace cli {
namespace {

topo::error bad(std::string where, std::string what, std::string remedy) {
    return {topo::errc::bad_input, std::move(where), std::move(what), std::move(remedy)};
}

std::vector<std::string> pattern_names() {
    std::vector<std::string> out;
    for (const auto p : placement::all_patterns) out.emplace_back(placement::name_of(p));
    return out;
}

// "8x8x8", "16x4", "32".
topo::result<placement::halo_grid> parse_grid(const std::string& text) {
    placement::halo_grid grid;
    grid.extent = {1, 1, 1};
    const char* at = text.data();
    const char* const end = at + text.size();
    for (std::size_t d = 0; d < 3; ++d) {
        const auto [next, fault] = std::from_chars(at, end, grid.extent[d]);
        if (fault != std::errc{} || grid.extent[d] == 0) break;
        if (next == end) return grid;
        if (*next != 'x') break;
        at = next + 1;
    }
    return bad("--halo", fmt::format("'{}' is not a grid", topo::shown(text)), "write one to three numbers: 8x8x4");
}

// What was asked for without a pattern by name.
placement::pattern implied(const pattern_options& o) {
    if (!o.traffic.empty()) return placement::pattern::traffic_matrix;
    if (!o.halo.empty() || o.periodic) return placement::pattern::halo_exchange;
    if (o.tp + o.pp + o.dp + o.ep > 0 || !o.model.empty()) return placement::pattern::composite;
    return placement::pattern::ring_allreduce;
}

std::optional<topo::error> apply_model(const pattern_options& o, placement::parallel_plan& plan) {
    placement::model_size m;
    const auto parameters = parse_size(
        o.model.ends_with('B') || o.model.ends_with('b') ? o.model.substr(0, o.model.size() - 1) + "G" : o.model,
        "--model-params");
    if (!parameters || *parameters < 1e6)
        return bad("--model-params", fmt::format("'{}' is not a number of parameters", topo::shown(o.model)),
                   "write it as 70B, 500M or 1.2T");
    m.parameters = *parameters;
    const auto bytes = placement::bytes_of_precision(o.precision);
    if (!bytes)
        return bad("--precision", fmt::format("'{}' is not known", topo::shown(o.precision)),
                   "use fp8, bf16, fp16 or fp32");
    m.bytes_a_number = *bytes;
    m.sequence = o.sequence;
    m.micro_batch = o.micro_batch;
    plan = placement::with_bytes_of(m, plan);
    return std::nullopt;
}

}  // namespace

void add_pattern_options(verb& to, pattern_options& o) {
    to.text({.names = "--pattern",
             .help = "How the ranks talk (default ring_allreduce, or what --tp, --halo or --traffic imply)",
             .type = "NAME",
             .values = pattern_names()},
            o.pattern)
        .text({.names = "--message",
               .help = "Bytes that a rank brings to a step's exchange (default 64M)",
               .type = "SIZE"},
              o.message)
        .number({.names = "--tp", .help = "Tensor-parallel ranks", .type = "N"}, o.tp, 1, 1u << 20)
        .number({.names = "--pp", .help = "Pipeline stages", .type = "N"}, o.pp, 1, 1u << 20)
        .number({.names = "--dp", .help = "Data-parallel replicas (default: what is left)", .type = "N"}, o.dp, 1,
                1u << 20)
        .number({.names = "--ep", .help = "Expert-parallel ranks; divides dp", .type = "N"}, o.ep, 1, 1u << 20)
        .text({.names = "--model-params",
               .help = "Parameters of the model, 70B: sets layers and the bytes of every exchange",
               .type = "N"},
              o.model)
        .text({.names = "--precision",
               .help = "Of activations and gradients (default bf16)",
               .values = {"fp8", "bf16", "fp16", "fp32"},
               .only_values = true},
              o.precision)
        .number({.names = "--sequence", .help = "Tokens of a sequence (default 4096)", .type = "N"}, o.sequence, 1,
                1u << 24)
        .number({.names = "--micro-batch", .help = "Sequences of a micro-batch (default 1)", .type = "N"},
                o.micro_batch, 1, 1u << 16)
        .number({.names = "--microbatches", .help = "Micro-batches of a step (default 1)", .type = "N"}, o.microbatches,
                1, 1u << 20)
        .number({.names = "--layers", .help = "Layers of the model (default 1, or by --model-params)", .type = "N"},
                o.layers, 1, 1u << 20)
        .real({.names = "--compute-ms", .help = "Computation of a step, milliseconds (default 0)", .type = "MS"},
              o.compute_ms, 0, 1e9)
        .real({.names = "--overlap",
               .help = "Share of the backward pass that hides gradients, 0 to 1 (default 0)",
               .type = "X"},
              o.overlap, 0, 1)
        .text({.names = "--halo", .help = "Grid of the ranks, x fastest: 8x8x4", .type = "GRID"}, o.halo)
        .flag({.names = "--periodic", .help = "The halo grid wraps around"}, o.periodic)
        .text({.names = "--traffic",
               .help = "Bytes from each rank to each: CSV or MatrixMarket",
               .type = "FILE",
               .files = true},
              o.traffic)
        .text({.names = "--ranks",
               .help = "Which rank runs where, for --tp, --halo and --traffic: where the step is fastest, or node by "
                       "node (default mapped)",
               .values = {"mapped", "in-order"},
               .only_values = true},
              o.ranks);
}

std::optional<topo::error> apply_pattern(pattern_options& o, placement::request& to) {
    const auto bytes = parse_size(o.message, "--message");
    if (!bytes) return bytes.failure();
    to.message_bytes = *bytes;
    to.map_ranks = o.ranks == "mapped";
    to.talks = implied(o);
    if (!o.pattern.empty()) {
        const auto named = placement::pattern_named(o.pattern);
        if (!named) {
            std::string all;
            for (const auto& n : pattern_names()) all += (all.empty() ? "" : ", ") + n;
            return bad("--pattern", fmt::format("'{}' is not known", topo::shown(o.pattern)), "use one of: " + all);
        }
        to.talks = *named;
    }
    auto& plan = to.parallel;
    plan.tp = o.tp > 0 ? o.tp : 1;
    plan.pp = o.pp > 0 ? o.pp : 1;
    plan.ep = o.ep > 0 ? o.ep : 1;
    plan.dp = o.dp;
    if (!o.model.empty())
        if (auto fault = apply_model(o, plan)) return fault;
    if (o.layers > 0) plan.layers = o.layers;
    if (o.microbatches > 0) plan.microbatches = o.microbatches;
    plan.compute_us = o.compute_ms * 1e3;
    plan.overlap = o.overlap;
    if (!o.halo.empty()) {
        const auto grid = parse_grid(o.halo);
        if (!grid) return grid.failure();
        to.halo = *grid;
    }
    to.halo.periodic = o.periodic;
    if (!o.traffic.empty()) {
        const auto text = read_input(o.traffic);
        if (!text) return text.failure();
        auto read = placement::parse_traffic(*text, place_of(o.traffic));
        if (!read) return read.failure();
        o.matrix = std::move(*read);
        to.traffic = &*o.matrix;
    }
    if (to.gpus_total == 0 && to.max_nodes > 0) return std::nullopt;  // the number of ranks is still open
    const std::uint64_t ranks = to.gpus_total > 0 ? to.gpus_total : std::uint64_t{to.nodes} * to.gpus_per_node;
    if (const auto fault = placement::fault_of(to, ranks); !fault.empty()) {
        const std::size_t cut = fault.find("; ");
        return bad(
            fmt::format("--pattern {}, {} GPUs", placement::name_of(to.talks), ranks),
            std::string(fault.substr(0, cut)),
            cut == std::string_view::npos ? std::string("correct the options") : std::string(fault.substr(cut + 2)));
    }
    return std::nullopt;
}

}  // namespace cli

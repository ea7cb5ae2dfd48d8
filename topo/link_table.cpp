// SPDX-License-Identifier: Apache-2.0
// Every figure here stands in docs/cost-model.md, "Link classes", with its source.
#include "topo/link_table.hpp"

#include <algorithm>
#include <array>
#include <string>

#include "topo/node_class.hpp"

namespace topo {
namespace {

struct figures {
    double nvlink;        // GB/s a link, one direction
    double xgmi;          // GB/s a link, one direction
    double pcie;          // GB/s peer to peer below one host bridge, x16
    double inter_socket;  // GB/s between two sockets, as a GPU pair gets it
};

// CPUs forward peer-to-peer writes as 64-byte packets, which costs a fifth of the bandwidth.
constexpr double host_bridge_share = 1 / 1.2;
// What GPUDirect RDMA keeps of the PCIe bandwidth over the socket link: 11 of 26.3 GB/s.
constexpr double rdma_inter_socket_share = 11 / 26.3;
constexpr double c2c_gb_per_s = 369;

constexpr figures figures_of(link_generation g) noexcept {
    switch (g) {
        case link_generation::pcie3_nvlink2: return {20.0, 24.0, 12.0, 10.0 * host_bridge_share};
        case link_generation::pcie4_nvlink3: return {20.0, 36.0, 26.3, 16.0};
        case link_generation::pcie5_nvlink4: return {20.6, 48.0, 54.3, 22.0 * host_bridge_share};
        case link_generation::pcie5_nvlink5: return {40.1, 48.0, 54.3, 22.0 * host_bridge_share};
        case link_generation::amd_xgmi: return {20.0, 36.0, 26.3, 16.0};
    }
    return {20.0, 36.0, 26.3, 16.0};
}

// µs that a class adds to the shortest PCIe path; nearer is never dearer.
constexpr double step_us(link_class kind) noexcept {
    switch (kind) {
        case link_class::pxb: return 0.2;
        case link_class::phb: return 0.6;
        case link_class::node: return 0.8;
        case link_class::sys:
        case link_class::unknown: return 1.6;
        default: return 0;
    }
}

constexpr double nvlink_alpha_us = 2.0;
constexpr double pcie_alpha_us = 2.4;
constexpr double rdma_alpha_us = 1.0;

bool has(std::string_view text, std::string_view part) noexcept { return text.find(part) != std::string_view::npos; }

cost estimate(double alpha_us, double gb_per_s) noexcept {
    cost c;
    c.alpha_us = alpha_us;
    c.gb_per_s = gb_per_s;
    c.from = source::estimated;
    c.alpha_from = source::estimated;
    return c;
}

// The generation the hardware shows: by model, else by what only one generation can have.
link_generation generation_in(const node_class& hardware) noexcept {
    for (const auto& g : hardware.gpus)
        if (!g.model.empty()) return generation_of(g.model);
    bool many = false;
    for (const link l : hardware.gpu_links.cells()) {
        if (l.kind == link_class::xgmi) return link_generation::amd_xgmi;
        many = many || (l.kind == link_class::nvlink && l.count > 12);
    }
    return many ? link_generation::pcie5_nvlink4 : link_generation::pcie4_nvlink3;
}

bool lacks(const node_class& hardware, endpoint from, endpoint to) noexcept {
    return std::none_of(hardware.layers.begin(), hardware.layers.end(),
                        [=](const cost_layer& l) { return l.from == from && l.to == to && !l.loaded; });
}

}  // namespace

link_generation generation_of(std::string_view gpu_model) noexcept {
    std::array<char, 128> upper{};
    const std::size_t n = std::min(gpu_model.size(), upper.size());
    for (std::size_t i = 0; i < n; ++i) {
        const char c = gpu_model[i];
        upper[i] = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
    }
    const std::string_view m(upper.data(), n);
    constexpr std::array amd = {"MI50", "MI60", "MI8", "MI1", "MI2", "MI3", "INSTINCT", "RADEON", "GFX"};
    constexpr std::array nvlink5 = {"B100",    "B200",      "B300",   "RTX 509", "RTX 508", "RTX 507",
                                    "RTX PRO", "BLACKWELL", "SM 100", "SM 103",  "SM 120"};
    constexpr std::array nvlink4 = {"H100", "H200", "H800", "H20", "HOPPER", "SM 90"};
    constexpr std::array nvlink2 = {"V100",    "P100", "P40",   "K80",  "T4",    "GTX",   "RTX 208", "RTX 207",
                                    "RTX 206", "2080", "TITAN", "SM 6", "SM 70", "SM 75", "SM 3"};
    const auto any = [m](const auto& names) {
        return std::any_of(names.begin(), names.end(), [m](const char* s) { return has(m, s); });
    };
    if (any(amd)) return link_generation::amd_xgmi;
    if (any(nvlink5)) return link_generation::pcie5_nvlink5;
    if (any(nvlink4)) return link_generation::pcie5_nvlink4;
    if (any(nvlink2)) return link_generation::pcie3_nvlink2;
    return link_generation::pcie4_nvlink3;
}

cost estimated_gpu_cost(link l, link_generation g) noexcept {
    const figures f = figures_of(g);
    const double links = std::max<std::uint16_t>(l.count, 1);
    switch (l.kind) {
        case link_class::nvlink: return estimate(nvlink_alpha_us, links * f.nvlink);
        case link_class::xgmi: return estimate(nvlink_alpha_us, links * f.xgmi);
        case link_class::c2c: return estimate(nvlink_alpha_us, c2c_gb_per_s);
        case link_class::self:
        case link_class::pix:
        case link_class::pxb: return estimate(pcie_alpha_us + step_us(l.kind), f.pcie);
        case link_class::phb:
        case link_class::node: return estimate(pcie_alpha_us + step_us(l.kind), f.pcie * host_bridge_share);
        case link_class::sys:
        case link_class::unknown: break;
    }
    return estimate(pcie_alpha_us + step_us(link_class::sys), std::min(f.inter_socket, f.pcie * host_bridge_share));
}

cost estimated_nic_cost(link l, link_generation g, std::optional<double> port_gb_per_s) noexcept {
    const figures f = figures_of(g);
    double gb_per_s = f.pcie;
    switch (l.kind) {
        case link_class::phb:
        case link_class::node: gb_per_s = f.pcie * host_bridge_share; break;
        case link_class::sys:
        case link_class::unknown: gb_per_s = std::min(f.inter_socket, f.pcie * rdma_inter_socket_share); break;
        default: break;
    }
    if (port_gb_per_s && *port_gb_per_s > 0) gb_per_s = std::min(gb_per_s, *port_gb_per_s);
    return estimate(rdma_alpha_us + step_us(l.kind), gb_per_s);
}

void fill_estimates(node_class& hardware) {
    const std::size_t gpus = hardware.gpus.size();
    const std::size_t nics = hardware.nics.size();
    const link_generation g = generation_in(hardware);
    const auto& pairs = hardware.gpu_links;
    if (gpus > 1 && pairs.rows() == gpus && pairs.columns() == gpus && lacks(hardware, endpoint::gpu, endpoint::gpu)) {
        cost_layer layer{endpoint::gpu, endpoint::gpu, engine::copy_engine, false, matrix<cost>(gpus, gpus)};
        for (std::size_t a = 0; a < gpus; ++a)
            for (std::size_t b = 0; b < gpus; ++b)
                if (a != b) layer.cells(a, b) = estimated_gpu_cost(pairs(a, b), g);
        hardware.layers.push_back(std::move(layer));
    }
    const auto& near = hardware.nic_links;
    if (gpus == 0 || nics == 0 || near.rows() != gpus || near.columns() != nics) return;
    const auto fill = [&](endpoint from, endpoint to) {
        if (!lacks(hardware, from, to)) return;
        const bool out = from == endpoint::gpu;
        cost_layer layer{from, to, engine::rdma_write, false,
                         out ? matrix<cost>(gpus, nics) : matrix<cost>(nics, gpus)};
        for (std::size_t a = 0; a < gpus; ++a)
            for (std::size_t k = 0; k < nics; ++k)
                (out ? layer.cells(a, k) : layer.cells(k, a)) =
                    estimated_nic_cost(near(a, k), g, hardware.nics[k].gb_per_s);
        hardware.layers.push_back(std::move(layer));
    };
    fill(endpoint::gpu, endpoint::nic);
    fill(endpoint::nic, endpoint::gpu);
}

}  // namespace topo

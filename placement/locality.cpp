// SPDX-License-Identifier: Apache-2.0
#include "placement/locality.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace placement {

locality locality::of(const topo::node_class& hardware) {
    locality out;
    out.numa.fill(-1);
    out.nic.fill(-1);
    out.islands = topo::islands(hardware);
    const std::vector<int> nics = topo::nearest_nics(hardware);
    const topo::cost_layer* to_nic = hardware.best_layer(topo::endpoint::gpu, topo::endpoint::nic);
    std::vector<int> ids;
    for (std::size_t g = 0; g < hardware.gpus.size() && g < topo::max_gpus_per_node; ++g) {
        const int numa = hardware.gpus[g].numa;
        const bool known =
            hardware.locality_trusted && numa >= 0 && (hardware.numa.empty() || hardware.numa_has_cpus(numa));
        if (known) {
            const auto at = std::find(ids.begin(), ids.end(), numa);
            out.numa[g] = static_cast<std::int16_t>(at - ids.begin());
            if (at == ids.end()) ids.push_back(numa);
        }
        if (g >= nics.size() || nics[g] < 0) continue;
        out.nic[g] = static_cast<std::int16_t>(nics[g]);
        if (to_nic != nullptr) out.nic_gb_per_s[g] = to_nic->cells(g, static_cast<std::size_t>(nics[g])).gb_per_s;
        out.best_nic_gb_per_s = std::max(out.best_nic_gb_per_s, out.nic_gb_per_s[g]);
    }
    return out;
}

std::uint8_t locality::numa_nodes(topo::gpu_mask gpus) const noexcept {
    std::uint64_t seen = 0;
    for (; gpus != 0; gpus &= gpus - 1) {
        const auto at = numa[static_cast<std::size_t>(std::countr_zero(gpus))];
        if (at >= 0) seen |= std::uint64_t{1} << at;
    }
    return static_cast<std::uint8_t>(std::popcount(seen));
}

std::uint8_t locality::shared_nics(topo::gpu_mask gpus) const noexcept {
    std::uint64_t seen = 0;
    std::uint8_t with_nic = 0;
    for (; gpus != 0; gpus &= gpus - 1) {
        const auto at = nic[static_cast<std::size_t>(std::countr_zero(gpus))];
        if (at < 0) continue;
        seen |= std::uint64_t{1} << at;
        ++with_nic;
    }
    return static_cast<std::uint8_t>(with_nic - std::popcount(seen));
}

double locality::nic_distance(topo::gpu_mask gpus) const noexcept {
    double sum = 0;
    for (; gpus != 0; gpus &= gpus - 1) {
        const double own = nic_gb_per_s[static_cast<std::size_t>(std::countr_zero(gpus))];
        if (own > 0) sum += std::round(4 * best_nic_gb_per_s / own) / 4;
    }
    return sum;
}

port_rates ports_of(const topo::node_class& hardware) {
    port_rates ports;
    ports.out.fill(std::numeric_limits<double>::infinity());
    ports.in.fill(std::numeric_limits<double>::infinity());
    const topo::cost_layer* layer = hardware.best_layer(topo::endpoint::gpu, topo::endpoint::gpu);
    if (layer == nullptr) return ports;
    const std::size_t n = std::min<std::size_t>(hardware.gpus.size(), topo::max_gpus_per_node);
    for (std::size_t a = 0; a < n; ++a) {
        double best_out = 0, best_in = 0, direct_out = 0, direct_in = 0;
        std::uint16_t least = 0xffff, most = 0;
        for (std::size_t b = 0; b < n; ++b) {
            if (a == b) continue;
            const double out = layer->cells(a, b).gb_per_s, in = layer->cells(b, a).gb_per_s;
            best_out = std::max(best_out, out);
            best_in = std::max(best_in, in);
            if (hardware.gpu_links.rows() != n) continue;
            const std::uint16_t links = hardware.gpu_links(a, b).count;
            least = std::min(least, links);
            most = std::max(most, links);
            if (links == 0) continue;
            direct_out += out;
            direct_in += in;
        }
        const bool direct = most > 0 && least != most;
        if (best_out > 0) ports.out[a] = direct ? std::max(direct_out, best_out) : best_out;
        if (best_in > 0) ports.in[a] = direct ? std::max(direct_in, best_in) : best_in;
    }
    return ports;
}

}  // namespace placement

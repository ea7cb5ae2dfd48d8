// SPDX-License-Identifier: Apache-2.0
#include "calibrate/identity.hpp"

#include <algorithm>
#include <string>

namespace calibrate {
namespace {

constexpr int absent = matched_devices::absent;

// For each device of `now` its index in `before`, or absent.
template <class Device, class Identity>
std::vector<int> match(const std::vector<Device>& now, const std::vector<Device>& before, Identity identity) {
    std::vector<int> out(now.size(), absent);
    std::vector<bool> taken(before.size());
    const auto pass = [&](const auto& equal) {
        for (std::size_t i = 0; i < now.size(); ++i)
            for (std::size_t k = 0; k < before.size() && out[i] == absent; ++k)
                if (!taken[k] && equal(now[i], before[k])) {
                    out[i] = static_cast<int>(k);
                    taken[k] = true;
                }
    };
    const auto no_identity = [&](const Device& a, const Device& b) {
        return identity(a).empty() || identity(b).empty();
    };
    pass([&](const Device& a, const Device& b) { return !no_identity(a, b) && identity(a) == identity(b); });
    pass([&](const Device& a, const Device& b) { return no_identity(a, b) && a.pci && b.pci && *a.pci == *b.pci; });
    pass([&](const Device& a, const Device& b) { return no_identity(a, b) && !(a.pci && b.pci) && a.name == b.name; });
    return out;
}

bool in_place(const std::vector<int>& matched, std::size_t before) noexcept {
    for (std::size_t i = 0; i < matched.size(); ++i)
        if (matched[i] != static_cast<int>(i)) return false;
    return matched.size() == before;
}

}  // namespace

bool matched_devices::unchanged(const topo::node_class& now, const topo::node_class& before) const noexcept {
    return gpus.size() == now.gpus.size() && in_place(gpus, before.gpus.size()) && in_place(nics, before.nics.size()) &&
           in_place(numa, before.numa.size());
}

matched_devices match_devices(const topo::node_class& now, const topo::node_class& before) {
    matched_devices out;
    out.gpus = match(now.gpus, before.gpus, [](const topo::gpu& g) -> const std::string& { return g.uuid; });
    out.nics = match(now.nics, before.nics, [](const topo::nic& n) -> const std::string& { return n.guid; });
    for (const auto& n : now.numa) {
        const auto found = std::find_if(before.numa.begin(), before.numa.end(),
                                        [&](const topo::numa_node& b) { return b.id == n.id; });
        out.numa.push_back(found == before.numa.end() ? absent : static_cast<int>(found - before.numa.begin()));
    }
    return out;
}

}  // namespace calibrate

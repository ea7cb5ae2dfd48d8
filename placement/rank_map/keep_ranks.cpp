// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/keep_ranks.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace placement {
namespace {

std::pair<std::uint32_t, std::uint8_t> gpu_of(const rank_place& p) { return {p.node.value, p.gpu}; }

}  // namespace

bool keep_ranks(const fabric_index& net, std::span<const rank_place> before, std::span<const rank_place> places,
                std::vector<rank_place>& now) {
    now.clear();
    if (places.size() < before.size()) return false;
    std::map<std::pair<std::uint32_t, std::uint8_t>, std::size_t> at;
    for (std::size_t i = 0; i < places.size(); ++i) at.emplace(gpu_of(places[i]), i);
    now.resize(before.size());
    std::vector<bool> taken(places.size(), false);
    std::map<std::uint32_t, std::vector<std::size_t>> lost;  // [node that is gone] its ranks
    for (std::size_t r = 0; r < before.size(); ++r) {
        const auto found = at.find(gpu_of(before[r]));
        if (found == at.end()) {
            lost[before[r].node.value].push_back(r);
            continue;
        }
        now[r] = places[found->second];
        taken[found->second] = true;
    }
    std::map<std::uint32_t, std::vector<std::size_t>> room;  // [node] places, the first of them last
    for (std::size_t i = places.size(); i-- > 0;)
        if (!taken[i]) room[places[i].node.value].push_back(i);
    for (const auto& [node, ranks] : lost)
        for (std::size_t done = 0; done < ranks.size();) {
            const auto better = [&, gone = node](const auto& a, const auto& b) {
                const int left = net.separation(gone, a.first), right = net.separation(gone, b.first);
                if (left != right) return left < right;
                return a.second.size() > b.second.size();
            };
            const auto best = std::min_element(room.begin(), room.end(), better);
            for (; done < ranks.size() && !best->second.empty(); ++done) {
                now[ranks[done]] = places[best->second.back()];
                best->second.pop_back();
            }
            if (best->second.empty()) room.erase(best);
        }
    return true;
}

}  // namespace placement

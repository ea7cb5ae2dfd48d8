// SPDX-License-Identifier: Apache-2.0
// Ranks of a job after some of its nodes were replaced: whoever can stay, stays.
//
// A checkpoint, a connection or a cache belongs to a rank on a GPU. When one node of 64 breaks, only the ranks of that
// node may move, even where a fresh map of all would be a little cheaper.
#pragma once

#include <span>
#include <vector>

#include "placement/fabric_index.hpp"
#include "placement/request.hpp"

namespace placement {

// before[r]: where rank r ran. places: the GPUs that the job has now, at least as many as ranks, none twice. A rank
// whose node and GPU are among them keeps them. The ranks of a node that is gone go together to the node nearest to it
// with the most free places (ties: the lower id), and there in rank order over the places in the given order.
// False, and `now` empty, when there are fewer places than ranks. O(ranks · log + lost nodes × new nodes).
bool keep_ranks(const fabric_index& net, std::span<const rank_place> before, std::span<const rank_place> places,
                std::vector<rank_place>& now);

}  // namespace placement

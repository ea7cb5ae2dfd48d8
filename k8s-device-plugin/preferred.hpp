// SPDX-License-Identifier: Apache-2.0
// Which devices a container should get: GetPreferredAllocation without the protocol around it.
//
// The answer holds exactly `size` distinct ids out of those offered, all required ones among them, and does not
// depend on the order in which they come. Whole GPUs: the best set of placement::subset_table, also for one GPU (it
// takes the rest of a broken pair). Shared GPUs: pack is placement::choose_slices; spread takes the GPUs that most
// slices are free of, each as often as the others, and asks the table where that leaves a choice.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "k8s-device-plugin/inventory.hpp"

namespace kube {

// Why an answer is not what was asked for, or was not chosen by cost.
enum class preferred_fault : std::uint8_t {
    none,
    unknown_ids,  // ids were offered that this node does not have: known ones come first, then sorted
    too_few,      // fewer distinct ids offered, or more required, than asked for: as many as there are
    no_choice,    // the table gave none: sorted
};
[[nodiscard]] std::string_view name_of(preferred_fault f) noexcept;

struct preferred {
    std::vector<std::string_view> ids;  // sorted; views into what was given
    topo::gpu_mask gpus = 0;            // the GPUs they lie on
    preferred_fault fault = preferred_fault::none;
};

// Required ids count as offered. size ≤ 0 gives none. O(ids · log ids) plus subset_table::best; packing shared GPUs
// compares every set of GPUs of the fewest that hold the request (≤ 16 GPUs; greedy above).
[[nodiscard]] preferred prefer(const inventory& node, std::span<const std::string_view> available,
                               std::span<const std::string_view> must, int size, share_policy policy);

// The answer without thought: required ids, then the offered ones by name. What is left when choosing fails.
[[nodiscard]] std::vector<std::string_view> sorted_fill(std::span<const std::string_view> available,
                                                        std::span<const std::string_view> must, int size);

}  // namespace kube

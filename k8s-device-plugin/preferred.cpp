// SPDX-License-Identifier: Apache-2.0
#include "k8s-device-plugin/preferred.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "placement/slices.hpp"

namespace kube {
namespace {

using topo::gpu_mask;
using counts = std::array<unsigned, topo::max_gpus_per_node>;

constexpr gpu_mask bit(std::size_t g) noexcept { return gpu_mask{1} << g; }

template <class Each>
void for_each_gpu(gpu_mask mask, Each each) {
    for (; mask != 0; mask &= mask - 1) each(static_cast<std::size_t>(std::countr_zero(mask)));
}

std::vector<std::string_view> sorted_unique(std::span<const std::string_view> ids) {
    std::vector<std::string_view> out(ids.begin(), ids.end());
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
}

// How many slices to take of each GPU.
class planner {
public:
    planner(const placement::subset_table& table, const counts& open, const counts& forced, unsigned size)
        : table_(table), open_(open), take_(forced), left_(size) {
        for (std::size_t g = 0; g < open.size(); ++g) {
            if (open[g] > 0) offered_ |= bit(g);
            if (open[g] > 1) shared_ = true;
            left_ -= forced[g];
        }
    }

    [[nodiscard]] const counts& take() const noexcept { return take_; }

    [[nodiscard]] bool plan(share_policy policy) { return shared_ && policy == share_policy::pack ? pack() : spread(); }

private:
    [[nodiscard]] gpu_mask used() const noexcept {
        gpu_mask mask = 0;
        for_each_gpu(offered_, [&](std::size_t g) { mask |= take_[g] > 0 ? bit(g) : 0; });
        return mask;
    }

    // One slice a round of the GPUs that have given least so far; among these the least used first, and what is
    // still equal by the table. With whole GPUs this is one question to the table.
    bool spread() {
        while (left_ > 0) {
            unsigned least = ~0u;
            for_each_gpu(offered_, [&](std::size_t g) {
                if (open_[g] > take_[g]) least = std::min(least, take_[g]);
            });
            if (least == ~0u) return false;
            std::vector<std::size_t> level;
            for_each_gpu(offered_, [&](std::size_t g) {
                if (open_[g] > take_[g] && take_[g] == least) level.push_back(g);
            });
            const auto need = std::min<std::size_t>(left_, level.size());
            const auto room = [&](std::size_t g) { return open_[g] - take_[g]; };
            std::stable_sort(level.begin(), level.end(), [&](auto a, auto b) { return room(a) > room(b); });
            gpu_mask chosen = 0, tied = 0;
            for (const std::size_t g : level) {
                if (room(g) > room(level[need - 1])) chosen |= bit(g);
                if (room(g) == room(level[need - 1])) tied |= bit(g);
            }
            const auto missing = static_cast<unsigned>(need - topo::count(chosen));
            const gpu_mask before = used() | chosen;
            gpu_mask more = 0;
            if ((tied & before) == 0) {
                const auto best = table_.best(before | tied, topo::count(before) + missing, before);
                if (!best) return false;
                more = best->gpus & ~before;
            } else {  // later rounds: all of them are in the set already
                for_each_gpu(tied, [&](std::size_t g) {
                    if (topo::count(more) < missing) more |= bit(g);
                });
            }
            for_each_gpu(chosen | more, [&](std::size_t g) {
                ++take_[g];
                --left_;
            });
        }
        return true;
    }

    // The fewest GPUs that hold the request.
    bool pack() {
        placement::slice_counts free{}, must{};
        unsigned size = left_;
        for_each_gpu(offered_, [&](std::size_t g) {
            free[g] = static_cast<std::uint16_t>(open_[g]);
            must[g] = static_cast<std::uint16_t>(take_[g]);
            size += take_[g];
        });
        const auto taken = placement::choose_slices(table_, free, must, size, placement::slice_policy::pack);
        if (!taken) return false;
        for_each_gpu(offered_, [&](std::size_t g) { take_[g] = (*taken)[g]; });
        left_ = 0;
        return true;
    }

    const placement::subset_table& table_;
    const counts& open_;
    counts take_;
    gpu_mask offered_ = 0;
    bool shared_ = false;
    unsigned left_;
};

}  // namespace

std::string_view name_of(preferred_fault f) noexcept {
    switch (f) {
        case preferred_fault::none: return "none";
        case preferred_fault::unknown_ids: return "unknown_ids";
        case preferred_fault::too_few: return "too_few";
        case preferred_fault::no_choice: break;
    }
    return "no_choice";
}

std::vector<std::string_view> sorted_fill(std::span<const std::string_view> available,
                                          std::span<const std::string_view> must, int size) {
    std::vector<std::string_view> out = sorted_unique(must);
    const auto wanted = static_cast<std::size_t>(std::max(size, 0));
    if (out.size() > wanted) out.resize(wanted);
    const std::vector<std::string_view> first = out;
    for (const std::string_view id : sorted_unique(available)) {
        if (out.size() == wanted) break;
        if (!std::binary_search(first.begin(), first.end(), id)) out.push_back(id);
    }
    std::sort(out.begin(), out.end());
    return out;
}

preferred prefer(const inventory& node, std::span<const std::string_view> available,
                 std::span<const std::string_view> must, int size, share_policy policy) {
    preferred out;
    if (size <= 0) return out;
    const auto wanted = static_cast<std::size_t>(size);
    const std::vector<std::string_view> required = sorted_unique(must);
    std::vector<std::string_view> offered(available.begin(), available.end());
    offered.insert(offered.end(), required.begin(), required.end());
    offered = sorted_unique(offered);

    counts open{}, forced{};
    std::size_t known = 0;
    for (const std::string_view id : offered)
        if (const device* d = node.find(id)) {
            ++open[d->gpu];
            ++known;
        }
    std::size_t known_required = 0;
    for (const std::string_view id : required)
        if (const device* d = node.find(id)) {
            ++forced[d->gpu];
            ++known_required;
        }
    const auto give = [&](std::vector<std::string_view> ids) {
        out.ids = std::move(ids);
        for (const std::string_view id : out.ids)
            if (const device* d = node.find(id)) out.gpus |= bit(d->gpu);
    };
    if (known != offered.size()) out.fault = preferred_fault::unknown_ids;
    if (wanted > offered.size() || required.size() > wanted) {
        out.fault = preferred_fault::too_few;
        give(sorted_fill(available, must, size));
        return out;
    }
    // Unknown ids that are required take their place; others only fill what the known ones cannot.
    const std::size_t from_known = std::min(wanted - (required.size() - known_required), known);
    planner plan(node.table(), open, forced, static_cast<unsigned>(from_known));
    if (!plan.plan(policy)) {
        out.fault = preferred_fault::no_choice;
        give(sorted_fill(available, must, size));
        return out;
    }
    counts left = plan.take();
    for (std::size_t g = 0; g < left.size(); ++g) left[g] -= forced[g];
    std::vector<std::string_view> ids = required;
    for (const std::string_view id : offered) {
        const device* d = node.find(id);
        if (d == nullptr || left[d->gpu] == 0 || std::binary_search(required.begin(), required.end(), id)) continue;
        --left[d->gpu];
        ids.push_back(id);
    }
    give(ids.size() == wanted ? std::move(ids) : sorted_fill(available, ids, size));
    std::sort(out.ids.begin(), out.ids.end());
    return out;
}

}  // namespace kube

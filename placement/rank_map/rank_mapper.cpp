// SPDX-License-Identifier: Apache-2.0
#include "placement/rank_map/rank_mapper.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <numeric>

#include "placement/rank_map/job_grid.hpp"

namespace placement {
namespace {

// Levels that slots are sorted by: 0 the island, 1 the node, 2 + f level f of the fabric.
constexpr std::size_t island_level = 0;
constexpr std::size_t node_level = 1;
constexpr std::size_t first_fabric_level = 2;
constexpr std::size_t links_a_rank = 16;

double us_a_byte(double alpha_us, double gb_per_s, double bytes) noexcept {
    return alpha_us / bytes + 1 / (gb_per_s * 1e3);
}

}  // namespace

rank_mapper::rank_mapper(const topo::cluster& c, const fabric_index& net, const node_sides& sides, std::uint32_t ranks)
    : cluster_(&c), net_(&net), sides_(&sides) {
    find_islands();
    slots_.reserve(ranks);
    order_.reserve(ranks);
    slot_of_rank_.reserve(ranks);
    for (auto& s : sizes_) s.reserve(ranks);
    tree_.reserve(ranks);
    search_.reserve(ranks, links_a_rank * ranks);
}

void rank_mapper::find_islands() {
    const std::size_t classes = cluster_->classes().size();
    islands_of_.assign(classes * topo::max_gpus_per_node, 0);
    for (std::size_t c = 0; c < classes; ++c)
        for (const topo::gpu_mask island : sides_->costs(topo::class_id(c)).where.islands)
            for (topo::gpu_mask m = island; m != 0; m &= m - 1)
                islands_of_[c * topo::max_gpus_per_node + static_cast<std::size_t>(std::countr_zero(m))] = island;
}

bool rank_mapper::helps(const request& wanted) noexcept {
    return wanted.talks == pattern::composite || wanted.talks == pattern::halo_exchange ||
           wanted.talks == pattern::traffic_matrix;
}

std::uint32_t rank_mapper::key(std::size_t level, const rank_place& at) const noexcept {
    if (level == node_level) return at.node.value;
    if (level >= first_fabric_level) return net_->group_of(at.node.value, static_cast<int>(level - first_fabric_level));
    const topo::class_id hardware = cluster_->nodes()[at.node.value].hardware;
    const auto island = islands_of_[hardware.value * topo::max_gpus_per_node + at.gpu];
    return island != 0 ? static_cast<std::uint32_t>(std::countr_zero(island)) : at.gpu;
}

// Group by group from the top, then node, island, and the order that they came in.
void rank_mapper::sort_slots(std::span<const rank_place> in_order) {
    order_.resize(in_order.size());
    std::iota(order_.begin(), order_.end(), 0u);
    const std::size_t levels = first_fabric_level + static_cast<std::size_t>(net_->levels());
    std::sort(order_.begin(), order_.end(), [&](std::uint32_t a, std::uint32_t b) {
        for (std::size_t k = levels; k-- > 0;) {
            const std::uint32_t left = key(k, in_order[a]), right = key(k, in_order[b]);
            if (left != right) return left < right;
        }
        return a < b;
    });
    slots_.clear();
    for (const std::uint32_t i : order_) slots_.push_back(in_order[i]);
}

double rank_mapper::island_distance() const noexcept {
    const topo::class_id hardware = cluster_->nodes()[slots_[0].node.value].hardware;
    const topo::cost_layer* layer = sides_->costs(hardware).gpu;
    double far = 0;
    if (layer == nullptr) return far;
    const auto island = islands_of_[hardware.value * topo::max_gpus_per_node + slots_[0].gpu];
    for (topo::gpu_mask m = island; m != 0; m &= m - 1)
        for (topo::gpu_mask o = island; o != 0; o &= o - 1) {
            const auto a = static_cast<std::size_t>(std::countr_zero(m)),
                       b = static_cast<std::size_t>(std::countr_zero(o));
            if (a == b) continue;
            const topo::cost& cell = layer->cells(a, b);
            far = std::max(far, us_a_byte(cell.alpha_us, cell.gb_per_s, bytes_));
        }
    return far;
}

double rank_mapper::node_distance() const noexcept {
    const topo::class_id hardware = cluster_->nodes()[slots_[0].node.value].hardware;
    const topo::cost_layer* layer = sides_->costs(hardware).gpu;
    double far = 0;
    if (layer == nullptr) return far;
    const std::size_t gpus = cluster_->classes()[hardware.value].gpus.size();
    for (std::size_t a = 0; a < gpus; ++a)
        for (std::size_t b = 0; b < gpus; ++b)
            if (a != b)
                far = std::max(far, us_a_byte(layer->cells(a, b).alpha_us, layer->cells(a, b).gb_per_s, bytes_));
    return far;
}

// Mean over a sample of pairs that meet at the level and not below.
double rank_mapper::hops_at(int level) const noexcept {
    double sum = 0, pairs = 0;
    for (std::size_t i = 0; i < slots_.size(); ++i)
        for (std::size_t step = 1; i + step < slots_.size(); step *= 2) {
            const std::uint32_t a = slots_[i].node.value, b = slots_[i + step].node.value;
            if (a == b || net_->level_of(a, b) != level) continue;
            sum += 1 + net_->separation(a, b);
            pairs += 1;
        }
    return pairs > 0 ? sum / pairs : 1;
}

double rank_mapper::fabric_distance(int level) const noexcept {
    const std::uint32_t first = slots_[0].node.value;
    if (!net_->dims().empty()) {
        const topo::cost& hop = net_->level_cost(0);
        return hops_at(level) * us_a_byte(hop.alpha_us, hop.gb_per_s, bytes_);
    }
    const topo::cost& way = net_->level_cost(std::min(level, net_->separations() - 1));
    double gb_per_s = way.gb_per_s;
    const std::uint32_t below = level > 0 ? net_->group_of(first, level - 1) : no_group;
    if (below != no_group) {
        const std::size_t nics = std::max<std::size_t>(1, cluster_->class_of(slots_[0].node).nics.size());
        const double all = static_cast<double>(net_->nodes_in(level - 1, below)) * static_cast<double>(nics);
        gb_per_s = std::min(gb_per_s, net_->capacity(level - 1, below) / std::max(1.0, all));
    }
    return us_a_byte(way.alpha_us, gb_per_s, bytes_);
}

bool rank_mapper::build_tree(const request& wanted) {
    bytes_ = std::max(1.0, wanted.message_bytes / 16);  // a ring cuts a message into pieces
    const std::size_t levels = first_fabric_level + static_cast<std::size_t>(net_->levels());
    std::array<double, slot_tree::max_levels> distances{};
    std::array<std::span<const std::uint32_t>, slot_tree::max_levels> lists;
    std::size_t kept = 0, below = slots_.size();
    double farthest = 0;
    for (std::size_t level = 0; level < levels && below > 1; ++level) {
        // A boundary of this level is where its key changes, or one of a level above.
        auto& sizes = sizes_[kept];
        sizes.assign(1, 1u);
        std::size_t groups = 1;
        for (std::size_t s = 1; s < slots_.size(); ++s) {
            bool cut = false;
            for (std::size_t k = level; k < levels && !cut; ++k) cut = key(k, slots_[s]) != key(k, slots_[s - 1]);
            if (cut) {
                sizes.push_back(0);
                ++groups;
            }
            ++sizes.back();
        }
        if (groups == below) continue;
        farthest = std::max(farthest, level == island_level ? island_distance()
                                      : level == node_level ? node_distance()
                                                            : fabric_distance(static_cast<int>(level - 2)));
        distances[kept] = farthest;
        below = groups;
        if (groups == 1) break;
        if (kept + 2 < slot_tree::max_levels) ++kept;
    }
    if (below == 1 && kept == 0) {  // one group of one level
        sizes_[0].assign(1, static_cast<std::uint32_t>(slots_.size()));
        distances[1] = distances[0];
        kept = 1;
    }
    // Slots a group were counted; a tree wants members of the level below.
    for (std::size_t k = kept; k-- > 1;) {
        std::size_t child = 0;
        for (auto& size : sizes_[k]) {
            std::uint32_t members = 0;
            for (std::uint32_t held = 0; held < size; ++members) held += sizes_[k - 1][child++];
            size = members;
        }
    }
    for (std::size_t k = 0; k < kept; ++k) lists[k] = sizes_[k];
    return static_cast<bool>(
        tree_.rebuild(std::span(lists).first(kept), std::span<const double>(distances).first(kept + 1)));
}

std::size_t rank_mapper::prepare(const request& wanted, std::span<const rank_place> in_order) {
    const auto ranks = static_cast<std::uint32_t>(in_order.size());
    grid_.reset();
    traffic_ = nullptr;
    if (ranks < 3 || !helps(wanted)) return 0;
    sort_slots(in_order);
    if (!build_tree(wanted)) return 0;
    if (wanted.talks == pattern::traffic_matrix) {
        traffic_ = wanted.traffic;
        return 1;
    }
    grid_ = grid_of_job(wanted, ranks);
    if (!grid_) return 0;
    return tree_.is_regular() ? 1 + grid_->axes().size() : 1;
}

bool rank_mapper::candidate(std::size_t which, std::vector<rank_place>& mapped) {
    const auto ranks = static_cast<std::uint32_t>(slots_.size());
    slot_of_rank_.resize(ranks);
    if (traffic_ != nullptr) {
        search_.run(*traffic_, tree_, slot_of_rank_);
    } else if (which == 0) {
        search_.run(*grid_, tree_, slot_of_rank_);
    } else {
        std::array<grid_axis, rank_grid::max_axes> axes;
        const auto given = grid_->axes();
        std::copy(given.begin(), given.end(), axes.begin());
        grid_axis& favoured = axes[which - 1];
        if (favoured.extent < 2 || favoured.bytes <= 0) return false;
        favoured.bytes *= 100;
        const auto grid = rank_grid::make(std::span(axes).first(given.size()));
        const auto tiling = grid ? choose_tiling(*grid, tree_) : std::nullopt;
        if (!tiling) return false;
        write_map(*tiling, *grid, slot_of_rank_);
    }
    // Which slot of its lowest group a rank has decides nothing above; in rank order the rails of nodes match.
    auto& next = order_;
    next.resize(tree_.groups(0));
    for (std::uint32_t g = 0; g < tree_.groups(0); ++g) next[g] = tree_.first_slot(0, g);
    mapped.clear();
    for (std::uint32_t r = 0; r < ranks; ++r) mapped.push_back(slots_[next[tree_.group_of(0, slot_of_rank_[r])]++]);
    return true;
}

}  // namespace placement
